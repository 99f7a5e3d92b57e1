//! Every lesson of the course, in the order of the book.

use lab::Chapter;

/// All chapters: those that this crate's `Cargo.toml` depends on, in its order.
pub fn lessons() -> Vec<&'static Chapter> {
    include!(concat!(env!("OUT_DIR"), "/lessons.rs"))
}

/// Chapters whose program is here, and whose page is not yet: no list of the book has them.
pub const WITHOUT_A_PAGE: [&str; 1] = ["ch14-all-reduce"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn the_list_equals_the_folders() {
        let root = workspace::root().unwrap();
        let mut folders: Vec<String> = std::fs::read_dir(root.join("chapters"))
            .unwrap()
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.path().join("Cargo.toml").is_file())
            .map(|entry| entry.file_name().into_string().unwrap())
            .filter(|folder| !WITHOUT_A_PAGE.contains(&folder.as_str()))
            .collect();
        folders.sort();
        let listed: Vec<&str> = lessons().iter().map(|lesson| lesson.slug).collect();
        assert!(!folders.is_empty());
        assert_eq!(listed, folders);
    }
}

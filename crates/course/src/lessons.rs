//! Every lesson of the course, in the order of the book.

use lab::Chapter;

/// All chapters: those that this crate's `Cargo.toml` depends on, in its order.
pub fn lessons() -> Vec<&'static Chapter> {
    include!(concat!(env!("OUT_DIR"), "/lessons.rs"))
}

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
            .collect();
        folders.sort();
        let listed: Vec<&str> = lessons().iter().map(|lesson| lesson.slug).collect();
        assert!(!folders.is_empty());
        assert_eq!(listed, folders);
    }
}

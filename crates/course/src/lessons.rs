//! Every lesson of the course, in the order of the book.

use lab::Chapter;

/// All chapters: those that this crate's `Cargo.toml` depends on, in its order.
pub fn lessons() -> Vec<&'static Chapter> {
    include!(concat!(env!("OUT_DIR"), "/lessons.rs"))
}

/// The chapter whose kernels run on several devices at once. Its launches are a group's, so that it is no [`Chapter`].
pub const OVER_DEVICES: &str = ch14_all_reduce::SLUG;

/// The slug of each chapter, that over several devices last.
pub fn slugs() -> impl Iterator<Item = &'static str> {
    lessons().into_iter().map(|lesson| lesson.slug).chain([OVER_DEVICES])
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
        let listed: Vec<&str> = slugs().collect();
        assert!(!folders.is_empty());
        assert_eq!(listed, folders);
    }
}

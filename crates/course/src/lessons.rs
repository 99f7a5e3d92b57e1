//! Every lesson of the course, in the order of the book.

use lab::Chapter;

/// All chapters. A new chapter is added here and nowhere else in this crate.
pub fn lessons() -> [&'static Chapter; 8] {
    [
        &ch01_naive::CHAPTER,
        &ch02_divergence::CHAPTER,
        &ch03_sequential::CHAPTER,
        &ch04_first_add::CHAPTER,
        &ch05_unroll::CHAPTER,
        &ch06_templates::CHAPTER,
        &ch07_coarsening::CHAPTER,
        &ch08_cooperative::CHAPTER,
    ]
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

//! Writes the list of lessons from the chapters that `Cargo.toml` depends on, so that a new chapter is a line in one list.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=Cargo.toml");
    let manifest = std::fs::read_to_string("Cargo.toml")?;
    let slugs = manifest.lines().filter_map(|line| Some(line.split_once(" = { path = \"../../chapters/")?.0));
    let chapters: String = slugs.map(|slug| format!("&{}::CHAPTER, ", slug.replace('-', "_"))).collect();
    let list = Path::new(&std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?).join("lessons.rs");
    std::fs::write(list, format!("vec![{chapters}]"))?;
    Ok(())
}

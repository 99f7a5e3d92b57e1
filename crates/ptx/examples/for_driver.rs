//! Prints a PTX file, or one entry of it with all that it uses, as ptxas and drivers take it.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let text = std::fs::read_to_string(args.next().ok_or("usage: for_driver FILE.ptx [ENTRY]")?)?;
    match args.next() {
        None => print!("{}", ptx::for_driver(&text)),
        Some(entry) => print!("{}", ptx::Index::new(&text).for_driver(&text, &entry).ok_or("no such entry")?),
    }
    Ok(())
}

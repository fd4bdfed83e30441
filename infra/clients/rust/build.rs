//! Cuts the snippet for Rust out of the document it stands in, so that it is compiled as it is shown.

#[path = "../../xtask/src/snippet.rs"]
mod snippet;

use std::error::Error;
use std::path::Path;
use std::{env, fs};

const DOCUMENT: &str = "../README.md";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={DOCUMENT}");
    println!("cargo::rerun-if-changed=../../xtask/src/snippet.rs");
    let code = snippet::cut(&fs::read_to_string(DOCUMENT)?, "Rust", "rust");
    let code = code.ok_or_else(|| format!("{DOCUMENT} has no code in rust below the heading 'Rust'"))?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("snippet.rs"), code)?;
    Ok(())
}

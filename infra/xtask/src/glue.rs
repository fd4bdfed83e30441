//! wasm-bindgen: from what rustc wrote to a module for the browser and the script that loads it.

use std::fs;
use std::path::Path;

use wasm_bindgen_cli_support::Bindgen;

use crate::error::{Context, Error, Result};

/// What the browser gets.
pub(crate) struct Glue {
    /// The script.
    pub(crate) script: Vec<u8>,
    /// The module.
    pub(crate) module: Vec<u8>,
}

/// How the script is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// As a module, by a page.
    Module,
    /// As plain text that defines `wasm_bindgen`, by whoever runs it.
    Plain,
}

/// Runs wasm-bindgen; scripts that crates bring along are left in `folder` under names that the glue script imports.
pub(crate) fn generate(name: &str, built: &[u8], kind: Kind, folder: &Path) -> Result<Glue> {
    let mut bindgen = Bindgen::new();
    bindgen.input_bytes(name, built.to_vec()).typescript(false).omit_default_module_path(true);
    bindgen.remove_name_section(true).remove_producers_section(true);
    let chosen = match kind {
        Kind::Module => bindgen.web(true).map(drop),
        Kind::Plain => bindgen.no_modules(true).map(drop),
    };
    chosen.and_then(|()| bindgen.generate(folder)).map_err(|error| Error::new(format!("wasm-bindgen: {error:#}")))?;
    let take = |name: &str| {
        let file = folder.join(name);
        let bytes = fs::read(&file).context(format_args!("reading {}", file.display()))?;
        fs::remove_file(&file).context(format_args!("removing {}", file.display()))?;
        Ok(bytes)
    };
    Ok(Glue { script: take(&format!("{name}.js"))?, module: take(&format!("{name}_bg.wasm"))? })
}

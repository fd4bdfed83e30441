//! wasm-bindgen: from what rustc wrote to a module for the browser and the script that loads it.

use std::fs;
use std::path::Path;

use wasm_bindgen_cli_support::Bindgen;

use crate::error::{Context, Error, Result};

/// What the browser gets.
pub(super) struct Glue {
    /// The script.
    pub(super) script: Vec<u8>,
    /// The module.
    pub(super) module: Vec<u8>,
}

/// Runs wasm-bindgen; scripts that crates bring along are left in `folder` under names that the glue script imports.
pub(super) fn generate(built: &[u8], folder: &Path) -> Result<Glue> {
    let mut bindgen = Bindgen::new();
    bindgen.input_bytes("admin-ui", built.to_vec()).typescript(false).omit_default_module_path(true);
    bindgen.remove_name_section(true).remove_producers_section(true);
    let web = bindgen.web(true).map(drop);
    web.and_then(|()| bindgen.generate(folder)).map_err(|error| Error::new(format!("wasm-bindgen: {error:#}")))?;
    let take = |name: &str| {
        let file = folder.join(name);
        let bytes = fs::read(&file).context(format_args!("reading {}", file.display()))?;
        fs::remove_file(&file).context(format_args!("removing {}", file.display()))?;
        Ok(bytes)
    };
    Ok(Glue { script: take("admin-ui.js")?, module: take("admin-ui_bg.wasm")? })
}

//! The files of the UI: one sheet out of many, names with a hash of the content, and the page that names them all.

use std::fs;
use std::path::{Path, PathBuf};

use super::digest;
use crate::checkout;
use crate::error::{Context, Error, Result};
use crate::glue::Glue;

/// How many hex digits of the hash a name carries.
const NAME_DIGITS: usize = 16;

/// What people wrote, apart from Rust.
pub(super) struct Sources {
    page: String,
    start: String,
    theme: String,
    icon: Vec<u8>,
    sheet: String,
}

impl Sources {
    /// Reads it from `admin-ui/`.
    pub(super) fn read() -> Result<Self> {
        let folder = checkout::root().join("admin-ui");
        let text = |name: &str| read(&folder.join(name));
        let mut sheets = vec![folder.join("style/tokens.css"), folder.join("style/base.css")];
        // By path, so that a later rule of the same weight is the same one on every machine.
        let mut found = Vec::new();
        collect_sheets(&folder.join("src"), &mut found)?;
        found.sort();
        sheets.extend(found);
        let sheet = sheets.iter().map(|file| read(file)).collect::<Result<Vec<_>>>()?.join("\n");
        let icon = folder.join("favicon.svg");
        Ok(Self {
            page: text("index.html")?,
            start: text("start.js")?,
            theme: text("theme.js")?,
            icon: fs::read(&icon).context(format_args!("reading {}", icon.display()))?,
            sheet,
        })
    }

    /// All of it, to see whether something changed.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let parts = [self.page.as_bytes(), self.start.as_bytes(), self.theme.as_bytes(), &self.icon];
        digest([parts[0], parts[1], parts[2], parts[3], self.sheet.as_bytes()]).into_bytes()
    }
}

/// Writes every file into `folder`.
pub(super) fn write(sources: &Sources, glue: Glue, folder: &Path) -> Result<()> {
    let wasm = add(folder, "admin-ui_bg", "wasm", &glue.module)?;
    let js = add(folder, "admin-ui", "js", &glue.script)?;
    let css = add(folder, "admin-ui", "css", sources.sheet.as_bytes())?;
    let theme = add(folder, "theme", "js", sources.theme.as_bytes())?;
    let names = [("css", &css), ("js", &js), ("wasm", &wasm), ("theme", &theme)];
    let start = fill(&sources.start, &names).context("admin-ui/start.js")?;
    let start = add(folder, "start", "js", start.as_bytes())?;
    let page = fill(&sources.page, &[&names[..], &[("start", &start)]].concat()).context("admin-ui/index.html")?;
    put(&folder.join("favicon.svg"), &sources.icon)?;
    put(&folder.join("index.html"), page.as_bytes())
}

/// Puts the addresses where a template names them. A name that is unknown is an error, not a broken page.
fn fill(template: &str, names: &[(&str, &String)]) -> Result<String> {
    let mut text = template.to_owned();
    for (name, address) in names {
        text = text.replace(&format!("{{{{{name}}}}}"), address);
    }
    match text.split_once("{{").and_then(|(_, rest)| rest.split_once("}}")) {
        Some((name, _)) => Err(Error::new(format!("there is nothing to put for {{{{{name}}}}}"))),
        None => Ok(text),
    }
}

/// Writes a file under a name with its hash and returns its address.
fn add(folder: &Path, name: &str, kind: &str, content: &[u8]) -> Result<String> {
    let hash = digest([content]);
    let name = format!("{name}-{}.{kind}", &hash[..NAME_DIGITS]);
    put(&folder.join(&name), content)?;
    Ok(format!("/{name}"))
}

fn put(file: &Path, content: &[u8]) -> Result<()> {
    fs::write(file, content).context(format_args!("writing {}", file.display()))
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).context(format_args!("reading {}", file.display()))
}

fn collect_sheets(folder: &Path, sheets: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).context(format_args!("reading {}", folder.display()))? {
        let path = entry.context(folder.display())?.path();
        if path.is_dir() {
            collect_sheets(&path, sheets)?;
        } else if path.extension().is_some_and(|kind| kind == "css") {
            sheets.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_gets_its_addresses() {
        let (js, css) = ("/a-1.js".to_owned(), "/a-2.css".to_owned());
        let names = [("js", &js), ("css", &css)];
        assert_eq!(fill("<{{css}}> <{{js}}>", &names).expect("filled"), "</a-2.css> </a-1.js>");
        let error = fill("{{other}}", &names).expect_err("an unknown name");
        assert!(error.to_string().contains("{{other}}"), "{error}");
    }
}

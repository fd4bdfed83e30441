//! Compressed copies beside each file, so that the backend only picks one.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::error::{Context, Result};
use crate::say;

/// Brotli's quality for daily work. Measured with the first UI: see README.md.
pub(super) const QUICK: u8 = 9;
/// Brotli's quality for a release.
pub(super) const RELEASE: u8 = 11;
/// Brotli's window, as a power of two: larger than any file here.
const WINDOW: u32 = 22;

/// Compresses every file below a folder and says how large each became.
pub(super) fn all_in(folder: &Path, quality: u8) -> Result<Vec<String>> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    files.sort();
    files.iter().map(|file| compress(folder, file, quality)).collect()
}

fn compress(folder: &Path, file: &Path, quality: u8) -> Result<String> {
    let step = || format!("compressing {}", file.display());
    let plain = fs::read(file).context(step())?;
    let brotli = {
        let mut writer = brotli::CompressorWriter::new(Vec::new(), 64 * 1024, u32::from(quality), WINDOW);
        writer.write_all(&plain).context(step())?;
        writer.into_inner()
    };
    let mut writer = GzEncoder::new(Vec::new(), Compression::best());
    writer.write_all(&plain).context(step())?;
    let gzip = writer.finish().context(step())?;
    for (kind, bytes) in [("br", &brotli), ("gz", &gzip)] {
        let mut name = file.as_os_str().to_owned();
        name.push(format!(".{kind}"));
        fs::write(&name, bytes).context(step())?;
    }
    let name = file.strip_prefix(folder).unwrap_or(file).display().to_string();
    let [plain, brotli, gzip] = [plain.len(), brotli.len(), gzip.len()].map(|length| say::size(length as u64));
    Ok(format!("{name:<40} {plain:>9}  brotli {brotli:>8}  gzip {gzip:>8}"))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).context(format_args!("reading {}", folder.display()))? {
        let path = entry.context(folder.display())?.path();
        if path.is_dir() { collect(&path, files)? } else { files.push(path) }
    }
    Ok(())
}

//! Random words: passwords, names of throw-away things.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::error::{Context, Result};

/// `bytes` random bytes from the system as lower-case hex.
pub fn hex(bytes: usize) -> Result<String> {
    let mut random = vec![0; bytes];
    File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut random)).context("reading /dev/urandom")?;
    let mut text = String::with_capacity(bytes * 2);
    for byte in random {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

/// A new password of 128 bits.
///
/// It begins with letters that are no number: nats-server reads what stands in a variable as a value of its settings
/// language, in which `12e4…` is not text.
pub fn password() -> Result<String> {
    Ok(format!("pw-{}", hex(16)?))
}

/// What `file` holds, or what `make` makes and the file then holds, readable by its owner only.
pub fn keep(file: &Path, make: impl FnOnce() -> Result<String>) -> Result<String> {
    if let Ok(text) = fs::read_to_string(file)
        && !text.trim().is_empty()
    {
        return Ok(text.trim().to_owned());
    }
    let text = make()?;
    write(file, &text)?;
    Ok(text)
}

/// Writes `file` readable by its owner only, whole or not at all.
pub fn write(file: &Path, text: &str) -> Result<()> {
    let part = file.with_extension("part");
    // A leftover could have another mode.
    let _ = fs::remove_file(&part);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options
        .open(&part)
        .and_then(|mut open| open.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&part, file))
        .context(format_args!("writing {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_differ_and_begin_with_a_letter() {
        let (one, other) = (password().expect("random"), password().expect("random"));
        assert_ne!(one, other);
        assert!(one.starts_with("pw-") && one.len() == 35);
    }
}

//! What the terminal shows.

use std::fmt::Display;
use std::io::{self, Write};

/// Announces a step that may take a while.
pub(crate) fn step(text: impl Display) {
    line(format_args!("» {text}"));
}

/// Says something about the step under way.
pub(crate) fn note(text: impl Display) {
    line(format_args!("  {text}"));
}

/// Writes a line.
///
/// Nobody may be reading any more (`cargo xtask up | head`), which is no reason to stop what is being done.
pub(crate) fn line(text: impl Display) {
    let _ = writeln!(io::stdout(), "{text}");
}

/// A size for people.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        _ => format!("{} kB", bytes.div_ceil(1000)),
    }
}

//! Texts: compared by bytes, or without regard to case, whole or in part, with one value or thousands.
//!
//! Ignoring case means that each character is replaced by its own lower case, without a look at its neighbours, before
//! texts are compared. So what holds for a text holds for its parts: `ΟΔΟΣΑ` contains `ΟΔΟΣ`. The price is that
//! letters which only context makes one stay apart: `ΟΔΟΣ` is not `οδος` (whose last letter is another one, ς),
//! `STRASSE` is not `straße`, and `İstanbul` does not contain `istanbul`, since the lower case of `İ` is `i` and a dot
//! of its own.

mod affixes;
mod fold;
mod needles;
mod texts;

pub use fold::fold;
pub use needles::{Needles, NeedlesTooLarge};
pub use texts::Texts;

/// Values as they are compared: folded when case is ignored, sorted, each once.
fn prepared(values: &[impl AsRef<str>], ignore_case: bool) -> Vec<Box<str>> {
    let prepare = |text: &str| if ignore_case { fold(text).into() } else { text.into() };
    let mut values: Vec<Box<str>> = values.iter().map(|value| prepare(value.as_ref())).collect();
    values.sort_unstable();
    values.dedup();
    values
}

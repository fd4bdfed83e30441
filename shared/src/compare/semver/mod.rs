//! Versions: read as Semantic Versioning 2.0 writes them, a little tolerantly, and ordered by its precedence only.
//!
//! One `v` or `V` may lead, and minor or patch may be missing and are zeros. Build metadata must be well written and is
//! otherwise ignored, so `1.2.3+a` and `1.2.3+b` are equal. Numbers may have any length.

mod comparator;
mod range;
mod version;

pub use comparator::{COMPARATORS_MAX, RangeError};
pub use range::{Range, Ranges};
pub use version::{OwnedVersion, Version, Versions};

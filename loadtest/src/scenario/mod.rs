//! One file per scenario.

pub(crate) mod evaluate;

//! One file per scenario.

pub(crate) mod evaluate;
pub(crate) mod shop;

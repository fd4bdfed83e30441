//! Who asks, and what they may do.

pub mod limit;
pub mod password;
pub mod permission;
pub mod proposal;
pub mod sdk_key;
pub mod session;

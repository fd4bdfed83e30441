//! Who asks, and what they may do.

pub mod agent;
pub mod allowed;
pub mod api_token;
pub mod credential;
pub mod limit;
pub mod password;
pub mod permission;
pub mod proposal;
pub mod sdk_key;
pub mod secret;
pub mod session;

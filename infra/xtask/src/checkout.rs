//! Where things lie in this checkout.

use std::env;
use std::path::{Path, PathBuf};

/// The repository's folder.
pub fn root() -> PathBuf {
    // Cargo says at run time where the package it runs lies. What was compiled in is wrong once a checkout has moved.
    let running = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let is_root = |folder: &&Path| folder.join("infra/xtask/Cargo.toml").is_file();
    let found = running.as_deref().and_then(|folder| folder.ancestors().find(is_root));
    let compiled = || Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().find(is_root);
    found.or_else(compiled).unwrap_or(Path::new(".")).to_path_buf()
}

/// Cargo's target folder.
pub fn target() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

/// The built UI. Not `target/ui`: there cargo keeps what it builds for the host with the profile `ui`.
pub fn ui() -> PathBuf {
    target().join("admin-ui")
}

/// The evaluation engine for a browser, and what it answers here.
pub fn engine() -> PathBuf {
    target().join("engine")
}

/// The settings of the NATS server.
pub fn nats_conf() -> PathBuf {
    root().join("infra/nats/server.conf")
}

//! What this browser remembers: drafts for the session, choices for longer.
//!
//! Storage may be blocked or full; then nothing is remembered and the app works on.

use leptos::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use web_sys::Storage;

/// How long something is kept.
#[derive(Clone, Copy)]
pub enum Keep {
    /// Until the browser tab is closed.
    Session,
    /// Until the person clears it.
    Browser,
}

/// Reads a value; `None` when it is absent or of an older shape.
pub fn read<T: DeserializeOwned>(keep: Keep, name: &str) -> Option<T> {
    let text = storage(keep)?.get_item(&full(name)).ok()??;
    serde_json::from_str(&text).ok()
}

/// Keeps a value.
pub fn write<T: Serialize>(keep: Keep, name: &str, value: &T) {
    if let (Some(storage), Ok(text)) = (storage(keep), serde_json::to_string(value)) {
        let _ = storage.set_item(&full(name), &text);
    }
}

/// Keeps a text as it is, for scripts that read it without JSON.
pub fn write_text(keep: Keep, name: &str, text: Option<&str>) {
    if let Some(storage) = storage(keep) {
        let _ = match text {
            Some(text) => storage.set_item(&full(name), text),
            None => storage.remove_item(&full(name)),
        };
    }
}

/// Reads a text kept by [`write_text`].
pub fn read_text(keep: Keep, name: &str) -> Option<String> {
    storage(keep)?.get_item(&full(name)).ok()?
}

/// Forgets a value.
pub fn remove(keep: Keep, name: &str) {
    write_text(keep, name, None);
}

/// Whether something is kept whose name begins so.
pub fn has_any(keep: Keep, prefix: &str) -> bool {
    let Some(storage) = storage(keep) else { return false };
    let length = storage.length().unwrap_or(0);
    (0..length).filter_map(|at| storage.key(at).ok().flatten()).any(|name| name.starts_with(&full(prefix)))
}

fn full(name: &str) -> String {
    format!("fluxgate.{name}")
}

fn storage(keep: Keep) -> Option<Storage> {
    match keep {
        Keep::Session => window().session_storage(),
        Keep::Browser => window().local_storage(),
    }
    .ok()?
}

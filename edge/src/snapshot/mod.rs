//! Immutable state behind one atomically swapped pointer; whoever answers takes no lock and does no I/O.
//!
//! [`Held`] is the feed's editable source of one environment; it compiles what changed and shares the rest.

mod body;
mod held;

use std::collections::HashMap;
use std::sync::Arc;

use shared::evaluation::{self, Flag, FlagMap, Keyed};
use shared::model::id::EnvironmentId;
use shared::model::sdk_key::SdkKeyKind;

use crate::count::{Cells, KeyCell};
use crate::metrics::EnvironmentStats;

pub use body::Body;
pub use held::{Change, Entry, Held};

/// SHA-256 of an SDK key.
pub type KeyHash = [u8; 32];

/// Everything that is answered from.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Environments that are ready.
    pub environments: HashMap<EnvironmentId, Arc<Environment>>,
    /// SDK keys of all ready environments, refused ones included.
    pub keys: Arc<HashMap<KeyHash, SdkKey>>,
    /// Every change arrives as it is made.
    pub is_live: bool,
    /// All keys there are are known here, so that an unknown one is certainly wrong.
    pub knows_all_keys: bool,
    /// An environment found in the bucket is not complete there yet.
    pub is_filling: bool,
    /// Keys of the bucket whose body this version cannot read; at most 100.
    pub unreadable: Vec<String>,
}

/// One environment, ready to answer.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Which.
    pub id: EnvironmentId,
    /// `project/environment`, for people and as `flagSetId`.
    pub name: Arc<str>,
    /// By what it answers.
    pub revision: u64,
    /// When that was swapped in, in milliseconds since 1970.
    pub swapped_at_ms: i64,
    /// It may be out of date: read from disk, or the feed is not live.
    pub is_stale: bool,
    /// The members of every answer's `metadata`, as JSON without the braces.
    pub metadata: Box<str>,
    /// By key.
    pub flags: FlagMap<FlagEntry>,
    /// Evaluations by reason, shared by all revisions.
    pub stats: Arc<EnvironmentStats>,
}

impl Environment {
    /// The flag of this key.
    pub fn flag(&self, key: &str) -> Option<&FlagEntry> {
        self.flags.get(key)
    }

    /// The same environment, marked out of date or not.
    pub fn marked(&self, is_stale: bool) -> Self {
        let metadata = metadata(&self.name, self.revision, is_stale);
        Self { is_stale, metadata, ..self.clone() }
    }
}

impl evaluation::Environment for Environment {
    fn flag(&self, key: &str) -> Option<(&Flag, bool)> {
        self.flags.get(key).map(|entry| (&entry.flag.flag, entry.is_killed))
    }
}

fn metadata(name: &str, revision: u64, is_stale: bool) -> Box<str> {
    // A name is made of keys or of an id: nothing in it needs an escape.
    let stale = if is_stale { ",\"stale\":true" } else { "" };
    format!("\"flagSetId\":\"{name}\",\"version\":\"{revision}\"{stale}").into()
}

/// A flag in its environment, found by its key.
#[derive(Clone, Debug)]
pub struct FlagEntry {
    /// Its compiled form, shared as long as nothing in it changes.
    pub flag: Arc<CountedFlag>,
    /// Off now, whatever its config says.
    pub is_killed: bool,
}

impl Keyed for FlagEntry {
    fn key(&self) -> &str {
        self.flag.flag.key.as_str()
    }
}

/// A compiled flag with the cells that count its answers.
#[derive(Debug)]
pub struct CountedFlag {
    /// Answers.
    pub flag: Flag,
    /// Counts.
    pub cells: Arc<Cells>,
}

/// An SDK key as far as answering needs it.
#[derive(Clone, Debug)]
pub struct SdkKey {
    /// What it may ask about.
    pub environment: EnvironmentId,
    /// Client keys see only flags that are `client_visible`.
    pub kind: SdkKeyKind,
    /// Web origins that a client key may be used from; empty means any.
    pub origins: Arc<[String]>,
    /// Refused from then on, in milliseconds since 1970.
    pub expires_at_ms: Option<i64>,
    /// Refused for good.
    pub is_revoked: bool,
    /// Requests made with it.
    pub requests: Arc<KeyCell>,
}

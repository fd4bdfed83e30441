//! Immutable state behind one atomically swapped pointer; whoever answers takes no lock and does no I/O.
//!
//! [`Held`] is the feed's editable source of one environment; it compiles what changed and shares the rest.

mod body;
mod held;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use shared::evaluation::{self, Flag, FlagMap, Keyed, TARGETING_KEY};
use shared::model::id::{EnvironmentId, SdkKeyId};
use shared::model::sdk_key::SdkKeyKind;
use uuid::Uuid;

use crate::count::{Cells, KeyCell};
use crate::metrics::EnvironmentStats;

pub use body::Body;
pub use held::{Change, Entry, Held};

/// The most attributes of one environment that events are told by.
pub const UNIT_ATTRIBUTES_MAX: usize = 8;

/// SHA-256 of an SDK key.
pub type KeyHash = [u8; 32];

/// Everything that is answered from.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Environments that are ready.
    pub environments: HashMap<EnvironmentId, Arc<Environment>>,
    /// SDK keys of all ready environments, refused ones included.
    pub keys: Arc<Keys>,
    /// Every change arrives as it is made.
    pub is_live: bool,
    /// All keys there are are known here, so that an unknown one is certainly wrong.
    pub knows_all_keys: bool,
    /// An environment found in the bucket is not complete there yet.
    pub is_filling: bool,
    /// Keys of the bucket whose body this version cannot read; at most 100.
    pub unreadable: Vec<String>,
}

/// SDK keys, by their hash and by their id.
#[derive(Debug, Default)]
pub struct Keys {
    by_hash: HashMap<KeyHash, SdkKey>,
    by_id: HashMap<SdkKeyId, KeyHash>,
}

impl Keys {
    /// The key of this hash.
    pub fn get(&self, hash: &KeyHash) -> Option<&SdkKey> {
        self.by_hash.get(hash)
    }

    /// The key of this id, with its hash.
    pub fn find(&self, id: SdkKeyId) -> Option<(&KeyHash, &SdkKey)> {
        self.by_hash.get_key_value(self.by_id.get(&id)?)
    }
}

impl FromIterator<(KeyHash, SdkKey)> for Keys {
    fn from_iter<I: IntoIterator<Item = (KeyHash, SdkKey)>>(keys: I) -> Self {
        let by_hash: HashMap<KeyHash, SdkKey> = keys.into_iter().collect();
        let by_id = by_hash.iter().map(|(hash, key)| (key.id, *hash)).collect();
        Self { by_hash, by_id }
    }
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
    /// The same, sorted by key; made when all are first asked for.
    pub sorted: OnceLock<Box<[FlagEntry]>>,
    /// All times at which a condition on `$now` may turn, rising; made when first asked for.
    pub boundaries: OnceLock<Box<[i64]>>,
    /// What hashes of users are keyed by; without it nothing of experiments is gathered.
    pub unit_key: Option<Uuid>,
    /// The attributes that experiments divide users by; made when first asked for.
    pub unit_attributes: OnceLock<Box<[Box<str>]>>,
    /// Evaluations by reason, shared by all revisions.
    pub stats: Arc<EnvironmentStats>,
}

impl Environment {
    /// The flag of this key.
    pub fn flag(&self, key: &str) -> Option<&FlagEntry> {
        self.flags.get(key)
    }

    /// All flags, sorted by key.
    pub fn flags_sorted(&self) -> &[FlagEntry] {
        self.sorted.get_or_init(|| {
            let mut flags: Vec<FlagEntry> = self.flags.iter().cloned().collect();
            flags.sort_unstable_by(|a, b| a.key().cmp(b.key()));
            flags.into()
        })
    }

    /// The last time up to `now_ms`, and the first one after it, at which a condition on `$now` may turn; all in
    /// milliseconds since 1970.
    pub fn boundaries_around(&self, now_ms: i64) -> (Option<i64>, Option<i64>) {
        let all = self.boundaries.get_or_init(|| {
            let of_flag = |entry: &FlagEntry| {
                let flag = Arc::clone(&entry.flag);
                std::iter::successors(flag.flag.next_boundary_ms(i64::MIN), move |at| flag.flag.next_boundary_ms(*at))
            };
            let all: BTreeSet<i64> = self.flags.iter().flat_map(of_flag).collect();
            all.into_iter().collect()
        });
        let at = all.partition_point(|boundary| *boundary <= now_ms);
        (at.checked_sub(1).map(|before| all[before]), all.get(at).copied())
    }

    /// What experiments divide users by: the targeting key first, then every attribute that a split of an experiment goes
    /// by, at most [`UNIT_ATTRIBUTES_MAX`] in all.
    pub fn unit_attributes(&self) -> &[Box<str>] {
        self.unit_attributes.get_or_init(|| {
            let experiments = self.flags.iter().filter(|entry| entry.flag.is_experiment);
            let attributes: BTreeSet<&str> = experiments
                .flat_map(|entry| entry.flag.flag.split_attributes())
                .filter(|by| *by != TARGETING_KEY)
                .collect();
            [TARGETING_KEY].into_iter().chain(attributes).take(UNIT_ATTRIBUTES_MAX).map(Box::from).collect()
        })
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
    /// Hash of what it was compiled from, the same on every edge.
    pub digest: u64,
    /// Counts.
    pub cells: Arc<Cells>,
    /// Who got which variant of its splits is told.
    pub is_experiment: bool,
}

/// An SDK key as far as answering needs it.
#[derive(Clone, Debug)]
pub struct SdkKey {
    /// Which.
    pub id: SdkKeyId,
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

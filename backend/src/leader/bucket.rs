//! The KV bucket as the publisher sees it: what each key holds, and puts that compare and set.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::{self, kv, stream};
use futures::StreamExt;
use serde::Deserialize;
use shared::wire::state::{BUCKET, Envelope, VALUE_BYTES_MAX};
use thiserror::Error;
use time::OffsetDateTime;

use crate::store::state::StateRow;

/// The bucket is read within this, or the read begins anew.
const READ_MAX: Duration = Duration::from_secs(30);
/// Tries of one put before the bucket is read anew.
const PUTS_MAX: usize = 3;

/// Why the bucket cannot be used as it is known.
#[derive(Debug, Error)]
pub(super) enum BucketError {
    /// NATS does not do what is asked.
    #[error("NATS: {0}")]
    Nats(#[source] async_nats::Error),
    /// It holds something else than what was read: it was deleted, restored, or another leader writes.
    #[error("the bucket is not what it was; it is read anew")]
    Changed,
    /// The database failed.
    #[error("the database failed")]
    Store(#[from] crate::store::StoreError),
}

/// What a key holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// Sequence of the message, for compare-and-set.
    pub(super) sequence: u64,
    /// The revision in its envelope; 0 when it cannot be read.
    pub(super) revision: u64,
    /// Hash of the value.
    pub(super) hash: u64,
    /// Whether it only says that something is gone.
    pub(super) deleted: bool,
}

/// See the module.
pub(super) struct Bucket {
    store: kv::Store,
    created: OffsetDateTime,
    /// Sequence of its last message when the read began.
    read_from: u64,
    pub(super) held: HashMap<String, Held>,
}

/// What became of a put.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Put {
    /// It is there.
    Done,
    /// NATS will never take this value; others go on.
    Refused(String),
}

#[derive(Deserialize)]
struct Revision {
    revision: u64,
    #[serde(default)]
    deleted: bool,
}

impl Bucket {
    /// Makes the bucket when it is missing, and reads all of it.
    pub(super) async fn open(bus: &Client) -> Result<Self, BucketError> {
        let context = jetstream::new(bus.clone());
        context.get_or_create_stream(stream_config()).await.map_err(nats)?;
        let store = context.get_key_value(BUCKET).await.map_err(nats)?;
        let info = store.stream.get_info().await.map_err(nats)?;
        let (created, read_from) = (info.created, info.state.last_sequence);
        let mut bucket = Self { store, created, read_from, held: HashMap::new() };
        match tokio::time::timeout(READ_MAX, bucket.read()).await {
            Ok(read) => read?,
            Err(elapsed) => return Err(nats(elapsed)),
        }
        Ok(bucket)
    }

    /// True while it is the bucket that was read, and nobody else wrote to it: not deleted, made anew or restored.
    pub(super) async fn is_same(&self) -> Result<bool, BucketError> {
        let info = self.store.stream.get_info().await.map_err(nats)?;
        let newest = self.held.values().map(|held| held.sequence).max().unwrap_or(0).max(self.read_from);
        Ok(info.created == self.created && info.state.last_sequence == newest)
    }

    /// Looks up what is held of a row.
    pub(super) fn lacks(&self, row: &StateRow) -> bool {
        self.held
            .get(&row.key)
            .is_none_or(|held| held.revision < row.revision || held.hash != hash(row.value.as_bytes()))
    }

    /// True when the bucket has something newer than a row, or something else under the same number.
    pub(super) fn contradicts(&self, row: &StateRow) -> bool {
        self.held.get(&row.key).is_some_and(|held| {
            held.revision > row.revision || (held.revision == row.revision && held.hash != hash(row.value.as_bytes()))
        })
    }

    /// Puts a row. A key that is gone means that the bucket is another one: then nothing may be put one by one, or edges
    /// would take a part for the whole. A key that is newer means that the database may be a restored one.
    pub(super) async fn put(&self, row: &StateRow) -> Result<(Put, Held), BucketError> {
        let mut expected = self.held.get(&row.key).copied();
        for _ in 0..PUTS_MAX {
            if expected.is_some_and(|held| held.revision > row.revision) {
                return Err(BucketError::Changed);
            }
            let sequence = expected.map_or(0, |held| held.sequence);
            match self.store.update(&row.key, row.value.clone().into(), sequence).await {
                Ok(sequence) => {
                    let (revision, deleted) = (row.revision, row.deleted);
                    let held = Held { sequence, revision, hash: hash(row.value.as_bytes()), deleted };
                    return Ok((Put::Done, held));
                }
                Err(error) if error.kind() == kv::UpdateErrorKind::WrongLastRevision => {
                    let found = self.store.entry(row.key.as_str()).await.map_err(nats)?;
                    let Some(found) = found else { return Err(BucketError::Changed) };
                    expected = Some(held_of(&found));
                }
                Err(error) if is_refusal(&error) => {
                    let held = expected.unwrap_or(Held { sequence: 0, revision: 0, hash: 0, deleted: false });
                    return Ok((Put::Refused(crate::error::chain(&error)), held));
                }
                Err(error) => return Err(nats(error)),
            }
        }
        Err(BucketError::Changed)
    }

    /// What a key holds now, whole.
    pub(super) async fn value(&self, key: &str) -> Result<Option<Envelope>, BucketError> {
        let found = self.store.get(key).await.map_err(nats)?;
        Ok(found.and_then(|value| serde_json::from_slice(&value).ok()))
    }

    async fn read(&mut self) -> Result<(), BucketError> {
        // An empty bucket would never say that it was read.
        if self.store.stream.get_info().await.map_err(nats)?.state.messages == 0 {
            return Ok(());
        }
        let mut watch = self.store.watch_with_history(">").await.map_err(nats)?;
        while let Some(entry) = watch.next().await {
            let entry = entry.map_err(nats)?;
            let is_last = entry.delta == 0;
            self.held.insert(entry.key.clone(), held_of(&entry));
            if is_last {
                return Ok(());
            }
        }
        Err(BucketError::Changed)
    }
}

/// The stream behind the bucket. Made as a stream because `create_key_value` asks for the account's limits first, and
/// cannot read what NATS 2.9 answers.
fn stream_config() -> stream::Config {
    stream::Config {
        name: format!("KV_{BUCKET}"),
        description: Some("What FluxGate edges must hold".into()),
        subjects: vec![format!("$KV.{BUCKET}.>")],
        max_messages_per_subject: 1,
        // With room for the headers that compare and set.
        max_message_size: i32::try_from(VALUE_BYTES_MAX + 4_096).unwrap_or(i32::MAX),
        discard: stream::DiscardPolicy::New,
        allow_rollup: true,
        deny_delete: true,
        allow_direct: true,
        storage: stream::StorageType::File,
        ..Default::default()
    }
}

pub(super) fn nats(error: impl Into<async_nats::Error>) -> BucketError {
    BucketError::Nats(error.into())
}

fn held_of(entry: &kv::Entry) -> Held {
    let read = serde_json::from_slice::<Revision>(&entry.value);
    let Revision { revision, deleted } = read.unwrap_or(Revision { revision: 0, deleted: false });
    Held { sequence: entry.revision, revision, hash: hash(&entry.value), deleted }
}

fn hash(value: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// True when NATS says no to this value, not to everything.
fn is_refusal(error: &kv::UpdateError) -> bool {
    let text = crate::error::chain(error);
    error.kind() == kv::UpdateErrorKind::InvalidKey
        || text.contains("max_payload")
        || text.contains("maximum payload")
        || text.contains("message size exceeds maximum")
}

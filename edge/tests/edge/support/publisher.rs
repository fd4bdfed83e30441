//! Writes the bucket as the backend does, or as it never should: it can repeat, reorder and leave out.

use std::collections::BTreeMap;
use std::time::Duration;

use async_nats::jetstream::{self, stream};
use futures::StreamExt;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use shared::model::id::{EnvironmentId, FlagId};
use shared::wire::count::{self, CountBatch};
use shared::wire::state::{BUCKET, Entity, StateKey};
use uuid::Uuid;

use super::ingester::Ingester;
use super::nats::Nats;
use super::wait_for;

/// The server key that every world knows.
pub(crate) const SERVER_KEY: &str = "fg_srv_test";
pub(crate) const CLIENT_KEY: &str = "fg_cli_test";

pub(crate) fn environment() -> EnvironmentId {
    Uuid::from_u128(0xe1).into()
}

/// What users are hashed by where experiments are gathered.
pub(crate) fn unit_key() -> Uuid {
    Uuid::from_u128(0x6b65_7900)
}

/// The same id for the same key, in every test.
pub(crate) fn flag_id(key: &str) -> FlagId {
    let hash = Sha256::digest(key);
    Uuid::from_slice(&hash[..16]).expect("16 bytes").into()
}

/// What a test puts: a flag's key and its body.
pub(crate) type FlagBody = (String, Value);

/// A boolean flag, on for everybody or off.
pub(crate) fn boolean(key: &str, enabled: bool) -> FlagBody {
    let body = json!({
        "flag": {
            "key": key, "value_type": "boolean", "kind": "release", "client_visible": false,
            "variants": [{"key": "on", "value": "true"}, {"key": "off", "value": "false"}],
        },
        "config": {"enabled": enabled, "off_variant": "off", "default_serve": {"variant": "on"}},
    });
    (key.into(), body)
}

/// A flag whose default divides users in two halves by an attribute.
pub(crate) fn halves(key: &str, kind: &str, by: &str) -> FlagBody {
    let (key, mut body) = boolean(key, true);
    body["flag"]["kind"] = json!(kind);
    body["config"]["default_serve"] = json!({"split": {"bucket_by": by, "seed": "s", "ranges": [
        {"start": 0, "end": 50_000, "variant": "on"}, {"start": 50_000, "end": 100_000, "variant": "off"},
    ]}});
    (key, body)
}

/// A text flag that answers `text`.
pub(crate) fn text(key: &str, text: &str) -> FlagBody {
    let body = json!({
        "flag": {
            "key": key, "value_type": "string", "kind": "release", "client_visible": false,
            "variants": [{"key": "text", "value": text}],
        },
        "config": {"enabled": true, "default_serve": {"variant": "text"}},
    });
    (key.into(), body)
}

pub(crate) struct Publisher {
    nats_url: String,
    client: async_nats::Client,
    context: jetstream::Context,
    /// Confirms what the stream holds.
    ingester: Ingester,
}

impl Publisher {
    pub(crate) async fn new(nats: &Nats) -> Self {
        let client = nats.connect().await.expect("a connection");
        let mut context = jetstream::new(client.clone());
        context.set_timeout(Duration::from_secs(5));
        let ingester = Ingester::start(client.clone());
        Self { nats_url: nats.url(), client, context, ingester }
    }

    pub(crate) fn client(&self) -> &async_nats::Client {
        &self.client
    }

    /// The stream that is the bucket. The client's own function asks first how the account is, in a form that
    /// nats-server 2.9 does not answer in.
    pub(crate) async fn make_bucket(&self) {
        let config = stream::Config {
            name: format!("KV_{BUCKET}"),
            subjects: vec![format!("$KV.{BUCKET}.>")],
            max_messages_per_subject: 1,
            discard: stream::DiscardPolicy::New,
            allow_rollup: true,
            deny_delete: true,
            allow_direct: true,
            ..stream::Config::default()
        };
        wait_for("the bucket is made", async || {
            let made = self.context.create_stream(config.clone()).await;
            made.inspect_err(|error| eprintln!("the bucket is not made yet: {error:?}")).ok()
        })
        .await;
    }

    pub(crate) async fn drop_bucket(&self) {
        self.context.delete_stream(format!("KV_{BUCKET}")).await.expect("deleted");
    }

    pub(crate) async fn make_counts(&self) {
        self.make_counts_of(-1).await;
    }

    /// The stream of counts, with room for so many batches; -1 is no limit.
    pub(crate) async fn make_counts_of(&self, max_messages: i64) {
        let config = stream::Config {
            name: count::STREAM.into(),
            subjects: vec![format!("{}.>", count::SUBJECT)],
            discard: stream::DiscardPolicy::New,
            max_messages,
            ..stream::Config::default()
        };
        wait_for("the stream is made", async || self.context.create_or_update_stream(config.clone()).await.ok()).await;
    }

    pub(crate) async fn drop_counts(&self) {
        self.context.delete_stream(count::STREAM).await.expect("deleted");
    }

    /// Puts one value, whatever it is.
    pub(crate) async fn put_raw(&self, key: &str, value: impl Into<Vec<u8>>) {
        let value: Vec<u8> = value.into();
        let subject = format!("$KV.{BUCKET}.{key}");
        wait_for("the bucket takes a value", async || {
            let sent = self.context.publish(subject.clone(), value.clone().into()).await.ok()?;
            sent.await.ok()
        })
        .await;
    }

    /// Puts an envelope under the key of `entity`.
    pub(crate) async fn put(&self, environment: EnvironmentId, entity: Entity, envelope: Value) {
        self.put_raw(&StateKey { environment, entity }.to_string(), envelope.to_string()).await;
    }

    pub(crate) async fn put_flag(&self, revision: u64, (key, body): &FlagBody) {
        let envelope = json!({"format": 1, "revision": revision, "killed": false, "deleted": false, "body": body});
        self.put(environment(), Entity::Flag(flag_id(key)), envelope).await;
    }

    /// The value that makes an environment switch.
    pub(crate) async fn put_environment(&self, revision: u64) {
        let body = json!({"project": "shop", "key": "production"});
        let envelope = json!({"format": 1, "revision": revision, "killed": false, "deleted": false, "body": body});
        self.put(environment(), Entity::Environment, envelope).await;
    }

    /// The same with the key that users are hashed by, so that experiments are gathered.
    pub(crate) async fn put_environment_with_units(&self, revision: u64) {
        let body = json!({"project": "shop", "key": "production", "unit_key": unit_key()});
        let envelope = json!({"format": 1, "revision": revision, "killed": false, "deleted": false, "body": body});
        self.put(environment(), Entity::Environment, envelope).await;
    }

    /// An SDK key; `change` is laid over its definition.
    pub(crate) async fn put_key(&self, revision: u64, key: &str, change: Value) {
        self.put_key_in(environment(), revision, key, change).await;
    }

    pub(crate) async fn put_key_in(&self, environment: EnvironmentId, revision: u64, key: &str, change: Value) {
        let hash: String = Sha256::digest(key).iter().map(|byte| format!("{byte:02x}")).collect();
        let kind = if key.starts_with("fg_cli_") { "client" } else { "server" };
        let mut body = json!({"hash": hash, "kind": kind});
        if let (Some(body), Value::Object(change)) = (body.as_object_mut(), change) {
            body.extend(change);
        }
        let envelope = json!({"format": 1, "revision": revision, "body": body});
        self.put(environment, Entity::SdkKey(key_id(key)), envelope).await;
    }

    /// Both keys, the flags, and the environment last.
    pub(crate) async fn put_all(&self, revision: u64, flags: &[FlagBody]) {
        self.put_key(revision, SERVER_KEY, json!({})).await;
        self.put_key(revision, CLIENT_KEY, json!({})).await;
        self.change(revision, flags).await;
    }

    /// The flags, and the environment last.
    pub(crate) async fn change(&self, revision: u64, flags: &[FlagBody]) {
        for flag in flags {
            self.put_flag(revision, flag).await;
        }
        self.put_environment(revision).await;
    }

    /// From now on nobody confirms batches, or somebody does again.
    pub(crate) fn let_ingest(&self, is_there: bool) {
        self.ingester.let_ingest(is_there);
    }

    /// What was confirmed, from whatever stream, each batch once.
    pub(crate) fn confirmed(&self) -> Vec<CountBatch> {
        self.ingester.confirmed()
    }

    /// All batches in the stream, each once, in order of arrival.
    pub(crate) async fn batches(&self) -> Vec<CountBatch> {
        let mut stream = self.context.get_stream(count::STREAM).await.expect("the stream");
        let last = stream.info().await.expect("its state").state.last_sequence;
        let mut found = BTreeMap::new();
        for sequence in 1..=last {
            let message = stream.get_raw_message(sequence).await.expect("a batch");
            let batch: CountBatch = serde_json::from_slice(&message.payload).expect("a batch");
            let first = found.entry(batch.confirmation()).or_insert_with(|| batch.clone());
            assert_eq!(*first, batch, "a batch is never changed");
        }
        found.into_values().collect()
    }

    /// Evaluations in the stream.
    pub(crate) async fn counted(&self) -> u64 {
        let batches = self.batches().await;
        batches.iter().flat_map(|batch| &batch.evaluations).map(|entry| entry.count).sum()
    }

    /// The next message on a subject that `accept` takes.
    pub(crate) async fn hear<T: serde::de::DeserializeOwned>(
        &self,
        subscriber: &mut async_nats::Subscriber,
        accept: impl Fn(&T) -> bool,
    ) -> T {
        let heard = async {
            loop {
                let message = subscriber.next().await.expect("a message");
                let said: T = serde_json::from_slice(&message.payload).expect("of the kind");
                if accept(&said) {
                    return said;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(30), heard).await.expect("it is said in time")
    }

    pub(crate) async fn subscribe(&self, subject: &'static str) -> async_nats::Subscriber {
        let subscriber = self.client.subscribe(subject).await.expect("subscribed");
        self.client.flush().await.expect("flushed");
        subscriber
    }

    pub(crate) fn url(&self) -> &str {
        &self.nats_url
    }
}

pub(crate) fn key_id(key: &str) -> shared::model::id::SdkKeyId {
    flag_id(key).uuid().into()
}

//! Writes bundles as `fluxgate-backend export-bundle` does, or as it never should.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use shared::model::id::EnvironmentId;
use shared::wire::state::{Entity, StateKey};
use uuid::Uuid;

use super::publisher::{FlagBody, SERVER_KEY, environment, flag_id, key_id};

/// Values of the bucket, to be written as a bundle.
#[derive(Clone, Default)]
pub(crate) struct Draft {
    values: BTreeMap<String, Value>,
}

impl Draft {
    /// The environment that every world has, with its server key and some flags, all of this revision.
    pub(crate) fn of(revision: u64, flags: &[FlagBody]) -> Self {
        Self::default().environment(environment(), "production", revision).key(revision, SERVER_KEY, json!({})).flags(
            environment(),
            revision,
            flags,
        )
    }

    pub(crate) fn environment(self, id: EnvironmentId, key: &str, revision: u64) -> Self {
        let body = json!({"project": "shop", "key": key});
        self.value(id, Entity::Environment, json!({"format": 1, "revision": revision, "body": body}))
    }

    pub(crate) fn flags(self, id: EnvironmentId, revision: u64, flags: &[FlagBody]) -> Self {
        flags.iter().fold(self, |draft, (key, body)| {
            let envelope = json!({"format": 1, "revision": revision, "body": body});
            draft.value(id, Entity::Flag(flag_id(key)), envelope)
        })
    }

    /// An SDK key of the usual environment; `change` is laid over its definition.
    pub(crate) fn key(self, revision: u64, key: &str, change: Value) -> Self {
        self.key_in(environment(), revision, key, change)
    }

    pub(crate) fn key_in(self, id: EnvironmentId, revision: u64, key: &str, change: Value) -> Self {
        let hash: String = Sha256::digest(key).iter().map(|byte| format!("{byte:02x}")).collect();
        let mut body = json!({"hash": hash, "kind": "server"});
        if let (Some(body), Value::Object(change)) = (body.as_object_mut(), change) {
            body.extend(change);
        }
        let envelope = json!({"format": 1, "revision": revision, "body": body});
        self.value(id, Entity::SdkKey(key_id(key)), envelope)
    }

    pub(crate) fn deleted_key(self, revision: u64, key: &str) -> Self {
        let envelope = json!({"format": 1, "revision": revision, "deleted": true});
        self.value(environment(), Entity::SdkKey(key_id(key)), envelope)
    }

    /// A segment of the usual environment.
    pub(crate) fn segment(self, revision: u64, body: Value) -> Self {
        let id = Entity::Segment(Uuid::from_u128(u128::from(revision)).into());
        self.value(environment(), id, json!({"format": 1, "revision": revision, "body": body}))
    }

    /// Any envelope.
    pub(crate) fn value(mut self, environment: EnvironmentId, entity: Entity, envelope: Value) -> Self {
        self.values.insert(StateKey { environment, entity }.to_string(), envelope);
        self
    }

    pub(crate) fn text(&self) -> String {
        let lines: Vec<String> = self.values.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        let head = r#"{"kind":"fluxgate-bundle","format":1,"exported_at":"2026-12-01T10:00:00Z","values":{"#;
        format!("{head}\n{}\n}}}}\n", lines.join(",\n"))
    }

    /// The file `bundle.json` in a folder.
    pub(crate) fn write(&self, folder: &Path) -> PathBuf {
        let path = folder.join("bundle.json");
        std::fs::write(&path, self.text()).expect("a bundle");
        path
    }
}

//! A database that is older than what was published: a restored backup, a promoted replica. Revisions never go back, a
//! revoked key stays revoked, and what only the bucket has is written down and stays until a person confirms.

use std::collections::HashSet;

use serde_json::json;
use shared::model::changeset::Via;
use shared::model::id::EnvironmentId;
use shared::model::sdk_key::SdkKeyDefinition;
use shared::wire::api::restored::OnlyPublished;
use shared::wire::state::{Entity, Envelope, StateKey};
use sqlx::PgConnection;

use crate::app::restored::tombstone;
use crate::leader::bucket::{Bucket, BucketError};
use crate::leader::publish::publish_environment;
use crate::state::AppState;
use crate::store;
use crate::store::StoreError;
use crate::store::changeset::{Entry, NewChangeset};
use crate::store::state::StateRow;

/// The most values that history names.
const NAMED_MAX: usize = 1_000;

/// What only the bucket has.
struct Strangers {
    keys: Vec<(EnvironmentId, String)>,
    named: Vec<OnlyPublished>,
}

/// Raises the counter above what was seen, stamps all of `state` anew, and writes it into the history.
pub(super) async fn raise_above(state: &AppState, bucket: &Bucket, seen: u64) -> Result<(), BucketError> {
    let strangers = strangers(state, bucket).await?;
    let revoked = revoked_keys(bucket).await?;
    let mut tx = state.pool.begin().await.map_err(StoreError::from)?;
    let before = store::changeset::current_revision(&mut tx).await?;
    let revision = store::changeset::raise_revision(&mut tx, seen).await?;
    tracing::warn!(before, seen, revision, "the database is older than what was published; revisions go on above it");
    let mut entries = vec![Entry {
        environment: None,
        entity: "restored",
        entity_id: None,
        entity_key: String::new(),
        before: Some(json!({ "revision": before })),
        after: Some(json!({
            "revision": revision,
            "only_published": strangers.named,
            "only_published_total": strangers.keys.len(),
        })),
    }];
    for (environment, _) in store::state::list_revisions(&mut tx).await? {
        let mut rows = store::state::list_above(&mut tx, environment, 0).await?;
        for row in &mut rows {
            if revoked.contains(&row.key) {
                entries.extend(revoke(state, &mut tx, row).await?);
            }
            row.revision = revision;
            row.value = restamped(&row.value, revision).unwrap_or_else(|| row.value.clone());
        }
        store::state::save(&mut tx, &rows).await?;
    }
    let new = NewChangeset {
        id: state.clock.id(),
        project: None,
        author: None,
        via: Via::System,
        break_glass: None,
        note: "restored: the database was older than what had been published",
        revision,
        applied_at: state.clock.now(),
    };
    store::changeset::insert(&mut tx, &new, &entries).await?;
    store::bucket_only::insert(&mut tx, revision, &strangers.keys).await?;
    tx.commit().await.map_err(StoreError::from)?;
    Ok(())
}

/// Deletes from the bucket what people confirmed and is of environments that the database does not know: no row of `state`
/// can say so. Answers the keys.
pub(super) async fn delete_confirmed(state: &AppState, bucket: &mut Bucket) -> Result<Vec<String>, BucketError> {
    let confirmed = {
        let mut db = state.pool.acquire().await.map_err(StoreError::from)?;
        store::bucket_only::list_confirmed_strangers(&mut db).await?
    };
    let mut rows = Vec::with_capacity(confirmed.len());
    for (environment, key, revision) in confirmed {
        match tombstone(environment, key, revision) {
            Ok(row) => rows.push(row),
            Err(error) => tracing::error!(error = %crate::error::chain(&error), "a value cannot be deleted"),
        }
    }
    let keys = rows.iter().map(|row| row.key.clone()).collect();
    publish_environment(bucket, rows).await?;
    Ok(keys)
}

async fn strangers(state: &AppState, bucket: &Bucket) -> Result<Strangers, BucketError> {
    let mut known = HashSet::new();
    {
        let mut db = state.pool.acquire().await.map_err(StoreError::from)?;
        for (environment, _) in store::state::list_revisions(&mut db).await? {
            known.extend(store::state::list_above(&mut db, environment, 0).await?.into_iter().map(|row| row.key));
        }
    }
    let only = bucket.held.iter().filter(|(key, held)| !held.deleted && !known.contains(*key));
    let mut keys: Vec<(EnvironmentId, String)> =
        only.filter_map(|(key, _)| Some((key.parse::<StateKey>().ok()?.environment, key.clone()))).collect();
    keys.sort();
    let mut named = Vec::new();
    for (_, key) in keys.iter().take(NAMED_MAX) {
        named.push(OnlyPublished { key: key.clone(), what: what(key, bucket.value(key).await?) });
    }
    Ok(Strangers { keys, named })
}

/// What a value is, for people.
fn what(key: &str, value: Option<Envelope>) -> String {
    let body = value.and_then(|envelope| envelope.body);
    let body: serde_json::Value = body.and_then(|body| serde_json::from_str(body.get()).ok()).unwrap_or_default();
    let text = |pointer: &str| body.pointer(pointer).and_then(serde_json::Value::as_str).unwrap_or("?").to_owned();
    match key.parse::<StateKey>().map(|key| key.entity) {
        Ok(Entity::Flag(_)) => format!("flag {}", text("/flag/key")),
        Ok(Entity::Segment(_)) => format!("segment {}", text("/key")),
        Ok(Entity::SdkKey(id)) => format!("SDK key {id}"),
        Ok(Entity::Environment) => format!("environment {}/{}", text("/project"), text("/key")),
        Err(_) => "unknown".into(),
    }
}

/// Keys that the bucket says are revoked.
async fn revoked_keys(bucket: &Bucket) -> Result<HashSet<String>, BucketError> {
    let mut revoked = HashSet::new();
    for key in bucket.held.keys().filter(|key| key.contains(".key.")) {
        let Some(envelope) = bucket.value(key).await? else { continue };
        let definition: Option<SdkKeyDefinition> = envelope.body.and_then(|body| serde_json::from_str(body.get()).ok());
        if envelope.deleted || definition.is_some_and(|definition| definition.revoked) {
            revoked.insert(key.clone());
        }
    }
    Ok(revoked)
}

/// Revokes a key in the database, too, when it is not; answers what history says of it.
async fn revoke(state: &AppState, db: &mut PgConnection, row: &mut StateRow) -> Result<Option<Entry>, StoreError> {
    let Some(mut envelope) = serde_json::from_str::<Envelope>(&row.value).ok() else { return Ok(None) };
    let body = envelope.body.as_ref().and_then(|body| serde_json::from_str::<SdkKeyDefinition>(body.get()).ok());
    let (Some(definition), Ok(StateKey { entity: Entity::SdkKey(id), .. })) = (body, row.key.parse()) else {
        return Ok(None);
    };
    if definition.revoked {
        return Ok(None);
    }
    let body = serde_json::value::to_raw_value(&SdkKeyDefinition { revoked: true, ..definition }).ok();
    envelope.body = body;
    let Ok(value) = serde_json::to_string(&envelope) else { return Ok(None) };
    row.value = value;
    let (name, hint) = store::sdk_key::revoke_named(db, id, state.clock.now()).await?;
    Ok(Some(Entry {
        environment: Some(row.environment),
        entity: "sdk_key",
        entity_id: Some(id.uuid()),
        entity_key: name.clone(),
        before: None,
        after: Some(json!({ "name": name, "hint": hint, "revoked": true })),
    }))
}

fn restamped(value: &str, revision: u64) -> Option<String> {
    let envelope: Envelope = serde_json::from_str(value).ok()?;
    serde_json::to_string(&Envelope { revision, ..envelope }).ok()
}

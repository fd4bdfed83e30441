//! Compares both sides in full: after a start, when the bucket was replaced, and every few minutes.

use std::collections::HashSet;

use async_nats::Client;
use shared::model::id::EnvironmentId;
use shared::wire::state::{Entity, StateKey};

use crate::leader::bucket::{Bucket, BucketError};
use crate::leader::publish::publish_environment;
use crate::leader::restored::{delete_confirmed, raise_above};
use crate::live::REVISION_MAX;
use crate::state::AppState;
use crate::store;
use crate::store::StoreError;
use crate::store::state::StateRow;

/// Reads the bucket and puts everything that it lacks.
pub(super) async fn fill(state: &AppState, bus: &Client) -> Result<Bucket, BucketError> {
    let mut bucket = Bucket::open(bus).await?;
    let environments = environments(state).await?;
    if let Some(seen) = ahead(state, &bucket, &environments).await? {
        raise_above(state, &bucket, seen).await?;
    }
    let mut known = HashSet::new();
    for (environment, _) in environments {
        let rows = rows(state, environment).await?;
        known.extend(rows.iter().map(|row| row.key.clone()));
        publish_environment(&mut bucket, rows).await?;
    }
    known.extend(delete_confirmed(state, &mut bucket).await?);
    let strangers = bucket.held.keys().filter(|key| !known.contains(*key)).count();
    if strangers > 0 {
        tracing::warn!(keys = strangers, "the bucket holds keys that the database does not know; edges keep them");
    }
    tracing::debug!(keys = bucket.held.len(), "the bucket holds what the database says");
    Ok(bucket)
}

/// Whether the bucket lacks something that was published, or has something newer. Beside the publisher, which goes on.
pub(super) async fn differs(state: AppState, bus: Client) -> Result<bool, BucketError> {
    let bucket = Bucket::open(&bus).await?;
    for (environment, _) in environments(&state).await? {
        let key = StateKey { environment, entity: Entity::Environment }.to_string();
        let published = bucket.held.get(&key).map_or(0, |held| held.revision);
        // What was committed since the bucket was read is on its way.
        let rows = rows(&state, environment).await?;
        if rows.iter().any(|row| row.revision <= published && bucket.lacks(row)) {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn environments(state: &AppState) -> Result<Vec<(EnvironmentId, u64)>, StoreError> {
    let mut db = state.pool.acquire().await?;
    store::state::list_revisions(&mut db).await
}

async fn rows(state: &AppState, environment: EnvironmentId) -> Result<Vec<StateRow>, StoreError> {
    let mut db = state.pool.acquire().await?;
    store::state::list_above(&mut db, environment, 0).await
}

/// The newest revision seen outside, when the database is older than what was published: its counter is behind, a value
/// is newer outside, or the same number stands for something else (writes after a failover took lost numbers again).
async fn ahead(
    state: &AppState,
    bucket: &Bucket,
    environments: &[(EnvironmentId, u64)],
) -> Result<Option<u64>, StoreError> {
    let said = state.live.newest_revision(environments);
    let held = bucket.held.values().map(|held| held.revision).filter(|revision| *revision <= REVISION_MAX);
    let seen = held.max().unwrap_or(0).max(said);
    let current = {
        let mut db = state.pool.acquire().await?;
        store::changeset::current_revision(&mut db).await?
    };
    if seen > current {
        return Ok(Some(seen));
    }
    for (environment, _) in environments {
        if rows(state, *environment).await?.iter().any(|row| bucket.contradicts(row)) {
            return Ok(Some(seen));
        }
    }
    Ok(None)
}

//! From table `state` into the bucket. The bucket is its own cursor: a crash, a second leader, a wiped NATS and a fresh
//! start are the same loop.

use std::sync::Arc;
use std::time::Duration;

use async_nats::Client;
use futures::{StreamExt, TryStreamExt};
use shared::model::id::EnvironmentId;
use shared::wire::state::{Entity, StateKey};
use sqlx::Connection;
use tokio::sync::Notify;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use crate::error::chain;
use crate::leader::bucket::{Bucket, BucketError, Held, Put, nats};
use crate::leader::{compare, restored};
use crate::state::AppState;
use crate::store;
use crate::store::StoreError;
use crate::store::state::StateRow;

/// The bucket is looked at this often: a small read that tells whether it is still the same.
const LOOK: Duration = Duration::from_secs(2);
/// Both sides are compared in full this often.
const COMPARE: Duration = Duration::from_secs(180);
/// Puts under way at once.
const PUTS_AT_ONCE: usize = 32;
/// The longest wait after a failure.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Publishes for as long as this backend leads.
pub(super) async fn run(state: AppState, bus: Client, wake: Arc<Notify>) {
    let mut wait = Duration::from_millis(100);
    loop {
        let mut has_worked = false;
        match follow(&state, &bus, &wake, &mut has_worked).await {
            BucketError::Changed => tracing::info!("the bucket was replaced or changed; it is filled anew"),
            error => tracing::warn!(error = %chain(&error), "publishing waits"),
        }
        wait = if has_worked { Duration::from_millis(100) } else { (wait * 2).min(WAIT_MAX) };
        tokio::time::sleep(wait.mul_f64(rand::random_range(0.5..1.0))).await;
    }
}

/// Publishes until something fails.
async fn follow(state: &AppState, bus: &Client, wake: &Notify, has_worked: &mut bool) -> BucketError {
    let mut bucket = match compare::fill(state, bus).await {
        Ok(bucket) => bucket,
        Err(error) => return error,
    };
    *has_worked = true;
    let mut look = tokio::time::interval(LOOK);
    let mut compare = tokio::time::interval_at(Instant::now() + COMPARE, COMPARE);
    let mut comparing = JoinSet::new();
    loop {
        let done = tokio::select! {
            () = wake.notified() => publish_new(state, &mut bucket).await,
            _ = look.tick() => look_again(state, &mut bucket).await,
            _ = compare.tick(), if comparing.is_empty() => {
                comparing.spawn(compare::differs(state.clone(), bus.clone()));
                Ok(())
            }
            Some(compared) = comparing.join_next() => judge(compared),
        };
        if let Err(error) = done {
            return error;
        }
    }
}

fn judge(compared: Result<Result<bool, BucketError>, JoinError>) -> Result<(), BucketError> {
    match compared {
        Ok(Ok(false)) => Ok(()),
        Ok(Ok(true)) => Err(BucketError::Changed),
        Ok(Err(error)) => Err(error),
        Err(ended) => Err(nats(ended)),
    }
}

async fn look_again(state: &AppState, bucket: &mut Bucket) -> Result<(), BucketError> {
    if !bucket.is_same().await? {
        return Err(BucketError::Changed);
    }
    let is_behind = {
        let mut db = state.pool.acquire().await.map_err(StoreError::from)?;
        let environments = store::state::list_revisions(&mut db).await?;
        state.live.newest_revision(&environments) > store::changeset::current_revision(&mut db).await?
    };
    if is_behind {
        return Err(BucketError::Changed);
    }
    restored::delete_confirmed(state, bucket).await?;
    // A notification may have been lost with its connection.
    publish_new(state, bucket).await
}

/// Puts what is newer than each environment's own value, that value last.
async fn publish_new(state: &AppState, bucket: &mut Bucket) -> Result<(), BucketError> {
    for rows in read_new(state, bucket).await? {
        publish_environment(bucket, rows).await?;
    }
    Ok(())
}

/// The rows above what the bucket has, in one moment of the database.
async fn read_new(state: &AppState, bucket: &Bucket) -> Result<Vec<Vec<StateRow>>, StoreError> {
    let mut db = state.pool.acquire().await?;
    let mut tx = db.begin_with("begin isolation level repeatable read read only").await?;
    let mut behind = Vec::new();
    for (environment, revision) in store::state::list_revisions(&mut tx).await? {
        let published = published(bucket, environment);
        if published < revision {
            behind.push(store::state::list_above(&mut tx, environment, published).await?);
        }
    }
    tx.commit().await?;
    Ok(behind)
}

/// Puts rows of one environment, its own value last; a row that NATS refuses is named and holds back nobody.
pub(super) async fn publish_environment(bucket: &mut Bucket, rows: Vec<StateRow>) -> Result<(), BucketError> {
    let (last, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(is_environment);
    for rows in [others, last] {
        let puts: Vec<_> = rows.iter().filter(|row| bucket.lacks(row)).map(|row| put(bucket, row)).collect();
        let done: Vec<_> = futures::stream::iter(puts).buffer_unordered(PUTS_AT_ONCE).try_collect().await?;
        let mut learned = Vec::with_capacity(done.len());
        for (row, put, held) in done {
            if let Put::Refused(reason) = &put {
                tracing::error!(
                    key = row.key,
                    bytes = row.value.len(),
                    reason,
                    "NATS refuses a value; edges keep the old one"
                );
            }
            learned.push((row.key.clone(), held));
        }
        bucket.held.extend(learned);
    }
    Ok(())
}

async fn put<'a>(bucket: &Bucket, row: &'a StateRow) -> Result<(&'a StateRow, Put, Held), BucketError> {
    bucket.put(row).await.map(|(put, held)| (row, put, held))
}

fn published(bucket: &Bucket, environment: EnvironmentId) -> u64 {
    let key = StateKey { environment, entity: Entity::Environment }.to_string();
    bucket.held.get(&key).map_or(0, |held| held.revision)
}

fn is_environment(row: &StateRow) -> bool {
    row.key.ends_with(".environment")
}

//! What one replica does for all: publish, ingest, roll counts up and let them go, lift kills whose
//! time has come, write edges and losses down, tell webhooks.
//!
//! Leadership is a session's advisory lock in PostgreSQL. What a late leader still does is harmless: puts compare and
//! set, batches have an identity, a kill is lifted by row.

mod bucket;
mod compare;
pub mod ingest;
mod lease;
pub mod ledger;
pub mod partition;
mod publish;
mod restored;
pub mod retention;
pub mod rollup;
pub mod sample;
pub mod schedule;
mod upkeep;
pub mod webhook;

use std::sync::Arc;
use std::time::Duration;

use async_nats::Client;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::error::chain;
use crate::leader::lease::Lease;
use crate::state::AppState;

/// Wait before trying to lead again.
const RETRY: Duration = Duration::from_secs(1);

/// Leads whenever nobody else does, until stopped.
pub async fn run(state: AppState, bus: Client, stop: CancellationToken) {
    while !stop.is_cancelled() {
        tokio::select! {
            lease = Lease::take(&state.config.database.url) => match lease {
                Ok(lease) => lead(&state, &bus, lease, &stop).await,
                Err(error) => tracing::warn!(error = %chain(&error), "cannot lead yet"),
            },
            () = stop.cancelled() => {}
        }
        tokio::select! {
            () = tokio::time::sleep(RETRY) => {}
            () = stop.cancelled() => {}
        }
    }
}

async fn lead(state: &AppState, bus: &Client, lease: Lease, stop: &CancellationToken) {
    tracing::info!("this backend leads");
    state.metrics.leading.set(1);
    let wake = Arc::new(Notify::new());
    let mut tasks = JoinSet::new();
    tasks.spawn(publish::run(state.clone(), bus.clone(), wake.clone()));
    tasks.spawn(ingest::run(state.clone(), bus.clone()));
    tasks.spawn(upkeep::run(state.clone()));
    tasks.spawn(schedule::run(state.clone()));
    tasks.spawn(webhook::run(state.clone()));
    tokio::select! {
        () = lease.hold(&wake) => tracing::warn!("this backend leads no more: the lease's connection ended"),
        () = stop.cancelled() => {}
        ended = tasks.join_next() => tracing::error!(task = ?ended, "a task of the leader ended"),
    }
    tasks.shutdown().await;
    state.metrics.leading.set(0);
}

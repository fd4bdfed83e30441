//! What is done with counts once they are there, on a connection of its own: roll-ups, partitions, retention, samples of
//! edges and the ledger of losses.

use std::time::Duration;

use thiserror::Error;
use time::OffsetDateTime;
use tokio::time::{MissedTickBehavior, interval};

use crate::error::{AppError, chain};
use crate::leader::lease::connect;
use crate::leader::{ledger, partition, retention, rollup, sample, webhook};
use crate::state::AppState;
use crate::store;

/// Roll-ups and the ledger are this far behind at most.
const TICK: Duration = Duration::from_secs(10);
/// Partitions are made, and what is old goes, this often.
const KEEP: time::Duration = time::Duration::HOUR;
/// Wait after a failure.
const RETRY: Duration = Duration::from_secs(5);
/// Every wait has an end; the longest statement rolls up an hour.
const SETUP: &str = "
set lock_timeout = '10s';
set statement_timeout = '60s';
set idle_in_transaction_session_timeout = '60s'";

#[derive(Debug, Error)]
enum UpkeepError {
    #[error("the database")]
    Database(#[from] tokio_postgres::Error),
    #[error("samples of edges, or what is kept of webhooks and keys")]
    Sample(#[from] AppError),
}

/// Works for as long as this backend leads.
pub(super) async fn run(state: AppState) {
    let leading_since = state.clock.now();
    loop {
        if let Err(error) = follow(&state, leading_since).await {
            tracing::warn!(error = %chain(&error), "counts wait to be rolled up");
        }
        tokio::time::sleep(RETRY).await;
    }
}

async fn follow(state: &AppState, leading_since: OffsetDateTime) -> Result<(), UpkeepError> {
    let mut client = connect(&state.config.database.url, None).await?;
    client.batch_execute(SETUP).await?;
    partition::keep(&mut client, state.clock.now()).await?;
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut kept_at = None;
    let mut sampled = minute(leading_since);
    loop {
        tick.tick().await;
        let now = state.clock.now();
        rollup::pass_and_tell(state, &mut client).await?;
        ledger::keep(state, &mut client, leading_since).await?;
        let ended = minute(now) - time::Duration::MINUTE;
        if ended > sampled {
            sample::take(state, &client, ended).await?;
            sampled = ended;
        }
        if kept_at.is_none_or(|at| now - at >= KEEP) {
            retention::pass(&mut client, &state.config.counts, now).await?;
            partition::keep(&mut client, now).await?;
            webhook::upkeep::pass(state, now).await?;
            forget_keys(state, now).await?;
            kept_at = Some(now);
        }
    }
}

/// Forgets what writes answered a day ago.
async fn forget_keys(state: &AppState, now: OffsetDateTime) -> Result<(), AppError> {
    let mut db = state.pool.acquire().await?;
    while store::idempotency::forget(&mut db, now - store::idempotency::REMEMBERED).await? > 0 {}
    Ok(())
}

fn minute(at: OffsetDateTime) -> OffsetDateTime {
    at.replace_second(0).and_then(|at| at.replace_nanosecond(0)).unwrap_or(at)
}

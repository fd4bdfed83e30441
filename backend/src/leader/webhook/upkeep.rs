//! Keeps the log of deliveries bounded: what ended goes with time and number, and a receiver that falls too far behind is
//! left alone, since what waits is never let go of in silence.

use time::{Duration, OffsetDateTime};

use crate::app;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;

/// Deliveries that ended are kept for so long.
const KEPT: Duration = Duration::days(30);
/// The most deliveries that wait for one webhook.
const PENDING_MAX: i64 = 10_000;

/// One pass over all webhooks.
pub async fn pass(state: &AppState, now: OffsetDateTime) -> Result<(), AppError> {
    let mut db = state.pool.acquire().await?;
    let overfull = store::webhook::list_overfull(&mut db, PENDING_MAX).await?;
    while store::webhook::delivery::forget(&mut db, now - KEPT).await? > 0 {}
    drop(db);
    for (webhook, project, url) in overfull {
        let mut tx = state.pool.begin().await?;
        let reason = format!("more than {PENDING_MAX} events waited for it");
        app::webhook::disable(state, &mut tx, project, (webhook, &url), &reason).await?;
        tx.commit().await?;
    }
    Ok(())
}

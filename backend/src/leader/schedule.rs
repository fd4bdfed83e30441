//! What happens at its time: kills end, edges are written down.

use std::time::Duration;

use crate::app::{changeset, token};
use crate::error::{AppError, chain};
use crate::state::AppState;
use crate::store;

/// A kill ends at most this late.
const TICK: Duration = Duration::from_millis(500);
/// Edges are written down every so many ticks.
const EDGES_EVERY: u32 = 10;

/// Acts for as long as this backend leads.
pub(super) async fn run(state: AppState) {
    let mut ticks = 0_u32;
    loop {
        tokio::time::sleep(TICK).await;
        if let Err(error) = lift_due(&state).await {
            tracing::warn!(error = %chain(&error), "kills that are due wait");
        }
        ticks = ticks.wrapping_add(1);
        if ticks.is_multiple_of(EDGES_EVERY)
            && let Err(error) = write_edges(&state).await
        {
            tracing::warn!(error = %chain(&error), "edges cannot be written down");
        }
        if ticks.is_multiple_of(EDGES_EVERY)
            && let Err(error) = token::note_expired(&state).await
        {
            tracing::warn!(error = %chain(&error), "tokens that expired are not written down");
        }
    }
}

async fn lift_due(state: &AppState) -> Result<(), AppError> {
    let due = store::kill::list_due(&mut *state.pool.acquire().await?, state.clock.now()).await?;
    for kill in due {
        changeset::lift_due(state, &kill).await?;
    }
    Ok(())
}

async fn write_edges(state: &AppState) -> Result<(), AppError> {
    let mut db = state.pool.acquire().await?;
    let heard = state.live.take_unsaved();
    if !heard.is_empty() {
        store::edge::save(&mut db, &heard).await?;
    }
    Ok(())
}

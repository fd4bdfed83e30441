//! What happens at its time: steps of plans, the end of kills; edges are written down.

use std::time::Duration;

use crate::app::{changeset, plan, token};
use crate::error::{AppError, chain};
use crate::state::AppState;
use crate::store;

/// A kill ends, and a step of a plan happens, at most this late.
const TICK: Duration = Duration::from_millis(500);
/// Edges are written down every so many ticks.
const EDGES_EVERY: u32 = 10;

/// Acts for as long as this backend leads.
pub(super) async fn run(state: AppState) {
    let mut ticks = 0_u32;
    loop {
        tokio::time::sleep(TICK).await;
        tick(&state).await;
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

/// Does everything whose time has come. What is done twice, or by two, happens once.
pub async fn tick(state: &AppState) {
    if let Err(error) = lift_due(state).await {
        tracing::warn!(error = %chain(&error), "kills that are due wait");
    }
    if let Err(error) = plan::run_due(state).await {
        tracing::warn!(error = %chain(&error), "steps of plans that are due wait");
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

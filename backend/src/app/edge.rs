//! Edges and how far a revision has come.

use shared::model::id::{ProcessId, ProjectId};
use shared::model::key::EnvironmentKey;
use shared::wire::api::edge::{EdgeList, ReceiptDetail};

use crate::error::AppError;
use crate::state::AppState;
use crate::store;

/// All edges.
pub async fn list(state: &AppState) -> Result<EdgeList, AppError> {
    let newest = store::state::list_revisions(&mut *state.pool.acquire().await?).await?.into_iter().collect();
    Ok(EdgeList { items: state.live.edges(&newest, state.clock.now()) })
}

/// An edge that is silent for good counts no more. One that is heard again counts again.
pub async fn dismiss(state: &AppState, process: ProcessId) -> Result<(), AppError> {
    let now = state.clock.now();
    let known = store::edge::dismiss(&mut *state.pool.acquire().await?, process, now).await?;
    let followed = state.live.forget(process);
    if known || followed { Ok(()) } else { Err(AppError::not_found("edge", process)) }
}

/// How far a revision of an environment has come; without one, the newest.
pub async fn receipt(
    state: &AppState,
    project: ProjectId,
    environment: &EnvironmentKey,
    revision: Option<u64>,
) -> Result<ReceiptDetail, AppError> {
    let environments = store::environment::list(&mut *state.pool.acquire().await?, project).await?;
    let found = environments.iter().find(|known| known.key == environment.as_str());
    let found = found.ok_or_else(|| AppError::not_found("environment", environment))?;
    let newest = u64::try_from(found.revision).unwrap_or(0);
    Ok(state.live.receipt_detail(found.id, revision.unwrap_or(newest)))
}

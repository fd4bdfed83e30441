//! What webhooks are told of a changeset before it is applied; that it was, they learn from history.

use serde_json::json;
use shared::model::id::{ChangesetId, EnvironmentId, ProjectId};
use shared::model::webhook::EventType;
use sqlx::PgConnection;

use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::webhook::NewNote;

/// A changeset, for those who were not there.
pub(in crate::app::changeset) struct Told<'a> {
    pub(in crate::app::changeset) project: ProjectId,
    pub(in crate::app::changeset) id: ChangesetId,
    /// Environments that it will touch.
    pub(in crate::app::changeset) environments: &'a [EnvironmentId],
    /// Who did what is told; absent when the product itself did.
    pub(in crate::app::changeset) by: Option<&'a str>,
    /// What its author said of it.
    pub(in crate::app::changeset) note: &'a str,
    /// Why it does not go on, where it does not.
    pub(in crate::app::changeset) reason: Option<&'a str>,
}

/// Has webhooks told once the transaction commits.
pub(in crate::app::changeset) async fn tell(
    state: &AppState,
    tx: &mut PgConnection,
    kind: EventType,
    told: &Told<'_>,
) -> Result<(), AppError> {
    let data = json!({ "changeset": told.id, "by": told.by, "note": told.note, "reason": told.reason });
    let note =
        NewNote { at: state.clock.now(), project: Some(told.project), kind, environments: told.environments, data };
    store::webhook::note(tx, &note).await?;
    Ok(())
}

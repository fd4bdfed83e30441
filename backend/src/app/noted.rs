//! Writing down what people do that is no changeset, in the transaction that does it.

use serde_json::Value;
use shared::model::id::ProjectId;
use sqlx::PgConnection;

use crate::auth::permission::{Actor, InProject};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::audit::NewEvent;

/// Writes down what somebody did to the installation or its people.
pub(super) async fn note(
    state: &AppState,
    db: &mut PgConnection,
    actor: &Actor,
    kind: &'static str,
    subject: &str,
    detail: Value,
) -> Result<(), AppError> {
    insert(state, db, (actor, None), kind, subject, detail).await
}

/// Writes down what somebody did in a project.
pub(super) async fn note_in(
    state: &AppState,
    db: &mut PgConnection,
    who: &InProject,
    kind: &'static str,
    subject: &str,
    detail: Value,
) -> Result<(), AppError> {
    insert(state, db, (&who.actor, Some(who.id())), kind, subject, detail).await
}

async fn insert(
    state: &AppState,
    db: &mut PgConnection,
    (actor, project): (&Actor, Option<ProjectId>),
    kind: &'static str,
    subject: &str,
    detail: Value,
) -> Result<(), AppError> {
    let event =
        NewEvent { at: state.clock.now(), actor: Some(actor.user), via: actor.via, project, kind, subject, detail };
    store::audit::insert(db, &event).await?;
    Ok(())
}

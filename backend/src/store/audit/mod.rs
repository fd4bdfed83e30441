//! What people do that is no changeset: they sign in, make tokens, invite others. Changesets are their own record.

pub mod chain;
pub mod list;

use serde_json::Value;
use shared::model::changeset::Via;
use shared::model::id::{ProjectId, UserId};
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::store::StoreError;

/// Something to be written down.
#[derive(Debug)]
pub struct NewEvent<'a> {
    /// When.
    pub at: OffsetDateTime,
    /// Who; absent when the product itself acted, or nobody knows.
    pub actor: Option<UserId>,
    /// Through what.
    pub via: Via,
    /// Where; absent for what concerns the installation.
    pub project: Option<ProjectId>,
    /// What happened, as `token.created`.
    pub kind: &'static str,
    /// To what, by its name for people.
    pub subject: &'a str,
    /// What else there is to know; never a secret.
    pub detail: Value,
}

/// Writes down what happened, in the transaction that does it.
pub async fn insert(db: &mut PgConnection, event: &NewEvent<'_>) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into audit_events (at, actor_id, via, project_id, kind, subject, detail)
         values ($1, $2, $3, $4, $5, $6, $7)",
        event.at,
        event.actor.map(UserId::uuid),
        event.via.as_str(),
        event.project.map(ProjectId::uuid),
        event.kind,
        event.subject,
        event.detail,
    )
    .execute(db)
    .await?;
    Ok(())
}

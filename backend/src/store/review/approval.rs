//! Who agreed to which content of a changeset.

use shared::model::id::{ChangesetId, UserId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::StoreError;

/// Somebody's approval of one content of a changeset.
#[derive(Clone, Debug)]
pub struct Approval {
    /// Of which.
    pub changeset: ChangesetId,
    /// Who.
    pub user: UserId,
    /// Their name.
    pub name: String,
    /// Of exactly this content.
    pub digest: Vec<u8>,
    /// What they said.
    pub note: String,
    /// When.
    pub at: OffsetDateTime,
}

/// The approvals of changesets, the oldest first.
pub async fn list_approvals(db: &mut PgConnection, changesets: &[ChangesetId]) -> Result<Vec<Approval>, StoreError> {
    let ids: Vec<Uuid> = changesets.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!(
        "select approvals.changeset_id, approvals.user_id, users.name, approvals.digest, approvals.note, approvals.at
         from approvals
         join users on users.id = approvals.user_id
         where approvals.changeset_id = any ($1)
         order by approvals.at, approvals.user_id",
        &ids,
    )
    .fetch_all(db)
    .await?;
    let approvals = rows.into_iter().map(|row| Approval {
        changeset: row.changeset_id.into(),
        user: row.user_id.into(),
        name: row.name,
        digest: row.digest,
        note: row.note,
        at: row.at,
    });
    Ok(approvals.collect())
}

/// Notes an approval; a second one of the same content changes nothing.
pub async fn approve(
    db: &mut PgConnection,
    changeset: ChangesetId,
    user: UserId,
    digest: &[u8],
    note: &str,
    at: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into approvals (changeset_id, user_id, digest, note, at) values ($1, $2, $3, $4, $5)
         on conflict (changeset_id, user_id, digest) do nothing",
        changeset.uuid(),
        user.uuid(),
        digest,
        note,
        at,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Takes all approvals away, because the content became another one; answers whose they were.
pub async fn void_approvals(db: &mut PgConnection, changeset: ChangesetId) -> Result<Vec<UserId>, StoreError> {
    let users =
        sqlx::query_scalar!("delete from approvals where changeset_id = $1 returning user_id", changeset.uuid())
            .fetch_all(db)
            .await?;
    Ok(users.into_iter().map(UserId::from).collect())
}

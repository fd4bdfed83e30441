//! Out of service, back, and gone for good.

use shared::model::id::{FlagId, UserId};
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::store::StoreError;

/// Archives a flag: its configs stay, what they refer to is held by them no more.
pub async fn archive(
    db: &mut PgConnection,
    flag: FlagId,
    author: UserId,
    at: OffsetDateTime,
) -> Result<(), StoreError> {
    set_archived(db, flag, Some(at), author, at).await?;
    sqlx::query!("delete from reference where from_flag_id = $1", flag.uuid()).execute(db).await?;
    Ok(())
}

/// Ends that; what its configs refer to is for the caller to write.
pub async fn restore(
    db: &mut PgConnection,
    flag: FlagId,
    author: UserId,
    at: OffsetDateTime,
) -> Result<(), StoreError> {
    set_archived(db, flag, None, author, at).await
}

/// Removes a flag with its configs and kills; history and counts stay.
pub async fn delete(db: &mut PgConnection, flag: FlagId) -> Result<(), StoreError> {
    sqlx::query!("delete from kills where flag_id = $1", flag.uuid()).execute(&mut *db).await?;
    sqlx::query!("delete from flag_configs where flag_id = $1", flag.uuid()).execute(&mut *db).await?;
    sqlx::query!("delete from flags where id = $1", flag.uuid()).execute(db).await?;
    Ok(())
}

async fn set_archived(
    db: &mut PgConnection,
    flag: FlagId,
    archived_at: Option<OffsetDateTime>,
    author: UserId,
    at: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query!(
        "update flags
         set archived_at = $2, version = version + 1, changed_at = $3, changed_by = $4
         where id = $1",
        flag.uuid(),
        archived_at,
        at,
        author.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}

//! Kills: rows of their own, independent of the config.

use shared::model::id::{EnvironmentId, FlagId, ProjectId, UserId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::StoreError;

/// A kill as stored.
#[derive(Clone, Debug)]
pub struct Kill {
    /// The flag.
    pub flag_id: FlagId,
    /// Where.
    pub environment_id: EnvironmentId,
    /// Why.
    pub reason: String,
    /// When it ends by itself.
    pub until_at: Option<OffsetDateTime>,
    /// Since when.
    pub killed_at: OffsetDateTime,
    /// Who did it.
    pub killed_by: String,
}

/// A kill whose time has come.
#[derive(Clone, Debug)]
pub struct Due {
    /// Its project.
    pub project_id: ProjectId,
    /// The flag.
    pub flag_id: FlagId,
    /// The flag's key.
    pub flag_key: String,
    /// Where.
    pub environment_id: EnvironmentId,
}

/// The kills of these flags in all environments.
pub async fn list(db: &mut PgConnection, flags: &[FlagId]) -> Result<Vec<Kill>, StoreError> {
    let ids: Vec<Uuid> = flags.iter().map(|id| id.uuid()).collect();
    let kills = sqlx::query_as!(
        Kill,
        "select kills.flag_id, kills.environment_id, kills.reason, kills.until_at, kills.killed_at,
                users.name as killed_by
         from kills
         join users on users.id = kills.killed_by
         where kills.flag_id = any ($1)",
        &ids,
    )
    .fetch_all(db)
    .await?;
    Ok(kills)
}

/// Writes a kill, or who gave one that stands a new reason and time; since when it stands stays.
pub async fn save(
    db: &mut PgConnection,
    flag: FlagId,
    environment: EnvironmentId,
    reason: &str,
    until: Option<OffsetDateTime>,
    author: UserId,
    at: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into kills (flag_id, environment_id, reason, until_at, killed_at, killed_by)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (flag_id, environment_id) do update
         set reason = excluded.reason, until_at = excluded.until_at, killed_by = excluded.killed_by",
        flag.uuid(),
        environment.uuid(),
        reason,
        until,
        at,
        author.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Removes a kill; false when there was none.
pub async fn delete(db: &mut PgConnection, flag: FlagId, environment: EnvironmentId) -> Result<bool, StoreError> {
    let done =
        sqlx::query!("delete from kills where flag_id = $1 and environment_id = $2", flag.uuid(), environment.uuid(),)
            .execute(db)
            .await?;
    Ok(done.rows_affected() > 0)
}

/// Removes a kill whose time has come; false when it was moved or is gone.
pub async fn delete_due(
    db: &mut PgConnection,
    flag: FlagId,
    environment: EnvironmentId,
    now: OffsetDateTime,
) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "delete from kills where flag_id = $1 and environment_id = $2 and until_at <= $3",
        flag.uuid(),
        environment.uuid(),
        now,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Kills whose time has come, at most 100.
pub async fn list_due(db: &mut PgConnection, now: OffsetDateTime) -> Result<Vec<Due>, StoreError> {
    let due = sqlx::query_as!(
        Due,
        "select flags.project_id, kills.flag_id, flags.key as flag_key, kills.environment_id
         from kills
         join flags on flags.id = kills.flag_id
         where kills.until_at <= $1
         order by kills.until_at
         limit 100",
        now,
    )
    .fetch_all(db)
    .await?;
    Ok(due)
}

//! What keeps plans from going on: people, and kills of their flags.

use shared::model::id::{ChangesetId, EnvironmentId, ProjectId, UserId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::StoreError;

/// Why a plan does not go on.
#[derive(Clone, Debug)]
pub struct PlanPause {
    /// The plan.
    pub changeset_id: ChangesetId,
    /// Since when.
    pub at: OffsetDateTime,
    /// Who did it.
    pub user_name: Option<String>,
    /// Why.
    pub reason: String,
}

/// Whether somebody paused a plan.
pub async fn is_paused(db: &mut PgConnection, plan: ChangesetId) -> Result<bool, StoreError> {
    let is_paused = sqlx::query_scalar!(
        r#"select exists (select 1 from plan_pauses where changeset_id = $1) as "is!""#,
        plan.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(is_paused)
}

/// Whether a flag that a plan is about is killed where the plan is about it.
pub async fn is_killed(db: &mut PgConnection, plan: ChangesetId) -> Result<bool, StoreError> {
    let is_killed = sqlx::query_scalar!(
        r#"select exists (select 1
                          from plan_flags
                          join flags on flags.project_id = plan_flags.project_id
                               and flags.key = plan_flags.flag_key
                          join kills on kills.flag_id = flags.id
                               and (plan_flags.environment_id is null
                                    or kills.environment_id = plan_flags.environment_id)
                          where plan_flags.changeset_id = $1) as "is!""#,
        plan.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(is_killed)
}

/// Pauses a plan.
pub async fn insert_pause(
    db: &mut PgConnection,
    plan: ChangesetId,
    author: Option<UserId>,
    reason: &str,
    at: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into plan_pauses (changeset_id, at, user_id, reason) values ($1, $2, $3, $4)",
        plan.uuid(),
        at,
        author.map(UserId::uuid),
        reason,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Pauses the plans of a flag that is being killed in some environments. Waits for nobody: what is read is not held.
pub async fn pause_killed(
    db: &mut PgConnection,
    project: ProjectId,
    flag: &str,
    environments: &[EnvironmentId],
    author: UserId,
    reason: &str,
    at: OffsetDateTime,
) -> Result<(), StoreError> {
    let ids: Vec<Uuid> = environments.iter().map(|id| id.uuid()).collect();
    sqlx::query!(
        "insert into plan_pauses (changeset_id, at, user_id, reason)
         select distinct plan_flags.changeset_id, $4::timestamptz, $5::uuid, $6::text
         from plan_flags
         join changesets on changesets.id = plan_flags.changeset_id
         where plan_flags.project_id = $1
           and plan_flags.flag_key = $2
           and (plan_flags.environment_id is null or plan_flags.environment_id = any ($3))
           and changesets.state = 'scheduled'",
        project.uuid(),
        flag,
        &ids,
        at,
        author.uuid(),
        reason,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Lets a plan go on.
pub async fn delete_pauses(db: &mut PgConnection, plan: ChangesetId) -> Result<(), StoreError> {
    sqlx::query!("delete from plan_pauses where changeset_id = $1", plan.uuid()).execute(db).await?;
    Ok(())
}

/// Why these plans do not go on, the oldest reason first.
pub async fn list_pauses(db: &mut PgConnection, plans: &[ChangesetId]) -> Result<Vec<PlanPause>, StoreError> {
    let ids: Vec<Uuid> = plans.iter().map(|id| id.uuid()).collect();
    let pauses = sqlx::query_as!(
        PlanPause,
        r#"select plan_pauses.changeset_id, plan_pauses.at, users.name as "user_name?", plan_pauses.reason
           from plan_pauses
           left join users on users.id = plan_pauses.user_id
           where plan_pauses.changeset_id = any ($1)
           order by plan_pauses.at
           limit 1000"#,
        &ids,
    )
    .fetch_all(db)
    .await?;
    Ok(pauses)
}

//! Steps of plans.

use serde_json::Value;
use shared::model::id::{ChangesetId, EnvironmentId, ProjectId};
use shared::model::plan::StepState;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::{StoreError, unsigned};

/// A step as stored.
#[derive(Clone, Debug)]
pub struct StoredStep {
    /// The plan.
    pub changeset_id: ChangesetId,
    /// From 0 on.
    pub ordinal: i32,
    /// When it is to happen; absent while it waits for the step before it.
    pub due_at: Option<OffsetDateTime>,
    /// Where it stands.
    pub state: StepState,
    /// The number it was applied by.
    pub revision: Option<u64>,
    /// When it was applied.
    pub applied_at: Option<OffsetDateTime>,
    /// What holds it back, or why it could not be applied.
    pub problem: Option<String>,
}

/// The step of a plan that comes next.
#[derive(Clone, Copy, Debug)]
pub struct NextStep {
    /// From 0 on.
    pub ordinal: i32,
    /// When it is to happen.
    pub due_at: Option<OffsetDateTime>,
    /// When it may be tried again.
    pub retry_at: Option<OffsetDateTime>,
}

/// A plan whose next step is due.
#[derive(Clone, Copy, Debug)]
pub struct Due {
    /// The plan.
    pub changeset_id: ChangesetId,
    /// Its project.
    pub project_id: ProjectId,
}

/// What a step of a plan did to one thing.
#[derive(Clone, Debug)]
pub struct Effect {
    /// Where; absent for what is the same everywhere.
    pub environment_id: Option<EnvironmentId>,
    /// What kind of thing.
    pub entity: String,
    /// Its id.
    pub entity_id: Option<Uuid>,
    /// Its key.
    pub entity_key: String,
    /// Before; absent when it was new.
    pub before: Option<Value>,
    /// After; absent when it was gone.
    pub after: Option<Value>,
}

/// Plans whose next step is due and that nobody paused, at most 100. A step is only looked at when all before it are done.
pub async fn list_due(db: &mut PgConnection, now: OffsetDateTime) -> Result<Vec<Due>, StoreError> {
    let rows = sqlx::query!(
        r#"select plan_steps.changeset_id, changesets.project_id as "project_id!"
           from plan_steps
           join changesets on changesets.id = plan_steps.changeset_id
           where plan_steps.state = 'waiting'
             and plan_steps.due_at <= $1
             and (plan_steps.retry_at is null or plan_steps.retry_at <= $1)
             and changesets.state = 'scheduled'
             and not exists (select 1 from plan_steps earlier
                             where earlier.changeset_id = plan_steps.changeset_id
                               and earlier.ordinal < plan_steps.ordinal
                               and earlier.state <> 'applied')
             and not exists (select 1 from plan_pauses where plan_pauses.changeset_id = plan_steps.changeset_id)
           order by plan_steps.due_at, plan_steps.changeset_id
           limit 100"#,
        now,
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Due { changeset_id: row.changeset_id.into(), project_id: row.project_id.into() })
        .collect())
}

/// The next step of a plan, whose row is held until the transaction ends.
pub async fn next_step(db: &mut PgConnection, plan: ChangesetId) -> Result<Option<NextStep>, StoreError> {
    let step = sqlx::query_as!(
        NextStep,
        "select ordinal, due_at, retry_at
         from plan_steps
         where changeset_id = $1 and state = 'waiting'
         order by ordinal
         limit 1
         for update",
        plan.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(step)
}

/// Moves a step from waiting to applied; false when it was not waiting.
pub async fn advance(
    db: &mut PgConnection,
    plan: ChangesetId,
    ordinal: i32,
    applied: ChangesetId,
) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "update plan_steps
         set state = 'applied', applied_changeset_id = $3, problem = null, retry_at = null
         where changeset_id = $1 and ordinal = $2 and state = 'waiting'",
        plan.uuid(),
        ordinal,
        applied.uuid(),
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Says when a step is due.
pub async fn set_due(
    db: &mut PgConnection,
    plan: ChangesetId,
    ordinal: i32,
    due_at: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query!(
        "update plan_steps set due_at = $3 where changeset_id = $1 and ordinal = $2 and state = 'waiting'",
        plan.uuid(),
        ordinal,
        due_at,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Says what holds a step back, and when to try again.
pub async fn hold_back(
    db: &mut PgConnection,
    plan: ChangesetId,
    ordinal: i32,
    problem: &str,
    retry_at: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query!(
        "update plan_steps set problem = $3, retry_at = $4
         where changeset_id = $1 and ordinal = $2 and state = 'waiting'",
        plan.uuid(),
        ordinal,
        problem,
        retry_at,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Says why a step could not be applied.
pub async fn block(db: &mut PgConnection, plan: ChangesetId, ordinal: i32, problem: &str) -> Result<(), StoreError> {
    sqlx::query!(
        "update plan_steps set state = 'blocked', problem = $3, retry_at = null
         where changeset_id = $1 and ordinal = $2 and state = 'waiting'",
        plan.uuid(),
        ordinal,
        problem,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Lets a step that could not be applied be tried again.
pub async fn unblock(db: &mut PgConnection, plan: ChangesetId) -> Result<(), StoreError> {
    sqlx::query!(
        "update plan_steps set state = 'waiting', problem = null, retry_at = null
         where changeset_id = $1 and state in ('blocked', 'waiting')",
        plan.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Gives up all steps that are still to come.
pub async fn skip(db: &mut PgConnection, plan: ChangesetId) -> Result<(), StoreError> {
    sqlx::query!(
        "update plan_steps set state = 'skipped', retry_at = null
         where changeset_id = $1 and state in ('blocked', 'waiting')",
        plan.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// The steps of these plans, in order.
pub async fn list_steps(db: &mut PgConnection, plans: &[ChangesetId]) -> Result<Vec<StoredStep>, StoreError> {
    let ids: Vec<Uuid> = plans.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!(
        r#"select plan_steps.changeset_id, plan_steps.ordinal, plan_steps.due_at, plan_steps.state,
                  plan_steps.problem, changesets.revision as "revision?", changesets.applied_at as "applied_at?"
           from plan_steps
           left join changesets on changesets.id = plan_steps.applied_changeset_id
           where plan_steps.changeset_id = any ($1)
           order by plan_steps.changeset_id, plan_steps.ordinal"#,
        &ids,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let state = row.state.parse().map_err(|_| StoreError::Corrupt {
                table: "plan_steps",
                id: format!("{}/{}", row.changeset_id, row.ordinal),
                format: 1,
                source: None,
            })?;
            Ok(StoredStep {
                changeset_id: row.changeset_id.into(),
                ordinal: row.ordinal,
                due_at: row.due_at,
                state,
                revision: row.revision.map(unsigned),
                applied_at: row.applied_at,
                problem: row.problem,
            })
        })
        .collect()
}

/// What the applied steps of a plan did, in order.
pub async fn effects(db: &mut PgConnection, plan: ChangesetId) -> Result<Vec<Effect>, StoreError> {
    let rows = sqlx::query!(
        "select revision_entries.environment_id, revision_entries.entity, revision_entries.entity_id,
                revision_entries.entity_key, revision_entries.before, revision_entries.after
         from plan_steps
         join changesets on changesets.id = plan_steps.applied_changeset_id
         join revision_entries on revision_entries.revision = changesets.revision
         where plan_steps.changeset_id = $1
         order by revision_entries.revision, revision_entries.ordinal",
        plan.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Effect {
            environment_id: row.environment_id.map(EnvironmentId::from),
            entity: row.entity,
            entity_id: row.entity_id,
            entity_key: row.entity_key,
            before: row.before,
            after: row.after,
        })
        .collect())
}

//! Plans: changesets that happen step by step. What a plan says stands with the changeset; how far it has come, in
//! `plan_steps`.

mod pause;
mod step;

use serde_json::Value;
use shared::model::changeset::ChangesetState;
use shared::model::id::{ChangesetId, EnvironmentId, ProjectId, UserId};
use shared::model::plan::Plan;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

pub use pause::{PlanPause, delete_pauses, insert_pause, is_killed, is_paused, list_pauses, pause_killed};
pub use step::{
    Due, Effect, NextStep, StoredStep, advance, block, effects, hold_back, list_due, list_steps, next_step, set_due,
    skip, unblock,
};

use crate::store::{DOCUMENT_FORMAT, StoreError, read_document, unsigned, write_document};

/// The most plans of a page.
pub const PAGE_MAX: i64 = 50;

/// A plan as stored.
#[derive(Clone, Debug)]
pub struct StoredPlan {
    /// The changeset's id.
    pub id: ChangesetId,
    /// Who made it.
    pub author: UserId,
    /// Their name.
    pub author_name: String,
    /// Where it stands.
    pub state: ChangesetState,
    /// Why.
    pub note: String,
    /// What it says.
    pub plan: Plan,
    /// Of all that an approval signs.
    pub digest: Vec<u8>,
    /// When it was made.
    pub created_at: OffsetDateTime,
    /// Why it is suspended, or who stopped it.
    pub problem: Option<String>,
    /// Environments that it touches, in promotion order.
    pub environments: Vec<EnvironmentId>,
    /// Who wrote any part of it.
    pub editors: Vec<UserId>,
    /// Who agreed to it as it stands.
    pub approvals: Vec<UserId>,
}

/// A flag that a plan is about.
#[derive(Clone, Debug)]
pub struct PlanFlag {
    /// The plan.
    pub changeset_id: ChangesetId,
    /// Its key.
    pub flag_key: String,
    /// Where; everywhere when absent.
    pub environment_id: Option<EnvironmentId>,
}

/// Which plans a list shows.
#[derive(Clone, Debug, Default)]
pub struct PlanFilter {
    /// This one.
    pub id: Option<ChangesetId>,
    /// Those in these states.
    pub states: Option<Vec<ChangesetState>>,
    /// Those that are about this flag.
    pub flag: Option<String>,
    /// Those that touch this environment.
    pub environment: Option<EnvironmentId>,
    /// Those that are older than this one.
    pub after: Option<ChangesetId>,
}

struct PlanRow {
    id: Uuid,
    author_id: Uuid,
    author_name: String,
    state: String,
    note: String,
    format: i32,
    plan: Value,
    digest: Vec<u8>,
    created_at: OffsetDateTime,
    problem: Option<String>,
    environments: Vec<Uuid>,
    editors: Vec<Uuid>,
    approvals: Vec<Uuid>,
}

impl TryFrom<PlanRow> for StoredPlan {
    type Error = StoreError;

    fn try_from(row: PlanRow) -> Result<Self, StoreError> {
        let state = row.state.parse().map_err(|_| StoreError::Corrupt {
            table: "changesets",
            id: row.id.to_string(),
            format: row.format,
            source: None,
        })?;
        let people = |ids: Vec<Uuid>| ids.into_iter().map(UserId::from).collect();
        Ok(Self {
            id: row.id.into(),
            author: row.author_id.into(),
            author_name: row.author_name,
            state,
            note: row.note,
            plan: read_document("changesets", row.id, row.format, row.plan)?,
            digest: row.digest,
            created_at: row.created_at,
            problem: row.problem,
            environments: row.environments.into_iter().map(EnvironmentId::from).collect(),
            editors: people(row.editors),
            approvals: people(row.approvals),
        })
    }
}

/// Holds the row of a plan's changeset until the transaction ends; false when there is none. Rows that only refer to the
/// changeset are not held up.
pub async fn lock(db: &mut PgConnection, project: ProjectId, id: ChangesetId) -> Result<bool, StoreError> {
    let found = sqlx::query_scalar!(
        r#"select 1 as "one!" from changesets
           where project_id = $1 and id = $2 and plan is not null
           for no key update"#,
        project.uuid(),
        id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(found.is_some())
}

/// Finds a plan, and holds its row until the transaction ends.
pub async fn find_for_update(
    db: &mut PgConnection,
    project: ProjectId,
    id: ChangesetId,
) -> Result<Option<StoredPlan>, StoreError> {
    if !lock(db, project, id).await? {
        return Ok(None);
    }
    let filter = PlanFilter { id: Some(id), ..PlanFilter::default() };
    Ok(list(db, project, &filter).await?.pop())
}

/// Lists plans, the newest first, at most one more than a page.
pub async fn list(
    db: &mut PgConnection,
    project: ProjectId,
    filter: &PlanFilter,
) -> Result<Vec<StoredPlan>, StoreError> {
    let states: Option<Vec<String>> =
        filter.states.as_ref().map(|states| states.iter().map(|state| state.as_str().to_owned()).collect());
    let rows = sqlx::query_as!(
        PlanRow,
        r#"select changesets.id, changesets.author_id as "author_id!", users.name as author_name, changesets.state,
                  changesets.note, changesets.format as "format!", changesets.plan as "plan!",
                  changesets.digest as "digest!", changesets.created_at as "created_at!", changesets.problem,
                  array(select environments.id from changeset_environments
                        join environments on environments.id = changeset_environments.environment_id
                        where changeset_environments.changeset_id = changesets.id
                        order by environments.position) as "environments!",
                  array(select user_id from changeset_editors
                        where changeset_editors.changeset_id = changesets.id) as "editors!",
                  array(select user_id from approvals
                        where approvals.changeset_id = changesets.id
                              and approvals.digest = changesets.digest) as "approvals!"
           from changesets
           join users on users.id = changesets.author_id
           where changesets.project_id = $1
             and changesets.plan is not null
             and ($2::uuid is null or changesets.id = $2)
             and ($3::text[] is null or changesets.state = any ($3))
             and ($4::text is null or exists (select 1 from plan_flags
                                              where plan_flags.changeset_id = changesets.id
                                                and plan_flags.flag_key = $4))
             and ($5::uuid is null or exists (select 1 from changeset_environments
                                              where changeset_environments.changeset_id = changesets.id
                                                and changeset_environments.environment_id = $5))
             and ($6::uuid is null or changesets.id < $6)
           order by changesets.id desc
           limit $7"#,
        project.uuid(),
        filter.id.map(ChangesetId::uuid),
        states.as_deref(),
        filter.flag.as_deref(),
        filter.environment.map(EnvironmentId::uuid),
        filter.after.map(ChangesetId::uuid),
        PAGE_MAX + 1,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(StoredPlan::try_from).collect()
}

/// Writes what a changeset that waits does step by step, in place of what it did before.
pub async fn save(
    db: &mut PgConnection,
    project: ProjectId,
    id: ChangesetId,
    plan: &Plan,
    due: &[Option<OffsetDateTime>],
    flags: &[(String, Option<EnvironmentId>)],
) -> Result<(), StoreError> {
    sqlx::query!(
        "update changesets set plan = $2, format = $3 where id = $1",
        id.uuid(),
        write_document(plan)?,
        DOCUMENT_FORMAT,
    )
    .execute(&mut *db)
    .await?;
    sqlx::query!("delete from plan_steps where changeset_id = $1", id.uuid()).execute(&mut *db).await?;
    sqlx::query!(
        "insert into plan_steps (changeset_id, ordinal, due_at, state)
         select $1, row_number() over () - 1, due_at, 'waiting' from unnest($2::timestamptz[]) as due (due_at)",
        id.uuid(),
        due as &[Option<OffsetDateTime>],
    )
    .execute(&mut *db)
    .await?;
    sqlx::query!("delete from plan_flags where changeset_id = $1", id.uuid()).execute(&mut *db).await?;
    let keys: Vec<String> = flags.iter().map(|(key, _)| key.clone()).collect();
    let environments: Vec<Option<Uuid>> = flags.iter().map(|(_, id)| id.map(EnvironmentId::uuid)).collect();
    sqlx::query!(
        "insert into plan_flags (changeset_id, project_id, flag_key, environment_id)
         select $1, $2, * from unnest($3::text[], $4::uuid[])",
        id.uuid(),
        project.uuid(),
        &keys,
        &environments as &[Option<Uuid>],
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Says where a plan stands, and why.
pub async fn set_state(
    db: &mut PgConnection,
    id: ChangesetId,
    state: ChangesetState,
    problem: Option<&str>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "update changesets set state = $2, problem = $3, version = version + 1 where id = $1",
        id.uuid(),
        state.as_str(),
        problem,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// The flags that these plans are about.
pub async fn list_flags(db: &mut PgConnection, plans: &[ChangesetId]) -> Result<Vec<PlanFlag>, StoreError> {
    let ids: Vec<Uuid> = plans.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!(
        "select changeset_id, flag_key, environment_id from plan_flags where changeset_id = any ($1)",
        &ids,
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| PlanFlag {
            changeset_id: row.changeset_id.into(),
            flag_key: row.flag_key,
            environment_id: row.environment_id.map(EnvironmentId::from),
        })
        .collect())
}

/// The version of a flag's config in an environment; 0 without one.
pub async fn config_version(
    db: &mut PgConnection,
    project: ProjectId,
    flag: &str,
    environment: &str,
) -> Result<u64, StoreError> {
    let version = sqlx::query_scalar!(
        "select flag_configs.version
         from flag_configs
         join flags on flags.id = flag_configs.flag_id
         join environments on environments.id = flag_configs.environment_id
         where flags.project_id = $1 and flags.key = $2 and environments.key = $3",
        project.uuid(),
        flag,
        environment,
    )
    .fetch_optional(db)
    .await?;
    Ok(version.map_or(0, unsigned))
}

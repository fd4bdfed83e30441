//! When flags were last asked for, and what they answered.

use shared::model::id::{EnvironmentId, FlagId, ProjectId};
use shared::model::lifetime::Lifetime;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::StoreError;
use crate::store::flag::lifetime_of;

/// A flag with what a clean-up looks at.
#[derive(Clone, Debug)]
pub struct FlagAge {
    /// Its id.
    pub id: FlagId,
    /// Its key.
    pub key: String,
    /// For people.
    pub name: String,
    /// The word of its kind.
    pub kind: String,
    /// Whom to ask about it.
    pub owner_id: Option<Uuid>,
    /// Their name.
    pub owner_name: Option<String>,
    /// How long it is meant to be there, as its column has it.
    lifetime_days: Option<i32>,
    /// Counts up with every change of the flag itself.
    pub version: i64,
    /// When it was made.
    pub created_at: OffsetDateTime,
    /// What most users get in the last environment in promotion order: `on`, `part`, `off`; absent without a config.
    pub shape: Option<String>,
    /// Whether it is killed there.
    pub is_killed: bool,
}

impl FlagAge {
    /// How long it is meant to be there.
    pub fn lifetime(&self) -> Lifetime {
        lifetime_of(self.lifetime_days)
    }
}

/// When one answer was given in one environment.
#[derive(Clone, Debug)]
pub struct Answered {
    /// Of which flag.
    pub flag_id: FlagId,
    /// Where.
    pub environment_id: EnvironmentId,
    /// What; empty without a variant.
    pub variant: String,
    /// Whether it was an error.
    pub is_error: bool,
    /// The first minute.
    pub first_at: OffsetDateTime,
    /// The last minute in which it was evaluated by its key.
    pub evaluated_at: Option<OffsetDateTime>,
    /// The last minute in which a call for all flags received it.
    pub sent_in_bulk_at: Option<OffsetDateTime>,
}

/// Flags that are not archived, by key; with `flag`, that one alone. `last` is the environment that shapes are of.
pub async fn list_flags(
    db: &mut PgConnection,
    project: ProjectId,
    flag: Option<&str>,
    last: EnvironmentId,
) -> Result<Vec<FlagAge>, StoreError> {
    let flags = sqlx::query_as!(
        FlagAge,
        r#"select flags.id, flags.key, flags.name, flags.kind, flags.created_at, flags.owner_id,
                  owner.name as "owner_name?", flags.lifetime_days, flags.version,
                  flag_configs.shape as "shape?", kills.flag_id is not null as "is_killed!"
           from flags
           left join users owner on owner.id = flags.owner_id
           left join flag_configs on flag_configs.flag_id = flags.id and flag_configs.environment_id = $3
           left join kills on kills.flag_id = flags.id and kills.environment_id = $3
           where flags.project_id = $1 and flags.archived_at is null and ($2::text is null or flags.key = $2)
           order by flags.key"#,
        project.uuid(),
        flag,
        last.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(flags)
}

/// What flags of these environments answered and when; with `flag`, that one alone.
pub async fn list_answered(
    db: &mut PgConnection,
    environments: &[EnvironmentId],
    flag: Option<FlagId>,
) -> Result<Vec<Answered>, StoreError> {
    let ids: Vec<Uuid> = environments.iter().map(|id| id.uuid()).collect();
    let answered = sqlx::query_as!(
        Answered,
        r#"select flag_id, environment_id, variant, starts_with(place, 'error') as "is_error!",
                  min(first_at) as "first_at!",
                  max(last_at) filter (where mode = 'single') as evaluated_at,
                  max(last_at) filter (where mode = 'bulk') as sent_in_bulk_at
           from evaluation_series
           where environment_id = any ($1) and ($2::uuid is null or flag_id = $2)
           group by flag_id, environment_id, variant, starts_with(place, 'error')"#,
        &ids,
        flag.map(FlagId::uuid),
    )
    .fetch_all(db)
    .await?;
    Ok(answered)
}

/// The first minute in which anything was counted in these environments.
pub async fn counting_since(
    db: &mut PgConnection,
    environments: &[EnvironmentId],
) -> Result<Option<OffsetDateTime>, StoreError> {
    let ids: Vec<uuid::Uuid> = environments.iter().map(|id| id.uuid()).collect();
    let since = sqlx::query_scalar!("select min(first_at) from edge_series where environment_id = any ($1)", &ids)
        .fetch_one(db)
        .await?;
    Ok(since)
}

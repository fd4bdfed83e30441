//! Requests for flags that an environment does not have, and the flags that may be meant.

use shared::model::id::{EnvironmentId, ProjectId, SdkKeyId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::StoreError;
use crate::store::count::series::uuids;

/// The most series in one answer: a hundred SDK keys with as many different keys of flags as each may have.
const SERIES_MAX: i64 = 100_000;

/// An unknown flag that one SDK key asked for.
#[derive(Clone, Debug)]
pub struct UnknownSeries {
    /// The series.
    pub id: i64,
    /// Where.
    pub environment_id: EnvironmentId,
    /// Who asked.
    pub key_id: SdkKeyId,
    /// For what; empty for all others.
    pub flag_key: String,
    /// The first minute.
    pub first_at: OffsetDateTime,
    /// The last one.
    pub last_at: OffsetDateTime,
}

/// A flag of a project, archived ones included.
#[derive(Clone, Debug)]
pub struct FlagName {
    /// Its key.
    pub key: String,
    /// Whether it was archived.
    pub is_archived: bool,
    /// Environments where it has a config.
    pub environments: Vec<Uuid>,
}

/// Unknown flags that were asked for since a moment, and maybe before.
pub async fn list_unknown_series(
    db: &mut PgConnection,
    environments: &[EnvironmentId],
    since: OffsetDateTime,
) -> Result<Vec<UnknownSeries>, StoreError> {
    let series = sqlx::query_as!(
        UnknownSeries,
        "select id, environment_id, key_id, flag_key, first_at, last_at
         from unknown_series
         where environment_id = any ($1) and last_at >= $2
         order by flag_key, key_id
         limit $3",
        &uuids(environments),
        since,
        SERIES_MAX,
    )
    .fetch_all(db)
    .await?;
    Ok(series)
}

/// All flags of a project by key, archived ones included; at most `limit`.
pub async fn list_flags_to_compare(
    db: &mut PgConnection,
    project: ProjectId,
    limit: i64,
) -> Result<Vec<FlagName>, StoreError> {
    let names = sqlx::query_as!(
        FlagName,
        r#"select flags.key, flags.archived_at is not null as "is_archived!",
                  array(select environment_id from flag_configs where flag_configs.flag_id = flags.id) as "environments!"
           from flags
           where flags.project_id = $1
           order by flags.key
           limit $2"#,
        project.uuid(),
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(names)
}

//! Requests for flags that an environment does not have, and what is kept how finely.

use shared::model::id::{EnvironmentId, ProjectId, SdkKeyId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::StoreError;

/// An unknown flag that one SDK key asked for within a time.
#[derive(Clone, Debug)]
pub struct Unknown {
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
    /// Requests within the time.
    pub count: i64,
}

/// Unknown flags asked for within a time.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The most asked for.
    pub items: Vec<Unknown>,
    /// All requests.
    pub total: i64,
    /// How many there are.
    pub rows: i64,
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

/// A time as finely as it is kept: where only hours or days are, it begins and ends with a whole one.
pub async fn round(
    db: &mut PgConnection,
    from: OffsetDateTime,
    to: OffsetDateTime,
) -> Result<(OffsetDateTime, OffsetDateTime), StoreError> {
    let row = sqlx::query!(
        r#"select case when $1 < hours_from then date_trunc('day', $1::timestamptz, 'UTC')
                       when $1 < minutes_from then date_trunc('hour', $1::timestamptz, 'UTC')
                       else date_trunc('minute', $1::timestamptz, 'UTC') end as "from!",
                  case when $2 <= hours_from
                       then date_trunc('day', $2::timestamptz + interval '1 day' - interval '1 microsecond', 'UTC')
                       when $2 <= minutes_from
                       then date_trunc('hour', $2::timestamptz + interval '1 hour' - interval '1 microsecond', 'UTC')
                       else date_trunc('minute', $2::timestamptz + interval '1 minute' - interval '1 microsecond', 'UTC')
                       end as "to!"
           from count_horizons"#,
        from,
        to,
    )
    .fetch_one(db)
    .await?;
    Ok((row.from, row.to))
}

/// What was asked for within a time that [`round`] gave, the most first; at most `limit`.
pub async fn list(
    db: &mut PgConnection,
    environments: &[EnvironmentId],
    from: OffsetDateTime,
    to: OffsetDateTime,
    limit: i64,
) -> Result<Listed, StoreError> {
    let ids: Vec<Uuid> = environments.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!(
        r#"with days as (
               select day from generate_series(date_trunc('day', $2::timestamptz + interval '1 day' - interval '1 microsecond', 'UTC'),
                                               $3::timestamptz - interval '1 day', '1 day') as day
               where not exists (select 1 from due_rollups where grain = 'day' and period = day)),
           hours as (
               select hour from generate_series(date_trunc('hour', $2::timestamptz + interval '1 hour' - interval '1 microsecond', 'UTC'),
                                                $3::timestamptz - interval '1 hour', '1 hour') as hour
               where not exists (select 1 from due_rollups where grain = 'hour' and period = hour)
                 and date_trunc('day', hour, 'UTC') not in (select day from days)),
           asked as (
               select id, environment_id, key_id, flag_key, first_at, last_at
               from unknown_series
               where environment_id = any ($1) and last_at >= date_trunc('day', $2::timestamptz, 'UTC') and first_at < $3),
           counted as (
               select series, count from day_counts
               where series in (select id from asked) and day in (select day from days)
               union all
               select series, count from hour_counts
               where series in (select id from asked) and hour in (select hour from hours)
               union all
               select series, count from minute_counts
               where series in (select id from asked) and minute >= $2 and minute < $3
                 and date_trunc('hour', minute, 'UTC') not in (select hour from hours)
                 and date_trunc('day', minute, 'UTC') not in (select day from days)),
           sums as (select series, sum(count)::bigint as count from counted group by series)
           select asked.environment_id, asked.key_id, asked.flag_key, asked.first_at, asked.last_at,
                  sums.count as "count!", (sum(sums.count) over ())::bigint as "total!", count(*) over () as "rows!"
           from sums
           join asked on asked.id = sums.series
           order by sums.count desc, asked.flag_key, asked.key_id
           limit $4"#,
        &ids,
        from,
        to,
        limit,
    )
    .fetch_all(db)
    .await?;
    let (total, count) = rows.first().map_or((0, 0), |row| (row.total, row.rows));
    let items = rows.into_iter().map(|row| Unknown {
        environment_id: row.environment_id.into(),
        key_id: row.key_id.into(),
        flag_key: row.flag_key,
        first_at: row.first_at,
        last_at: row.last_at,
        count: row.count,
    });
    Ok(Listed { items: items.collect(), total, rows: count })
}

/// All flags of a project by key, archived ones included; at most `limit`.
pub async fn list_flag_names(
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

//! What was counted on edges and did not arrive.

use shared::model::id::ProcessId;
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::store::StoreError;

/// A gap in the counts.
#[derive(Clone, Debug)]
pub struct Loss {
    /// Who counted.
    pub process: ProcessId,
    /// `killed`, `silent` or `let_go`.
    pub cause: String,
    /// The edge's name.
    pub edge_name: String,
    /// The time in which it was counted.
    pub from_at: OffsetDateTime,
    /// Its end.
    pub to_at: OffsetDateTime,
    /// Evaluations, at most.
    pub lost_max: i64,
    /// False while some of it may still arrive.
    pub is_final: bool,
}

/// Gaps that overlap a time.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The newest.
    pub items: Vec<Loss>,
    /// Of all of them.
    pub lost_max: i64,
    /// How many there are.
    pub rows: i64,
}

/// Gaps that overlap `[from, to)`, the newest first; at most `limit`.
pub async fn list(
    db: &mut PgConnection,
    from: OffsetDateTime,
    to: OffsetDateTime,
    limit: i64,
) -> Result<Listed, StoreError> {
    let rows = sqlx::query!(
        r#"select process, cause, edge_name, from_at, to_at, lost_max, is_final,
                  (sum(lost_max) over ())::bigint as "total!", count(*) over () as "rows!"
           from count_losses
           where to_at >= $1 and from_at < $2 and lost_max > 0
           order by to_at desc, process, cause
           limit $3"#,
        from,
        to,
        limit,
    )
    .fetch_all(db)
    .await?;
    let (lost_max, count) = rows.first().map_or((0, 0), |row| (row.total, row.rows));
    let items = rows.into_iter().map(|row| Loss {
        process: row.process.into(),
        cause: row.cause,
        edge_name: row.edge_name,
        from_at: row.from_at,
        to_at: row.to_at,
        lost_max: row.lost_max,
        is_final: row.is_final,
    });
    Ok(Listed { items: items.collect(), lost_max, rows: count })
}

/// Evaluations of the whole installation within a time that `store::unknown::round` gave.
pub async fn sum_evaluations(
    db: &mut PgConnection,
    from: OffsetDateTime,
    to: OffsetDateTime,
) -> Result<i64, StoreError> {
    let sum = sqlx::query_scalar!(
        r#"with days as (
               select day from generate_series(date_trunc('day', $1::timestamptz + interval '1 day' - interval '1 microsecond', 'UTC'),
                                               $2::timestamptz - interval '1 day', '1 day') as day
               where not exists (select 1 from due_rollups where grain = 'day' and period = day)),
           hours as (
               select hour from generate_series(date_trunc('hour', $1::timestamptz + interval '1 hour' - interval '1 microsecond', 'UTC'),
                                                $2::timestamptz - interval '1 hour', '1 hour') as hour
               where not exists (select 1 from due_rollups where grain = 'hour' and period = hour)
                 and date_trunc('day', hour, 'UTC') not in (select day from days)),
           counted as (
               select id as series from edge_series
               where last_at >= date_trunc('day', $1::timestamptz, 'UTC') and first_at < $2)
           select coalesce(sum(count), 0)::bigint as "sum!"
           from (select count from day_counts
                 where series in (select series from counted) and day in (select day from days)
                 union all
                 select count from hour_counts
                 where series in (select series from counted) and hour in (select hour from hours)
                 union all
                 select count from minute_counts
                 where series in (select series from counted) and minute >= $1 and minute < $2
                   and date_trunc('hour', minute, 'UTC') not in (select hour from hours)
                   and date_trunc('day', minute, 'UTC') not in (select day from days)) pieces"#,
        from,
        to,
    )
    .fetch_one(db)
    .await?;
    Ok(sum)
}

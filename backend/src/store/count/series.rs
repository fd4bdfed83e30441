//! Sums by bucket and label, of each table of series. The tables of counts are alike, so they stand in each query as one;
//! with the grain known, only one is planned.

use shared::model::id::{EnvironmentId, SdkKeyId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::StoreError;
use crate::store::count::Piece;

/// A sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketSum {
    /// Counts from 1: how many of the edges lie at or before it.
    pub bucket: i32,
    /// What lines are told apart by, as text.
    pub label: String,
    /// How many.
    pub count: i64,
}

/// Which evaluations are added up.
#[derive(Clone, Copy, Debug, Default)]
pub struct EvaluationFilter<'a> {
    /// Those of these flags; none means all.
    pub flags: &'a [Uuid],
    /// Those of this place.
    pub place: Option<&'a str>,
    /// Those with this variant; empty for none.
    pub variant: Option<&'a str>,
    /// Those with this reason.
    pub reason: Option<&'a str>,
    /// Those of this mode.
    pub mode: Option<&'a str>,
}

/// Sums of evaluations by `variant`, `place`, `rule`, `reason`, `mode`, `environment`, `flag`, `answer` (place, reason and
/// variant, with a tab between) or `none`.
pub async fn list_evaluations(
    db: &mut PgConnection,
    environments: &[EnvironmentId],
    filter: EvaluationFilter<'_>,
    by: &str,
    edges: &[OffsetDateTime],
    piece: Piece,
) -> Result<Vec<BucketSum>, StoreError> {
    let sums = sqlx::query_as!(
        BucketSum,
        r#"with chosen as (
               select id, case $2::text
                              when 'variant' then variant
                              when 'place' then place
                              when 'rule' then place
                              when 'reason' then reason
                              when 'mode' then mode
                              when 'environment' then environment_id::text
                              when 'flag' then flag_id::text
                              when 'answer' then place || e'\t' || reason || e'\t' || variant
                              else '' end as label
               from evaluation_series
               where environment_id = any ($3)
                 and (cardinality($4::uuid[]) = 0 or flag_id = any ($4))
                 and ($5::text is null or place = $5)
                 and ($6::text is null or variant = $6)
                 and ($7::text is null or reason = $7)
                 and ($8::text is null or mode = $8)
                 and ($2 <> 'rule' or place like 'rule %')
           )
           select width_bucket(counts.at, $1::timestamptz[]) as "bucket!", chosen.label as "label!",
                  sum(counts.count)::bigint as "count!"
           from chosen
           join (select series, minute as at, count from minute_counts
                 where $9 = 'minute' and minute >= $10 and minute < $11
                 union all
                 select series, hour, count from hour_counts where $9 = 'hour' and hour >= $10 and hour < $11
                 union all
                 select series, day, count from day_counts where $9 = 'day' and day >= $10 and day < $11
           ) counts on counts.series = chosen.id
           group by 1, 2"#,
        edges,
        by,
        &uuids(environments),
        filter.flags,
        filter.place,
        filter.variant,
        filter.reason,
        filter.mode,
        piece.grain,
        piece.from,
        piece.to,
    )
    .fetch_all(db)
    .await?;
    Ok(sums)
}

/// Sums of evaluations of all flags by `reason`, `mode`, `environment`, `edge`, `outcome` (environment and reason, with a
/// tab between) or `none`.
pub async fn list_totals(
    db: &mut PgConnection,
    environments: &[EnvironmentId],
    reason: Option<&str>,
    mode: Option<&str>,
    by: &str,
    edges: &[OffsetDateTime],
    piece: Piece,
) -> Result<Vec<BucketSum>, StoreError> {
    let sums = sqlx::query_as!(
        BucketSum,
        r#"with chosen as (
               select id, case $2::text
                              when 'reason' then reason
                              when 'mode' then mode
                              when 'environment' then environment_id::text
                              when 'edge' then process::text
                              when 'outcome' then environment_id::text || e'\t' || reason
                              else '' end as label
               from edge_series
               where environment_id = any ($3)
                 and ($4::text is null or reason = $4)
                 and ($5::text is null or mode = $5)
           )
           select width_bucket(counts.at, $1::timestamptz[]) as "bucket!", chosen.label as "label!",
                  sum(counts.count)::bigint as "count!"
           from chosen
           join (select series, minute as at, count from minute_counts
                 where $6 = 'minute' and minute >= $7 and minute < $8
                 union all
                 select series, hour, count from hour_counts where $6 = 'hour' and hour >= $7 and hour < $8
                 union all
                 select series, day, count from day_counts where $6 = 'day' and day >= $7 and day < $8
           ) counts on counts.series = chosen.id
           group by 1, 2"#,
        edges,
        by,
        &uuids(environments),
        reason,
        mode,
        piece.grain,
        piece.from,
        piece.to,
    )
    .fetch_all(db)
    .await?;
    Ok(sums)
}

/// Sums of requests by `environment`, `sdk_key` or `none`.
pub async fn list_requests(
    db: &mut PgConnection,
    environments: &[EnvironmentId],
    key: Option<SdkKeyId>,
    by: &str,
    edges: &[OffsetDateTime],
    piece: Piece,
) -> Result<Vec<BucketSum>, StoreError> {
    let sums = sqlx::query_as!(
        BucketSum,
        r#"with chosen as (
               select id, case $2::text
                              when 'environment' then environment_id::text
                              when 'sdk_key' then key_id::text
                              else '' end as label
               from request_series
               where environment_id = any ($3) and ($4::uuid is null or key_id = $4)
           )
           select width_bucket(counts.at, $1::timestamptz[]) as "bucket!", chosen.label as "label!",
                  sum(counts.count)::bigint as "count!"
           from chosen
           join (select series, minute as at, count from minute_counts
                 where $5 = 'minute' and minute >= $6 and minute < $7
                 union all
                 select series, hour, count from hour_counts where $5 = 'hour' and hour >= $6 and hour < $7
                 union all
                 select series, day, count from day_counts where $5 = 'day' and day >= $6 and day < $7
           ) counts on counts.series = chosen.id
           group by 1, 2"#,
        edges,
        by,
        &uuids(environments),
        key.map(SdkKeyId::uuid),
        piece.grain,
        piece.from,
        piece.to,
    )
    .fetch_all(db)
    .await?;
    Ok(sums)
}

/// Sums of evaluations of flags that nobody knows, by environment.
pub async fn list_unknown(
    db: &mut PgConnection,
    environments: &[EnvironmentId],
    edges: &[OffsetDateTime],
    piece: Piece,
) -> Result<Vec<BucketSum>, StoreError> {
    let sums = sqlx::query_as!(
        BucketSum,
        r#"with chosen as (
               select id, environment_id::text as label from unknown_series where environment_id = any ($2)
           )
           select width_bucket(counts.at, $1::timestamptz[]) as "bucket!", chosen.label as "label!",
                  sum(counts.count)::bigint as "count!"
           from chosen
           join (select series, minute as at, count from minute_counts
                 where $3 = 'minute' and minute >= $4 and minute < $5
                 union all
                 select series, hour, count from hour_counts where $3 = 'hour' and hour >= $4 and hour < $5
                 union all
                 select series, day, count from day_counts where $3 = 'day' and day >= $4 and day < $5
           ) counts on counts.series = chosen.id
           group by 1, 2"#,
        edges,
        &uuids(environments),
        piece.grain,
        piece.from,
        piece.to,
    )
    .fetch_all(db)
    .await?;
    Ok(sums)
}

pub(super) fn uuids(environments: &[EnvironmentId]) -> Vec<Uuid> {
    environments.iter().map(|id| id.uuid()).collect()
}

//! Which series are meant, and their sums.
//!
//! Series are looked up first and added up by their ids: rows of one time lie together, so that a set of ids is read in one
//! go through the pages of that time, where a join would go through them once for each series.

use shared::model::id::{EnvironmentId, SdkKeyId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::StoreError;
use crate::store::count::Spans;

/// Series whose counts are read one by one, by the index, in any case.
const FEW: usize = 200;

/// Series with what they are told apart by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labelled {
    /// The label, as text.
    pub label: String,
    /// Their ids.
    pub ids: Vec<i64>,
}

/// A sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketSum {
    /// Counts from 1: how many of the edges lie at or before it.
    pub bucket: i32,
    /// The number of the label.
    pub label: i32,
    /// How many.
    pub count: i64,
}

/// Which evaluations are meant.
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

/// Sums of all that the spans hold, by bucket and label: `labels` has one number for each of `ids`.
pub async fn add_up(
    db: &mut PgConnection,
    ids: &[i64],
    labels: &[i32],
    edges: &[OffsetDateTime],
    spans: &Spans,
) -> Result<Vec<BucketSum>, StoreError> {
    let (Some(first), Some(last)) = (ids.iter().min().copied(), ids.iter().max().copied()) else {
        return Ok(Vec::new());
    };
    // Of few, each is found by the index. Of many that are most between the first and the last, it costs less to let the join
    // drop the others than to look every row up in the list before.
    let is_most = ids.len() > FEW && ids.len() as u64 > last.abs_diff(first) / 2;
    // Times are known when the query is planned, so only what holds something is read. With one row for each series, known
    // to be one, the labels are what is hashed, not the counts.
    let Spans { minutes, hours, days } = spans;
    let sums = sqlx::query_as!(
        BucketSum,
        r#"select width_bucket(counts.at, $3::timestamptz[]) as "bucket!", labels.label as "label!",
                  sum(counts.count)::bigint as "count!"
           from (select series, minute as at, count from minute_counts
                 where $4::timestamptz < $5 and minute >= $4 and minute < $5
                   and case when $16 then series between $14 and $15 else series = any ($1) end
                 union all
                 select series, minute, count from minute_counts
                 where $6::timestamptz < $7 and minute >= $6 and minute < $7
                   and case when $16 then series between $14 and $15 else series = any ($1) end
                 union all
                 select series, hour, count from hour_counts
                 where $8::timestamptz < $9 and hour >= $8 and hour < $9
                   and case when $16 then series between $14 and $15 else series = any ($1) end
                 union all
                 select series, hour, count from hour_counts
                 where $10::timestamptz < $11 and hour >= $10 and hour < $11
                   and case when $16 then series between $14 and $15 else series = any ($1) end
                 union all
                 select series, day, count from day_counts
                 where $12::timestamptz < $13 and day >= $12 and day < $13
                   and case when $16 then series between $14 and $15 else series = any ($1) end) counts
           join (select series, min(label) as label from unnest($1::bigint[], $2::int[]) as labels (series, label)
                 group by series) labels on labels.series = counts.series
           group by 1, 2"#,
        ids,
        labels,
        edges,
        minutes[0].from,
        minutes[0].to,
        minutes[1].from,
        minutes[1].to,
        hours[0].from,
        hours[0].to,
        hours[1].from,
        hours[1].to,
        days.from,
        days.to,
        first,
        last,
        is_most,
    )
    .fetch_all(db)
    .await?;
    Ok(sums)
}

/// Series of evaluations by `variant`, `place`, `rule`, `reason`, `mode`, `environment`, `flag`, `answer` (place, reason
/// and variant, with a tab between), `use` (flag, mode and whether it is an error, likewise) or `none`.
pub async fn list_evaluations(
    db: &mut PgConnection,
    environments: &[EnvironmentId],
    filter: EvaluationFilter<'_>,
    by: &str,
) -> Result<Vec<Labelled>, StoreError> {
    let series = sqlx::query_as!(
        Labelled,
        r#"select case $1::text
                      when 'variant' then variant
                      when 'place' then place
                      when 'rule' then place
                      when 'reason' then reason
                      when 'mode' then mode
                      when 'environment' then environment_id::text
                      when 'flag' then flag_id::text
                      when 'answer' then place || e'\t' || reason || e'\t' || variant
                      when 'use' then flag_id::text || e'\t' || mode
                                      || case when place like 'error %' then e'\terror' else '' end
                      else '' end as "label!",
                  array_agg(id) as "ids!"
           from evaluation_series
           where environment_id = any ($2)
             and (cardinality($3::uuid[]) = 0 or flag_id = any ($3))
             and ($4::text is null or place = $4)
             and ($5::text is null or variant = $5)
             and ($6::text is null or reason = $6)
             and ($7::text is null or mode = $7)
             and ($1 <> 'rule' or place like 'rule %')
           group by 1"#,
        by,
        &uuids(environments),
        filter.flags,
        filter.place,
        filter.variant,
        filter.reason,
        filter.mode,
    )
    .fetch_all(db)
    .await?;
    Ok(series)
}

/// Series of all evaluations of an environment by `reason`, `mode`, `environment`, `edge`, `outcome` (environment and
/// reason, with a tab between) or `none`.
pub async fn list_totals(
    db: &mut PgConnection,
    environments: &[EnvironmentId],
    reason: Option<&str>,
    mode: Option<&str>,
    by: &str,
) -> Result<Vec<Labelled>, StoreError> {
    let series = sqlx::query_as!(
        Labelled,
        r#"select case $1::text
                      when 'reason' then reason
                      when 'mode' then mode
                      when 'environment' then environment_id::text
                      when 'edge' then process::text
                      when 'outcome' then environment_id::text || e'\t' || reason
                      else '' end as "label!",
                  array_agg(id) as "ids!"
           from edge_series
           where environment_id = any ($2)
             and ($3::text is null or reason = $3)
             and ($4::text is null or mode = $4)
           group by 1"#,
        by,
        &uuids(environments),
        reason,
        mode,
    )
    .fetch_all(db)
    .await?;
    Ok(series)
}

/// Series of all evaluations of the installation that were counted since a moment, without a label.
pub async fn list_all_totals(db: &mut PgConnection, since: OffsetDateTime) -> Result<Labelled, StoreError> {
    let ids = sqlx::query_scalar!("select id from edge_series where last_at >= $1", since).fetch_all(db).await?;
    Ok(Labelled { label: String::new(), ids })
}

/// Series of requests by `environment`, `sdk_key` or `none`.
pub async fn list_requests(
    db: &mut PgConnection,
    environments: &[EnvironmentId],
    key: Option<SdkKeyId>,
    by: &str,
) -> Result<Vec<Labelled>, StoreError> {
    let series = sqlx::query_as!(
        Labelled,
        r#"select case $1::text
                      when 'environment' then environment_id::text
                      when 'sdk_key' then key_id::text
                      else '' end as "label!",
                  array_agg(id) as "ids!"
           from request_series
           where environment_id = any ($2) and ($3::uuid is null or key_id = $3)
           group by 1"#,
        by,
        &uuids(environments),
        key.map(SdkKeyId::uuid),
    )
    .fetch_all(db)
    .await?;
    Ok(series)
}

/// Series of evaluations of flags that nobody knows, by environment.
pub async fn list_unknown(db: &mut PgConnection, environments: &[EnvironmentId]) -> Result<Vec<Labelled>, StoreError> {
    let series = sqlx::query_as!(
        Labelled,
        r#"select environment_id::text as "label!", array_agg(id) as "ids!"
           from unknown_series
           where environment_id = any ($1)
           group by 1"#,
        &uuids(environments),
    )
    .fetch_all(db)
    .await?;
    Ok(series)
}

pub(super) fn uuids(environments: &[EnvironmentId]) -> Vec<Uuid> {
    environments.iter().map(|id| id.uuid()).collect()
}

//! Sums flag by flag.

use shared::model::id::EnvironmentId;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::StoreError;
use crate::store::count::Piece;
use crate::store::count::series::uuids;

/// How often a flag was evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlagSum {
    /// Which.
    pub flag_id: Uuid,
    /// All evaluations.
    pub total: i64,
    /// Alone.
    pub single: i64,
    /// With an error.
    pub errors: i64,
}

/// One kind of error of one flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlagError {
    /// Which flag.
    pub flag_id: Uuid,
    /// `error <code>`.
    pub place: String,
    /// How often.
    pub count: i64,
    /// The first minute in which it was ever counted.
    pub first_at: OffsetDateTime,
    /// The last.
    pub last_at: OffsetDateTime,
}

/// Evaluations of a flag with one variant within a minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlagMinute {
    /// Where.
    pub environment_id: Uuid,
    /// Which flag.
    pub flag_id: Uuid,
    /// When.
    pub minute: OffsetDateTime,
    /// Empty when there was none.
    pub variant: String,
    /// So far.
    pub count: i64,
}

/// Sums of all flags that were evaluated.
pub async fn list_flags(
    db: &mut PgConnection,
    environments: &[EnvironmentId],
    piece: Piece,
) -> Result<Vec<FlagSum>, StoreError> {
    // By series first, which are told apart by a number.
    let sums = sqlx::query_as!(
        FlagSum,
        r#"select flag_id as "flag_id!", sum(count)::bigint as "total!",
                  coalesce(sum(count) filter (where mode = 'single'), 0)::bigint as "single!",
                  coalesce(sum(count) filter (where place like 'error %'), 0)::bigint as "errors!"
           from (select flag_id, mode, place, sum(counts.count) as count
                 from evaluation_series
                 join (select series, count from minute_counts where $2 = 'minute' and minute >= $3 and minute < $4
                       union all
                       select series, count from hour_counts where $2 = 'hour' and hour >= $3 and hour < $4
                       union all
                       select series, count from day_counts where $2 = 'day' and day >= $3 and day < $4
                 ) counts on counts.series = evaluation_series.id
                 where environment_id = any ($1)
                 group by evaluation_series.id) by_series
           group by flag_id"#,
        &uuids(environments),
        piece.grain,
        piece.from,
        piece.to,
    )
    .fetch_all(db)
    .await?;
    Ok(sums)
}

/// Errors by flag and code.
pub async fn list_errors(
    db: &mut PgConnection,
    environments: &[EnvironmentId],
    piece: Piece,
) -> Result<Vec<FlagError>, StoreError> {
    let errors = sqlx::query_as!(
        FlagError,
        r#"select flag_id, place, sum(counts.count)::bigint as "count!", min(first_at) as "first_at!",
                  max(last_at) as "last_at!"
           from evaluation_series
           join (select series, count from minute_counts where $2 = 'minute' and minute >= $3 and minute < $4
                 union all
                 select series, count from hour_counts where $2 = 'hour' and hour >= $3 and hour < $4
                 union all
                 select series, count from day_counts where $2 = 'day' and day >= $3 and day < $4
           ) counts on counts.series = evaluation_series.id
           where environment_id = any ($1) and place like 'error %'
           group by flag_id, place"#,
        &uuids(environments),
        piece.grain,
        piece.from,
        piece.to,
    )
    .fetch_all(db)
    .await?;
    Ok(errors)
}

/// When each of these flags was last evaluated alone.
pub async fn last_evaluated(
    db: &mut PgConnection,
    environments: &[EnvironmentId],
    flags: &[Uuid],
) -> Result<Vec<(Uuid, OffsetDateTime)>, StoreError> {
    let rows = sqlx::query!(
        r#"select flag_id, max(last_at) as "last_at!"
           from evaluation_series
           where environment_id = any ($1) and flag_id = any ($2) and mode = 'single'
           group by flag_id"#,
        &uuids(environments),
        flags,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (row.flag_id, row.last_at)).collect())
}

/// Evaluations since a minute, of all these flags (environment and flag) together.
pub async fn list_minutes(
    db: &mut PgConnection,
    flags: &[(Uuid, Uuid)],
    from: OffsetDateTime,
) -> Result<Vec<FlagMinute>, StoreError> {
    let (environments, flags): (Vec<Uuid>, Vec<Uuid>) = flags.iter().copied().unzip();
    let minutes = sqlx::query_as!(
        FlagMinute,
        r#"select evaluation_series.environment_id, evaluation_series.flag_id, minute, variant,
                  sum(count)::bigint as "count!"
           from unnest($1::uuid[], $2::uuid[]) as watched (environment_id, flag_id)
           join evaluation_series on evaluation_series.environment_id = watched.environment_id
                and evaluation_series.flag_id = watched.flag_id
           join minute_counts on minute_counts.series = evaluation_series.id and minute >= $3
           group by evaluation_series.environment_id, evaluation_series.flag_id, minute, variant
           order by minute, variant"#,
        &environments,
        &flags,
        from,
    )
    .fetch_all(db)
    .await?;
    Ok(minutes)
}

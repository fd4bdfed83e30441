//! What is known flag by flag.

use shared::model::id::EnvironmentId;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::StoreError;
use crate::store::count::series::uuids;

/// A series of errors of one kind of one flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorSeries {
    /// Its id.
    pub id: i64,
    /// Which flag.
    pub flag_id: Uuid,
    /// `error <code>`.
    pub place: String,
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

/// Series of errors.
pub async fn list_errors(
    db: &mut PgConnection,
    environments: &[EnvironmentId],
) -> Result<Vec<ErrorSeries>, StoreError> {
    let series = sqlx::query_as!(
        ErrorSeries,
        "select id, flag_id, place, first_at, last_at
         from evaluation_series
         where environment_id = any ($1) and place like 'error %'",
        &uuids(environments),
    )
    .fetch_all(db)
    .await?;
    Ok(series)
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

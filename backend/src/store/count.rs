//! Counts, as charts read them. They are written by the leader's own connection, in `leader::ingest`.

use shared::model::id::{EnvironmentId, FlagId};
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::store::StoreError;

/// Evaluations of one variant in one minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MinuteCount {
    /// The minute.
    pub minute: OffsetDateTime,
    /// The variant; empty when there was none.
    pub variant: String,
    /// How many.
    pub count: i64,
}

/// Evaluations of a flag by minute and variant within `[from, to)`.
pub async fn list_by_variant(
    db: &mut PgConnection,
    environment: EnvironmentId,
    flag: FlagId,
    from: OffsetDateTime,
    to: OffsetDateTime,
) -> Result<Vec<MinuteCount>, StoreError> {
    let counts = sqlx::query_as!(
        MinuteCount,
        r#"select minute, variant, sum(count)::bigint as "count!"
           from evaluation_counts
           where environment_id = $1 and flag_id = $2 and minute >= $3 and minute < $4
           group by minute, variant
           order by minute, variant"#,
        environment.uuid(),
        flag.uuid(),
        from,
        to,
    )
    .fetch_all(db)
    .await?;
    Ok(counts)
}

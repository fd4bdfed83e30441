//! What was counted on edges and did not arrive.

use shared::model::id::ProcessId;
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::store::StoreError;

/// The most gaps beside other counts.
const GAPS_MAX: i64 = 100;

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
pub struct Losses {
    /// The newest.
    pub items: Vec<Loss>,
    /// Of all of them.
    pub lost_max: i64,
    /// How many there are.
    pub rows: i64,
}

/// Gaps that overlap `[from, to)`, the newest first; at most `limit`.
pub async fn list_losses(
    db: &mut PgConnection,
    from: OffsetDateTime,
    to: OffsetDateTime,
    limit: i64,
) -> Result<Losses, StoreError> {
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
    Ok(Losses { items: items.collect(), lost_max, rows: count })
}

/// Gaps that overlap `[from, to)`, the oldest first; at most 100.
pub async fn list_gaps(
    db: &mut PgConnection,
    from: OffsetDateTime,
    to: OffsetDateTime,
) -> Result<Vec<Loss>, StoreError> {
    let losses = sqlx::query_as!(
        Loss,
        "select process, cause, edge_name, from_at, to_at, lost_max, is_final
         from count_losses
         where to_at > $1 and from_at < $2
         order by from_at, process, cause
         limit $3",
        from,
        to,
        GAPS_MAX,
    )
    .fetch_all(db)
    .await?;
    Ok(losses)
}

//! Counts, as dashboards read them. They are written by the leader's own connection, in `leader::ingest`.

mod flag;
mod loss;
mod name;
mod series;
mod unknown;

pub use flag::{ErrorSeries, FlagMinute, last_evaluated, list_errors, list_minutes};
pub use loss::{Loss, Losses, list_gaps, list_losses};
pub use name::{Named, list_edge_names, list_flag_names, list_key_names};
pub use series::{
    BucketSum, EvaluationFilter, Labelled, add_up, list_all_totals, list_evaluations, list_requests, list_totals,
    list_unknown,
};
use sqlx::{PgConnection, PgPool, Postgres, Transaction};
use time::OffsetDateTime;
pub use unknown::{FlagName, UnknownSeries, list_flags_to_compare, list_unknown_series};

use crate::store::{StoreError, begin_bounded};

/// The time `[from, to)`, empty when both are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First row.
    pub from: OffsetDateTime,
    /// One past the last.
    pub to: OffsetDateTime,
}

/// What is added up by one query: nearly every time is made of minutes and hours at both ends, and days between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spans {
    /// Of `minute_counts`.
    pub minutes: [Span; 2],
    /// Of `hour_counts`.
    pub hours: [Span; 2],
    /// Of `day_counts`.
    pub days: Span,
}

impl Spans {
    /// Nothing.
    pub const NONE: Self = Self { minutes: [Span::NONE; 2], hours: [Span::NONE; 2], days: Span::NONE };
}

impl Span {
    /// No time.
    pub const NONE: Self = Self { from: OffsetDateTime::UNIX_EPOCH, to: OffsetDateTime::UNIX_EPOCH };

    /// Whether it holds no time.
    pub fn is_empty(self) -> bool {
        self.from >= self.to
    }
}

/// What is kept how finely.
#[derive(Clone, Copy, Debug)]
pub struct Horizons {
    /// Minutes from here on.
    pub minutes_from: OffsetDateTime,
    /// Hours from here on.
    pub hours_from: OffsetDateTime,
}

/// An hour or day that is not rolled up yet.
#[derive(Clone, Debug)]
pub struct DueRollup {
    /// `hour` or `day`.
    pub grain: String,
    /// When it began.
    pub period: OffsetDateTime,
}

/// Begins a bounded read in which roll-ups and what they were made of agree. Plans are made for the values at hand. Sums are
/// made by hashing: the planner takes series for fewer than they are, and would rather sort. It takes sums for many more than
/// they are, so that two processes would seldom share long reads: handing a sum over is said to cost less. Pages of the last
/// days are in memory, wherever they lie.
///
/// The moment is that of the first read after this, and the lock comes before it: a partition that is dropped together with
/// its time is gone for older moments, too, so one that is dropped right now is waited for, and later ones wait for us.
pub async fn begin(pool: &PgPool) -> Result<Transaction<'static, Postgres>, StoreError> {
    let mut tx = begin_bounded(pool).await?;
    let settings = "set local enable_sort = off; set local random_page_cost = 1.1; set local parallel_tuple_cost = 0.01; \
                    set local plan_cache_mode = force_custom_plan; lock table minute_counts in access share mode";
    sqlx::raw_sql(settings).execute(&mut *tx).await?;
    Ok(tx)
}

/// What is kept how finely.
pub async fn horizons(db: &mut PgConnection) -> Result<Horizons, StoreError> {
    let horizons =
        sqlx::query_as!(Horizons, "select minutes_from, hours_from from count_horizons").fetch_one(db).await?;
    Ok(horizons)
}

/// Hours and days that begin within `[from, to)` and are not rolled up yet.
pub async fn list_due(
    db: &mut PgConnection,
    from: OffsetDateTime,
    to: OffsetDateTime,
) -> Result<Vec<DueRollup>, StoreError> {
    let due = sqlx::query_as!(
        DueRollup,
        "select grain, period from due_rollups where period >= $1 and period < $2",
        from,
        to,
    )
    .fetch_all(db)
    .await?;
    Ok(due)
}

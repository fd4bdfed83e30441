//! Minutes into hours, hours into days. A roll-up computes its period anew from the finer grain, so doing it twice
//! changes nothing; it takes the mark of the period away first, and so waits for whoever is adding to it.

use time::{Duration, OffsetDateTime};
use tokio_postgres::Client;

use crate::state::AppState;

/// The most periods of a grain in one pass; the next pass goes on.
const PERIODS_MAX: i64 = 200;

const DUE_HOURS: &str = "
select period from due_rollups where grain = 'hour' and period <= $1 order by period limit $2";
/// Days none of whose hours is due.
const DUE_DAYS: &str = "
select period
from due_rollups as days
where grain = 'day' and period <= $1
    and not exists (
        select from due_rollups as hours
        where hours.grain = 'hour' and hours.period >= days.period and hours.period < days.period + interval '1 day'
    )
order by period
limit $2";
const UNMARK: &str = "delete from due_rollups where grain = $1 and period = $2";
const HAS_DUE_HOUR: &str = "
select exists (select from due_rollups where grain = 'hour' and period >= $1 and period < $1 + interval '1 day')";
const ROLL_HOUR: &str = "
insert into hour_counts (series, hour, count)
select series, $1, sum(count)::bigint
from minute_counts
where minute >= $1 and minute < $2
group by series
order by series
on conflict (series, hour) do update set count = excluded.count where hour_counts.count <> excluded.count";
const ROLL_DAY: &str = "
insert into day_counts (series, day, count)
select series, $1, sum(count)::bigint
from hour_counts
where hour >= $1 and hour < $2
group by series
order by series
on conflict (series, day) do update set count = excluded.count where day_counts.count <> excluded.count";

/// A grain that is made of a finer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grain {
    /// Of minutes.
    Hour,
    /// Of hours.
    Day,
}

impl Grain {
    fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
        }
    }

    fn length(self) -> Duration {
        match self {
            Self::Hour => Duration::HOUR,
            Self::Day => Duration::DAY,
        }
    }
}

/// One pass: hours that have ended, then days. Answers how many periods were rolled up.
pub async fn pass(client: &mut Client, now: OffsetDateTime) -> Result<u64, tokio_postgres::Error> {
    let mut done = 0;
    for grain in [Grain::Hour, Grain::Day] {
        for period in due(client, grain, now - grain.length()).await? {
            roll_up(client, grain, period).await?;
            done += 1;
        }
    }
    Ok(done)
}

/// The same, and tells how many periods wait, those that go on included.
pub(super) async fn pass_and_tell(state: &AppState, client: &mut Client) -> Result<(), tokio_postgres::Error> {
    let done = pass(client, state.clock.now()).await?;
    let waiting: i64 = client.query_one("select count(*) from due_rollups", &[]).await?.get(0);
    state.metrics.rollups_due.set(waiting);
    if done > 0 {
        tracing::debug!(periods = done, "counts are rolled up");
    }
    Ok(())
}

/// Periods of a grain that begin at this time at the latest and wait to be rolled up; the oldest, at most so many.
pub(super) async fn due(
    client: &Client,
    grain: Grain,
    until: OffsetDateTime,
) -> Result<Vec<OffsetDateTime>, tokio_postgres::Error> {
    let statement = match grain {
        Grain::Hour => DUE_HOURS,
        Grain::Day => DUE_DAYS,
    };
    let rows = client.query(statement, &[&until, &PERIODS_MAX]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Rolls one period up.
async fn roll_up(client: &mut Client, grain: Grain, period: OffsetDateTime) -> Result<(), tokio_postgres::Error> {
    let tx = client.transaction().await?;
    // Shared, so that the finer grain stays while it is read.
    let horizons = tx.query_one("select minutes_from, hours_from from count_horizons for share", &[]).await?;
    let kept_from: OffsetDateTime = horizons.get(if grain == Grain::Hour { 0 } else { 1 });
    if grain == Grain::Day {
        // Whoever added to an hour of this day since it was listed marked both. Looked at before the hours are read: one
        // that somebody else is rolling up meanwhile is still marked here, or is read as it came out.
        tx.execute(UNMARK, &[&grain.name(), &period]).await?;
        if tx.query_one(HAS_DUE_HOUR, &[&period]).await?.get(0) {
            return tx.rollback().await;
        }
    }
    roll_up_in(&tx, grain, period, kept_from).await?;
    tx.commit().await
}

/// Rolls one period up within a transaction that holds the horizons.
pub(super) async fn roll_up_in(
    tx: &tokio_postgres::Transaction<'_>,
    grain: Grain,
    period: OffsetDateTime,
    kept_from: OffsetDateTime,
) -> Result<(), tokio_postgres::Error> {
    tx.execute(UNMARK, &[&grain.name(), &period]).await?;
    if period < kept_from {
        // What is that old is added to the period itself; there is nothing finer to compute it from.
        tracing::warn!(grain = grain.name(), %period, "a period was due that is kept in no finer grain");
        return Ok(());
    }
    let end = period + grain.length();
    let statement = match grain {
        Grain::Hour => ROLL_HOUR,
        Grain::Day => ROLL_DAY,
    };
    tx.execute(statement, &[&period, &end]).await?;
    Ok(())
}

//! Counts as the leader writes them, without a leader.

use sqlx::PgPool;
use time::OffsetDateTime;
use uuid::Uuid;

/// A kind of evaluation; change what the test is about.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    pub(crate) environment: Uuid,
    pub(crate) flag: Uuid,
    pub(crate) place: String,
    /// Empty for none.
    pub(crate) variant: String,
    pub(crate) reason: String,
    pub(crate) mode: String,
    pub(crate) process: Uuid,
}

impl Counted {
    /// `on` from the default, for everybody, alone.
    pub(crate) fn of(environment: Uuid, flag: Uuid) -> Self {
        Self {
            environment,
            flag,
            place: "default".into(),
            variant: "on".into(),
            reason: "STATIC".into(),
            mode: "single".into(),
            process: Uuid::nil(),
        }
    }

    pub(crate) fn variant(&self, variant: &str) -> Self {
        Self { variant: variant.into(), ..self.clone() }
    }

    pub(crate) fn at(&self, place: &str, reason: &str) -> Self {
        Self { place: place.into(), reason: reason.into(), ..self.clone() }
    }

    /// Adds evaluations of a minute, which makes its hour and day due.
    pub(crate) async fn add(&self, db: &PgPool, minute: OffsetDateTime, count: i64) {
        sqlx::query(
            "with own as (
                 insert into evaluation_series (environment_id, flag_id, place, variant, reason, mode, first_at, last_at)
                 values ($1, $2, $3, $4, $5, $6, $8, $8)
                 on conflict on constraint evaluation_series_unique
                 do update set first_at = least(evaluation_series.first_at, $8),
                               last_at = greatest(evaluation_series.last_at, $8)
                 returning id
             ), edge as (
                 insert into edge_series (environment_id, process, reason, mode, first_at, last_at)
                 values ($1, $7, $5, $6, $8, $8)
                 on conflict on constraint edge_series_unique
                 do update set last_at = greatest(edge_series.last_at, $8)
                 returning id
             )
             select add_count_by_minute(id, $8, $9) from (select id from own union all select id from edge) series",
        )
        .bind(self.environment)
        .bind(self.flag)
        .bind(&self.place)
        .bind(&self.variant)
        .bind(&self.reason)
        .bind(&self.mode)
        .bind(self.process)
        .bind(minute)
        .bind(count)
        .execute(db)
        .await
        .expect("counts");
    }
}

/// Keeps minutes of years, so that tests can have days of their own.
pub(crate) async fn keep_since_2020(db: &PgPool) {
    sqlx::query("update count_horizons set minutes_from = '2020-01-01Z', hours_from = '2020-01-01Z'")
        .execute(db)
        .await
        .expect("horizons");
}

/// Rolls up due hours that begin before a time, and days with no due hour left.
pub(crate) async fn roll_up(db: &PgPool, before: OffsetDateTime) {
    for statement in [
        "with due as (delete from due_rollups where grain = 'hour' and period < $1 returning period)
         insert into hour_counts (series, hour, count)
         select series, period, sum(count) from due
         join minute_counts on minute >= period and minute < period + interval '1 hour'
         group by series, period
         on conflict (series, hour) do update set count = excluded.count",
        "with due as (delete from due_rollups days where grain = 'day' and period < $1
                      and not exists (select from due_rollups hours where hours.grain = 'hour'
                                      and hours.period >= days.period
                                      and hours.period < days.period + interval '24 hours')
                      returning period)
         insert into day_counts (series, day, count)
         select series, period, sum(count) from due
         join hour_counts on hour >= period and hour < period + interval '24 hours'
         group by series, period
         on conflict (series, day) do update set count = excluded.count",
    ] {
        sqlx::query(statement).bind(before).execute(db).await.expect("a roll-up");
    }
}

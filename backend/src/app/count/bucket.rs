//! Where buckets begin, by the clocks of a zone. Pure.

use crate::error::AppError;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use shared::wire::api::count::{BUCKETS_MAX, Interval};

/// Without an interval, the finest one is taken that makes no more buckets than this.
const BUCKETS_USUAL: usize = 300;
/// The same where every bucket adds up the series of all flags.
const BUCKETS_USUAL_OF_ALL: usize = 60;
const INTERVALS: [Interval; 5] =
    [Interval::Minute, Interval::FiveMinutes, Interval::FifteenMinutes, Interval::Hour, Interval::Day];

/// The zone of this name, as in `Europe/Berlin`.
pub(super) fn zone(name: &str) -> Result<TimeZone, AppError> {
    TimeZone::get(name)
        .map_err(|_| AppError::field("zone", format!("'{name}' is no zone; use a name like Europe/Berlin, or UTC")))
}

/// The interval for `[from, to)` when none is asked for.
pub(super) fn usual_interval(from: i64, to: i64, is_of_all: bool) -> Interval {
    let most = if is_of_all { BUCKETS_USUAL_OF_ALL } else { BUCKETS_USUAL };
    let is_fine = |interval: &Interval| (to - from) / minutes(*interval) <= i64::try_from(most).unwrap_or(i64::MAX);
    INTERVALS.into_iter().find(is_fine).unwrap_or(Interval::Day)
}

/// The edges of all buckets that hold a part of `[from, to)`: where each begins, and where the last ends.
pub(super) fn edges(from: i64, to: i64, interval: Interval, zone: &TimeZone) -> Result<Vec<i64>, AppError> {
    let mut edges = vec![floor(from, interval, zone)?];
    let mut at = edges[0];
    while at < to {
        if edges.len() > BUCKETS_MAX {
            let message =
                format!("makes more than {BUCKETS_MAX} buckets of this time; use a longer one or a shorter time");
            return Err(AppError::field("interval", message));
        }
        at = next(at, interval, zone)?;
        edges.push(at);
    }
    Ok(edges)
}

fn minutes(interval: Interval) -> i64 {
    match interval {
        Interval::Minute => 1,
        Interval::FiveMinutes => 5,
        Interval::FifteenMinutes => 15,
        Interval::Hour => 60,
        Interval::Day => 24 * 60,
    }
}

fn floor(at: i64, interval: Interval, zone: &TimeZone) -> Result<i64, AppError> {
    if interval == Interval::Day {
        let begin = timestamp(at)?.to_zoned_datetime(zone.clone()).start_of_day().map_err(|_| out_of_time())?;
        // A zone that was shifted by seconds, long ago, begins its day in the minute in which it does.
        return Ok(begin.timestamp().as_second().div_euclid(60));
    }
    let width = minutes(interval);
    // Clocks that differ from UTC by half an hour have their hours elsewhere.
    let offset = i64::from(zone.to_offset(timestamp(at)?).seconds()).div_euclid(60);
    Ok((at + offset).div_euclid(width) * width - offset)
}

/// The edge after this one.
fn next(at: i64, interval: Interval, zone: &TimeZone) -> Result<i64, AppError> {
    if interval == Interval::Day {
        let day = timestamp(at)?.to_zoned_datetime(zone.clone());
        let next = day.tomorrow().and_then(|next| next.start_of_day()).map_err(|_| out_of_time())?;
        return Ok(next.timestamp().as_second().div_euclid(60).max(at + 1));
    }
    let next = at + minutes(interval);
    // Where clocks are changed by half an hour, an hour is cut there.
    let aligned = floor(next, interval, zone)?;
    Ok(if aligned > at { aligned } else { next })
}

fn timestamp(at: i64) -> Result<Timestamp, AppError> {
    Timestamp::from_second(at * 60).map_err(|_| out_of_time())
}

fn out_of_time() -> AppError {
    AppError::field("from", "lies beyond all calendars; use a time of this century")
}

#[cfg(test)]
mod tests {
    use time::OffsetDateTime;
    use time::macros::datetime;

    use super::*;
    use crate::app::range::{minute_of, moment};

    fn of(from: OffsetDateTime, to: OffsetDateTime, interval: Interval, name: &str) -> Vec<OffsetDateTime> {
        let edges = edges(minute_of(from), minute_of(to), interval, &zone(name).expect("a zone")).expect("edges");
        edges.into_iter().map(moment).collect()
    }

    #[test]
    fn days_begin_at_local_midnight_and_have_23_to_25_hours() {
        let berlin =
            of(datetime!(2026-03-28 12:00 UTC), datetime!(2026-03-30 12:00 UTC), Interval::Day, "Europe/Berlin");
        let expected = [
            datetime!(2026-03-27 23:00 UTC),
            datetime!(2026-03-28 23:00 UTC),
            datetime!(2026-03-29 22:00 UTC),
            datetime!(2026-03-30 22:00 UTC),
        ];
        assert_eq!(berlin, expected);
        let autumn =
            of(datetime!(2026-10-25 12:00 UTC), datetime!(2026-10-25 13:00 UTC), Interval::Day, "Europe/Berlin");
        assert_eq!(autumn[1] - autumn[0], time::Duration::hours(25));
        let kolkata =
            of(datetime!(2026-05-01 18:29 UTC), datetime!(2026-05-01 18:31 UTC), Interval::Day, "Asia/Kolkata");
        assert_eq!(kolkata[1], datetime!(2026-05-01 18:30 UTC));
        assert_eq!(kolkata.len(), 3);
    }

    #[test]
    fn hours_are_those_of_the_zone() {
        let hours =
            of(datetime!(2026-05-01 18:29 UTC), datetime!(2026-05-01 18:31 UTC), Interval::Hour, "Asia/Kolkata");
        let expected =
            [datetime!(2026-05-01 17:30 UTC), datetime!(2026-05-01 18:30 UTC), datetime!(2026-05-01 19:30 UTC)];
        assert_eq!(hours, expected);
        // Lord Howe changes its clocks by half an hour: 01:59:59 is followed by 01:30.
        let howe =
            of(datetime!(2026-04-04 13:30 UTC), datetime!(2026-04-04 17:00 UTC), Interval::Hour, "Australia/Lord_Howe");
        assert!(howe.windows(2).all(|pair| pair[0] < pair[1]), "{howe:?}");
    }

    #[test]
    fn minutes_at_the_edges_are_whole_and_too_many_are_refused() {
        let edges_of = |minutes| edges(0, minutes, Interval::Minute, &TimeZone::UTC);
        assert_eq!(edges_of(1_440).expect("edges").len(), 1_441);
        assert!(edges_of(1_441).is_err());
        assert!(zone("Mars/Olympus").is_err());
        assert_eq!(usual_interval(0, 60, false), Interval::Minute);
        assert_eq!(usual_interval(0, 1_440, false), Interval::FiveMinutes);
        assert_eq!(usual_interval(0, 1_440, true), Interval::Hour);
        assert_eq!(usual_interval(0, 7 * 1_440, false), Interval::Hour);
        assert_eq!(usual_interval(0, 90 * 1_440, false), Interval::Day);
    }
}

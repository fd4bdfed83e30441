//! The time that somebody asks for, as whole minutes.

use shared::model::timestamp::Timestamp;
use time::OffsetDateTime;

use crate::error::AppError;
use crate::store::StoreError;

/// Minutes of an hour.
pub const HOUR: i64 = 60;
/// Minutes of a day.
pub const DAY: i64 = 24 * HOUR;

/// A time as it is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Range {
    /// First moment.
    pub from: Option<Timestamp>,
    /// One past the last; now when absent.
    pub to: Option<Timestamp>,
    /// Instead of `from`: so many minutes before the end.
    pub last_minutes: Option<u32>,
}

/// How long a time is, in minutes.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// Without a beginning.
    pub usual: i64,
    /// The longest that is read at once.
    pub most: i64,
}

impl Length {
    /// Of counts: a day, and as many days as an answer has buckets.
    pub const COUNTS: Self = Self { usual: DAY, most: 1_439 * DAY };
    /// Of what an edge was like: an hour, and all that is kept.
    pub const EDGE_HISTORY: Self = Self { usual: HOUR, most: 31 * DAY };
    /// Of an experiment.
    pub const EXPERIMENT: Self = Self { usual: 366 * DAY, most: 366 * DAY };
}

/// Whole minutes `[from, to)`, since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// The first.
    pub from: i64,
    /// One past the last.
    pub to: i64,
}

impl Range {
    /// The whole minutes that hold it; without an end, the current one is the last.
    pub fn period(self, now: OffsetDateTime, length: Length) -> Result<Period, AppError> {
        let to = self.to.map_or_else(|| minute_of(now) + 1, |to| ceil_minute(to.into()));
        let from = match (self.from, self.last_minutes) {
            (Some(_), Some(_)) => {
                return Err(AppError::field("last_minutes", "says the same as from; leave one of them out"));
            }
            (Some(from), None) => minute_of(from.into()),
            (None, minutes) => to - minutes.map_or(length.usual, i64::from),
        };
        let field = if self.last_minutes.is_some() { "last_minutes" } else { "from" };
        let is_turned = self.from.zip(self.to).is_some_and(|(from, to)| from >= to);
        if from >= to || is_turned {
            return Err(AppError::field(field, "leaves no time before the end (to); make it earlier"));
        }
        if to - from > length.most {
            let (days, most) = ((to - from) / DAY, length.most / DAY);
            return Err(AppError::field(field, format!("makes {days} days; at most {most} are read at once")));
        }
        Ok(Period { from, to })
    }
}

/// A statement that took too long was asked for too much.
pub fn too_much(error: StoreError) -> AppError {
    if error.took_too_long() {
        return AppError::field("from", "takes more than 10 s to add up; ask for a shorter time, or for less at once");
    }
    error.into()
}

/// Minutes since 1970 of the minute that holds a moment.
pub fn minute_of(at: OffsetDateTime) -> i64 {
    at.unix_timestamp().div_euclid(60)
}

/// The first minute that begins at a moment or after it.
pub fn ceil_minute(at: OffsetDateTime) -> i64 {
    let minute = minute_of(at);
    if moment(minute) < at { minute + 1 } else { minute }
}

/// The moment at which a minute begins.
pub fn moment(minute: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(minute.saturating_mul(60)).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn a_range_is_whole_minutes_and_includes_the_one_that_counts() {
        let now = datetime!(2026-05-01 10:00:30 UTC);
        let period = |range: Range| {
            let period = range.period(now, Length::COUNTS);
            period.map(|period| (moment(period.from), moment(period.to))).ok()
        };
        let at = |moment: OffsetDateTime| Some(Timestamp::from(moment));
        let usual = (datetime!(2026-04-30 10:01 UTC), datetime!(2026-05-01 10:01 UTC));
        assert_eq!(period(Range::default()), Some(usual));
        let hour = Range { last_minutes: Some(60), ..Range::default() };
        assert_eq!(period(hour), Some((datetime!(2026-05-01 09:01 UTC), datetime!(2026-05-01 10:01 UTC))));
        let (from, to) = (at(datetime!(2026-05-01 9:00:59 UTC)), at(datetime!(2026-05-01 09:01:01 UTC)));
        let exact = Range { from, to, last_minutes: None };
        assert_eq!(period(exact), Some((datetime!(2026-05-01 09:00 UTC), datetime!(2026-05-01 09:02 UTC))));
        for bad in [
            Range { from, to, last_minutes: Some(1) },
            Range { last_minutes: Some(0), ..Range::default() },
            Range { from: to, to: from, last_minutes: None },
            Range {
                from: at(datetime!(2026-05-01 9:00:50 UTC)),
                to: at(datetime!(2026-05-01 9:00:20 UTC)),
                last_minutes: None,
            },
            Range { from: at(datetime!(2000-01-01 0:00 UTC)), ..Range::default() },
        ] {
            assert!(bad.period(now, Length::COUNTS).is_err(), "{bad:?}");
        }
    }
}

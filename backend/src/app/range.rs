//! A time that somebody asks for.

use shared::model::timestamp::Timestamp;
use time::{Duration, OffsetDateTime};

use crate::error::AppError;

/// `from` and `to` of a query; `to` is one minute past the current one when absent, `from` lies `usual` before it.
/// At most `most` between them.
pub fn read(
    now: OffsetDateTime,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    usual: Duration,
    most: Duration,
) -> Result<(OffsetDateTime, OffsetDateTime), AppError> {
    let to = to.map_or_else(|| floor_minute(now) + Duration::MINUTE, OffsetDateTime::from);
    let from = from.map_or_else(|| to.saturating_sub(usual), OffsetDateTime::from);
    if from >= to {
        let (from, to) = (Timestamp::from(from), Timestamp::from(to));
        return Err(AppError::field("from", format!("{from} is not before {to}; ask for an earlier beginning")));
    }
    if to - from > most {
        let days = (to - from).whole_days();
        let message = format!("the range has {days} days; ask for at most {}", most.whole_days());
        return Err(AppError::field("from", message));
    }
    Ok((from, to))
}

/// The minute that a moment lies in.
pub fn floor_minute(at: OffsetDateTime) -> OffsetDateTime {
    let at = at.to_offset(time::UtcOffset::UTC);
    at.replace_second(0).and_then(|at| at.replace_nanosecond(0)).unwrap_or(at)
}

/// The first minute that begins at a moment or after it.
pub fn ceil_minute(at: OffsetDateTime) -> OffsetDateTime {
    let floor = floor_minute(at);
    if floor == at { floor } else { floor + Duration::MINUTE }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn a_range_has_its_usual_and_its_longest_length() {
        let now = datetime!(2026-05-01 10:00:30 UTC);
        let hour = read(now, None, None, Duration::HOUR, Duration::DAY).expect("the usual");
        assert_eq!(hour, (datetime!(2026-05-01 09:01 UTC), datetime!(2026-05-01 10:01 UTC)));
        let late = Some(datetime!(2026-05-01 10:01 UTC).into());
        assert_eq!(fields(read(now, late, None, Duration::HOUR, Duration::DAY)), "from");
        let early = Some(datetime!(2026-04-30 10:00 UTC).into());
        assert_eq!(fields(read(now, early, None, Duration::HOUR, Duration::DAY)), "from");
    }

    fn fields<T: std::fmt::Debug>(found: Result<T, AppError>) -> String {
        match found.expect_err("a bad range") {
            AppError::Invalid(problems) => problems.into_iter().map(|problem| problem.field).collect(),
            other => panic!("{other}"),
        }
    }
}

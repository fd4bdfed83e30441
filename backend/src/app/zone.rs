//! What a time on the clocks of a zone means. Pure.

use jiff::Timestamp as Instant;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use time::{OffsetDateTime, PrimitiveDateTime};

use crate::error::AppError;

/// The moments that a time on the clock stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// One.
    Once(OffsetDateTime),
    /// None: the clocks skip it; the gap ends at this moment.
    Skipped(OffsetDateTime),
    /// Two: the clocks are put back between them.
    Twice(OffsetDateTime, OffsetDateTime),
}

impl Reading {
    /// The first of the moments; the end of the gap when there is none.
    pub fn first(self) -> OffsetDateTime {
        match self {
            Self::Once(at) | Self::Skipped(at) | Self::Twice(at, _) => at,
        }
    }

    /// The last of the moments; the end of the gap when there is none.
    pub fn last(self) -> OffsetDateTime {
        match self {
            Self::Once(at) | Self::Skipped(at) | Self::Twice(_, at) => at,
        }
    }
}

/// The zone of this name; `field` is where it was given.
pub fn find(name: &str, field: &str) -> Result<TimeZone, AppError> {
    let shown: String = name.chars().take(60).collect();
    TimeZone::get(name)
        .map_err(|_| AppError::field(field, format!("'{shown}' is no zone; use a name like Europe/Berlin, or UTC")))
}

/// What a time means on the clocks of a zone.
pub fn read(zone: &TimeZone, local: PrimitiveDateTime) -> Result<Reading, AppError> {
    let local = civil(local)?;
    let at = |offset: Offset| moment(offset.to_timestamp(local).map_err(AppError::internal)?);
    Ok(match zone.to_ambiguous_timestamp(local).offset() {
        AmbiguousOffset::Unambiguous { offset } => Reading::Once(at(offset)?),
        AmbiguousOffset::Fold { before, after } => Reading::Twice(at(before)?, at(after)?),
        AmbiguousOffset::Gap { after, .. } => {
            // With the later offset, every time of the gap is a moment before its end.
            let inside = after.to_timestamp(local).map_err(AppError::internal)?;
            let end = zone.following(inside).next().map_or(inside, |transition| transition.timestamp());
            Reading::Skipped(moment(end)?)
        }
    })
}

/// What the clocks of a zone show at a moment.
pub fn local(zone: &TimeZone, at: OffsetDateTime) -> Result<PrimitiveDateTime, AppError> {
    let offset = zone.to_offset(Instant::from_second(at.unix_timestamp()).map_err(AppError::internal)?);
    let shifted = at + time::Duration::seconds(i64::from(offset.seconds()));
    Ok(PrimitiveDateTime::new(shifted.date(), shifted.time()))
}

/// A moment as clocks of a zone show it, for people: `Fri 2026-12-04 18:00 Europe/Berlin`.
pub fn shown(zone: &TimeZone, name: &str, at: OffsetDateTime) -> Result<String, AppError> {
    let local = local(zone, at)?;
    let weekday: String = local.weekday().to_string().chars().take(3).collect();
    Ok(format!("{weekday} {} {:02}:{:02} {name}", local.date(), local.hour(), local.minute()))
}

fn civil(local: PrimitiveDateTime) -> Result<DateTime, AppError> {
    let field = |number: u8| i8::try_from(number).unwrap_or(0);
    DateTime::new(
        i16::try_from(local.year()).unwrap_or(0),
        field(u8::from(local.month())),
        field(local.day()),
        field(local.hour()),
        field(local.minute()),
        field(local.second()),
        0,
    )
    .map_err(AppError::internal)
}

fn moment(instant: Instant) -> Result<OffsetDateTime, AppError> {
    OffsetDateTime::from_unix_timestamp(instant.as_second()).map_err(AppError::internal)
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn a_skipped_time_is_the_end_of_the_gap_and_a_doubled_one_is_two() {
        let paris = find("Europe/Paris", "zone").expect("a zone");
        let read = |local| read(&paris, local).expect("a reading");
        assert_eq!(read(datetime!(2027-03-28 01:59)), Reading::Once(datetime!(2027-03-28 00:59 UTC)));
        for skipped in [datetime!(2027-03-28 02:00), datetime!(2027-03-28 02:30), datetime!(2027-03-28 02:59:59)] {
            assert_eq!(read(skipped), Reading::Skipped(datetime!(2027-03-28 01:00 UTC)), "{skipped}");
        }
        assert_eq!(read(datetime!(2027-03-28 03:00)), Reading::Once(datetime!(2027-03-28 01:00 UTC)));
        let twice = Reading::Twice(datetime!(2026-10-25 00:30 UTC), datetime!(2026-10-25 01:30 UTC));
        assert_eq!(read(datetime!(2026-10-25 02:30)), twice);
        assert_eq!(read(datetime!(2026-10-25 03:00)), Reading::Once(datetime!(2026-10-25 02:00 UTC)));
        assert_eq!(local(&paris, datetime!(2026-10-25 01:30 UTC)).expect("a time"), datetime!(2026-10-25 02:30));
        let shown = shown(&paris, "Europe/Paris", datetime!(2026-12-04 17:00 UTC)).expect("a text");
        assert_eq!(shown, "Fri 2026-12-04 18:00 Europe/Paris");
        assert!(find("Europe/Nowhere", "zone").is_err());
    }
}

//! Times as clocks on a wall show them. Which moment one means is up to a zone, and at a change of clocks to somebody's
//! choice; that is for the backend to find out, which has the rules of all zones.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use time::format_description::StaticFormatDescription;
use time::macros::format_description;
use time::{PrimitiveDateTime, Time};

const DATE_TIME: StaticFormatDescription = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]");
const CLOCK: StaticFormatDescription = format_description!("[hour]:[minute]");
/// Dates beyond these have no moment in every zone.
const YEARS: std::ops::RangeInclusive<i32> = 1970..=9_000;

/// A date with a time, without a zone: `2026-10-25T02:30` or `2026-10-25T02:30:00`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, example = "2026-10-25T02:30"))]
pub struct LocalDateTime(PrimitiveDateTime);

/// A time of day, without a zone: `18:00`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, example = "18:00"))]
pub struct LocalTime(Time);

/// Why a text is no time on a wall.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{text}' is not {noun}")]
pub struct LocalError {
    text: String,
    noun: &'static str,
}

/// A day of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Weekday {
    /// The first.
    Monday,
    /// The second.
    Tuesday,
    /// The third.
    Wednesday,
    /// The fourth.
    Thursday,
    /// The fifth.
    Friday,
    /// The sixth.
    Saturday,
    /// The seventh.
    Sunday,
}

impl Weekday {
    /// All of them, from Monday on.
    pub const ALL: [Self; 7] =
        [Self::Monday, Self::Tuesday, Self::Wednesday, Self::Thursday, Self::Friday, Self::Saturday, Self::Sunday];
}

impl LocalDateTime {
    /// The date and the time.
    pub fn get(self) -> PrimitiveDateTime {
        self.0
    }
}

impl LocalTime {
    /// The time of day.
    pub fn get(self) -> Time {
        self.0
    }
}

impl FromStr for LocalDateTime {
    type Err = LocalError;

    fn from_str(text: &str) -> Result<Self, LocalError> {
        let wrong = || LocalError {
            text: text.chars().take(60).collect(),
            noun: "a date and time without a zone, as in 2026-10-25T02:30",
        };
        let full = if text.len() == "2026-10-25T02:30".len() { format!("{text}:00") } else { text.to_owned() };
        let parsed = PrimitiveDateTime::parse(&full, DATE_TIME).map_err(|_| wrong())?;
        if YEARS.contains(&parsed.year()) { Ok(Self(parsed)) } else { Err(wrong()) }
    }
}

impl FromStr for LocalTime {
    type Err = LocalError;

    fn from_str(text: &str) -> Result<Self, LocalError> {
        let parsed = Time::parse(text, CLOCK);
        parsed
            .map(Self)
            .map_err(|_| LocalError { text: text.chars().take(60).collect(), noun: "a time of day, as in 18:00" })
    }
}

impl fmt::Display for LocalDateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.format(DATE_TIME).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Display for LocalTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.format(CLOCK).map_err(|_| fmt::Error)?)
    }
}

impl TryFrom<String> for LocalDateTime {
    type Error = LocalError;

    fn try_from(text: String) -> Result<Self, LocalError> {
        text.parse()
    }
}

impl TryFrom<String> for LocalTime {
    type Error = LocalError;

    fn try_from(text: String) -> Result<Self, LocalError> {
        text.parse()
    }
}

impl From<LocalDateTime> for String {
    fn from(at: LocalDateTime) -> Self {
        at.to_string()
    }
}

impl From<LocalTime> for String {
    fn from(at: LocalTime) -> Self {
        at.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_time_is_read_with_or_without_seconds_and_never_with_a_zone() {
        let at: LocalDateTime = "2026-10-25T02:30".parse().expect("a time");
        assert_eq!(at.to_string(), "2026-10-25T02:30:00");
        assert_eq!(at.to_string().parse(), Ok(at));
        for bad in
            ["2026-10-25T02:30Z", "2026-10-25T02:30:00+01:00", "2026-02-30T00:00", "tomorrow", "1969-01-01T00:00"]
        {
            assert!(bad.parse::<LocalDateTime>().is_err(), "{bad}");
        }
        let time: LocalTime = "18:05".parse().expect("a time");
        assert_eq!(time.to_string().parse(), Ok(time));
        for bad in ["24:00", "18", "18:00:00", "6pm"] {
            assert!(bad.parse::<LocalTime>().is_err(), "{bad}");
        }
    }
}

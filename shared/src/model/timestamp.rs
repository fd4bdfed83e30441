//! A moment, written as RFC 3339 in UTC wherever it leaves the program.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use time::format_description::well_known::Rfc3339 as Format;
use time::{OffsetDateTime, UtcOffset};

/// A moment in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Rfc3339", into = "Rfc3339")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, format = DateTime))]
pub struct Timestamp(OffsetDateTime);

/// Moments beyond this cannot be moved to another zone or rounded up without leaving what a date can say.
const YEAR_MAX: i32 = 9_990;

/// Why a date is not a moment for us.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("a time lies between the years 1 and {YEAR_MAX}; leave it out for \"never\"")]
pub struct TimestampError;

/// The text form, in any zone.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Rfc3339(#[serde(with = "time::serde::rfc3339")] OffsetDateTime);

impl TryFrom<Rfc3339> for Timestamp {
    type Error = TimestampError;

    fn try_from(written: Rfc3339) -> Result<Self, TimestampError> {
        let utc = written.0.checked_to_offset(UtcOffset::UTC).ok_or(TimestampError)?;
        if (1..=YEAR_MAX).contains(&utc.year()) { Ok(Self(utc)) } else { Err(TimestampError) }
    }
}

impl From<Timestamp> for Rfc3339 {
    fn from(at: Timestamp) -> Self {
        Self(at.0)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.format(&Format).map_err(|_| fmt::Error)?)
    }
}

impl Timestamp {
    /// The moment so many milliseconds after 1970; `None` beyond the years that a moment may have.
    pub fn from_unix_ms(ms: i64) -> Option<Self> {
        let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000).ok()?;
        Self::try_from(Rfc3339(at)).ok()
    }

    /// Milliseconds since 1970; negative before.
    pub fn unix_ms(self) -> i64 {
        i64::try_from(self.0.unix_timestamp_nanos() / 1_000_000).unwrap_or(i64::MAX)
    }
}

impl From<OffsetDateTime> for Timestamp {
    fn from(at: OffsetDateTime) -> Self {
        Self(at)
    }
}

impl From<Timestamp> for OffsetDateTime {
    fn from(at: Timestamp) -> Self {
        at.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_in_any_zone_and_written_in_utc_unless_no_zone_could_hold_it() {
        let at: Timestamp = serde_json::from_str("\"2026-01-01T01:00:00+01:00\"").expect("a time");
        assert_eq!(serde_json::to_string(&at).expect("JSON"), "\"2026-01-01T00:00:00Z\"");
        assert_eq!(at.to_string(), "2026-01-01T00:00:00Z");
        assert_eq!(Timestamp::from_unix_ms(at.unix_ms()), Some(at));
        assert_eq!(Timestamp::from_unix_ms(i64::MAX), None);
        for bad in ["9999-12-31T23:59:59-05:00", "9999-12-31T23:59:30Z", "0000-01-01T00:00:00Z", "yesterday"] {
            assert!(serde_json::from_str::<Timestamp>(&format!("\"{bad}\"")).is_err(), "{bad}");
        }
    }
}

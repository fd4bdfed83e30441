//! A moment, written as RFC 3339 in UTC wherever it leaves the program.

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

/// A moment in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, format = DateTime))]
pub struct Timestamp(#[serde(with = "time::serde::rfc3339")] pub OffsetDateTime);

impl Timestamp {
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

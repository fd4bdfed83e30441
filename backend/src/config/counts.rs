//! `[counts]`: how precisely and how long counts are kept.

use serde::Deserialize;

use crate::config::{ConfigError, number};

/// `[counts]`: how precisely and how long counts are kept. What a setting lets go of does not come back when it is raised.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Counts {
    /// Minutes that are counted together: 1, 5, 15 or 60. More means fewer rows.
    #[serde(deserialize_with = "number")]
    pub resolution_minutes: u32,
    /// Days in which every minute is kept; 1 to 30.
    #[serde(deserialize_with = "number")]
    pub minutes_days: u32,
    /// Days in which every hour is kept; more than `minutes_days`, at most 3,660.
    #[serde(deserialize_with = "number")]
    pub hours_days: u32,
    /// Days that are kept at all; not fewer than `hours_days`, at most 36,600.
    #[serde(deserialize_with = "number")]
    pub days_days: u32,
    /// Days for which it is kept who saw which variant of an experiment, and did what; 1 to 3,660.
    #[serde(deserialize_with = "number")]
    pub units_days: u32,
}

impl Default for Counts {
    fn default() -> Self {
        Self { resolution_minutes: 1, minutes_days: 7, hours_days: 90, days_days: 1_826, units_days: 180 }
    }
}

impl Counts {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let minutes = self.resolution_minutes;
        if ![1, 5, 15, 60].contains(&minutes) {
            let rule = "it must be 1, 5, 15 or 60".into();
            return Err(ConfigError::Counts { name: "resolution_minutes", value: minutes, rule, example: 5 });
        }
        let ranges = [
            ("minutes_days", self.minutes_days, 1, 30, 7),
            ("hours_days", self.hours_days, self.minutes_days.saturating_add(1), 3_660, 90),
            ("days_days", self.days_days, self.hours_days, 36_600, 1_826),
            ("units_days", self.units_days, 1, 3_660, 180),
        ];
        for (name, value, least, most, example) in ranges {
            if !(least..=most).contains(&value) {
                let rule = format!("it must be from {least} to {most}");
                return Err(ConfigError::Counts { name, value, rule, example: example.clamp(least, most) });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use figment::Figment;
    use figment::providers::{Format, Toml};

    use super::*;

    fn read(toml: &str) -> Result<Counts, String> {
        let counts: Counts = Figment::from(Toml::string(toml)).extract().map_err(|error| error.to_string())?;
        counts.check().map(|()| counts).map_err(|error| error.to_string())
    }

    #[test]
    fn counts_are_kept_as_said_and_for_the_default_time_otherwise() {
        let counts = read("resolution_minutes = 5\nhours_days = \"30\"").expect("settings");
        assert_eq!((counts.resolution_minutes, counts.minutes_days, counts.hours_days), (5, 7, 30));
        assert_eq!((counts.days_days, counts.units_days), (1_826, 180));
    }

    #[test]
    fn a_setting_of_counts_that_cannot_be_is_named_with_its_value_and_an_example() {
        for (toml, expected) in [
            ("resolution_minutes = 7", "counts.resolution_minutes is 7, but it must be 1, 5, 15 or 60"),
            ("minutes_days = 0", "counts.minutes_days is 0, but it must be from 1 to 30"),
            ("minutes_days = 31", "BACKEND_COUNTS__MINUTES_DAYS=7"),
            ("hours_days = 7", "counts.hours_days is 7, but it must be from 8 to 3660"),
            ("hours_days = 2000", "counts.days_days is 1826, but it must be from 2000 to 36600"),
            ("units_days = 0", "BACKEND_COUNTS__UNITS_DAYS=180"),
            ("units_days = \"many\"", "'many' is no whole number"),
            ("minutes_days = -1", "minutes_days"),
            ("minute_days = 1", "minute_days"),
        ] {
            let error = read(toml).expect_err(toml);
            assert!(error.contains(expected), "{error}");
        }
    }
}

//! Freezes: times in which nothing changes answers in an environment but kills.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::model::environment::ENVIRONMENTS_MAX;
use crate::model::flag::NAME_CHARS_MAX;
use crate::model::key::EnvironmentKey;
use crate::model::local::{LocalDateTime, LocalTime, Weekday};
use crate::model::problem::{FieldProblem, Problems};

/// The most freezes of a project.
pub const FREEZES_MAX: usize = 100;
/// The longest reason, in characters.
pub const REASON_CHARS_MAX: usize = 500;
/// The longest freeze that happens once, in days.
pub const FREEZE_DAYS_MAX: i64 = 366;

/// Times in which nothing changes answers in some environments; killing a flag stays possible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Freeze {
    /// For people; 1 to 100 characters.
    pub name: String,
    /// Where; everywhere when empty.
    #[serde(default)]
    pub environments: Vec<EnvironmentKey>,
    /// When.
    pub window: FreezeWindow,
    /// The zone that the times are of, as in `Europe/Berlin`.
    pub zone: String,
    /// Why; at most 500 characters.
    #[serde(default)]
    pub reason: String,
}

/// When a freeze holds. A time that the clocks of its zone skip is moved to the end of the gap; of one that they show twice,
/// the freeze holds both: it begins with the first and ends with the second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum FreezeWindow {
    /// Once.
    Once {
        /// The first moment.
        from: LocalDateTime,
        /// One past the last; at most 366 days later.
        to: LocalDateTime,
    },
    /// Every week.
    Weekly {
        /// The days on which it begins; at least one.
        weekdays: BTreeSet<Weekday>,
        /// When it begins on each of these days.
        from: LocalTime,
        /// When it ends; on the day after when that is not later than `from`.
        to: LocalTime,
    },
}

impl Freeze {
    /// What is wrong with the freeze, each problem with its place. That the zone and the environments exist is for the
    /// caller to check.
    pub fn validate(&self) -> Result<(), Vec<FieldProblem>> {
        let mut problems = Problems::default();
        let length = self.name.trim().chars().count();
        if length == 0 || length > NAME_CHARS_MAX || self.name.contains('\0') {
            problems.add("name", format!("a name has 1 to {NAME_CHARS_MAX} characters"));
        }
        if self.reason.chars().count() > REASON_CHARS_MAX || self.reason.contains('\0') {
            problems.add("reason", format!("a reason has at most {REASON_CHARS_MAX} characters"));
        }
        if self.environments.len() > ENVIRONMENTS_MAX {
            let message = format!("{} of them; name at most {ENVIRONMENTS_MAX}", self.environments.len());
            problems.add("environments", message);
        }
        match &self.window {
            FreezeWindow::Once { from, to } if from >= to => {
                problems.add("window.to", format!("{to} is not after {from}; choose a later time"));
            }
            FreezeWindow::Once { from, to } if (to.get() - from.get()).whole_days() > FREEZE_DAYS_MAX => {
                let message = format!("{to} is more than {FREEZE_DAYS_MAX} days after {from}; choose an earlier time");
                problems.add("window.to", message);
            }
            FreezeWindow::Weekly { weekdays, .. } if weekdays.is_empty() => {
                problems.add("window.weekdays", "choose at least one day");
            }
            FreezeWindow::Weekly { weekdays, from, to } if weekdays.len() == Weekday::ALL.len() && from == to => {
                let message = "leaves no time in the whole week; choose fewer days or an earlier end";
                problems.add("window.weekdays", message);
            }
            FreezeWindow::Once { .. } | FreezeWindow::Weekly { .. } => {}
        }
        problems.into_result()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(window: FreezeWindow) -> Vec<String> {
        let freeze = Freeze {
            name: "Weekend".into(),
            environments: Vec::new(),
            window,
            zone: "UTC".into(),
            reason: String::new(),
        };
        freeze.validate().err().unwrap_or_default().into_iter().map(|p| p.field).collect()
    }

    #[test]
    fn a_freeze_has_an_end_and_leaves_some_time() {
        let at = |text: &str| text.parse::<LocalDateTime>().expect("a time");
        let once = |from: &str, to: &str| FreezeWindow::Once { from: at(from), to: at(to) };
        assert!(fields(once("2026-12-24T00:00", "2026-12-27T00:00")).is_empty());
        assert_eq!(fields(once("2026-12-24T00:00", "2026-12-24T00:00")), ["window.to"]);
        assert_eq!(fields(once("2026-12-24T00:00", "2027-12-27T00:00")), ["window.to"]);
        let time = |text: &str| text.parse::<LocalTime>().expect("a time");
        let weekly = |days: &[Weekday], from: &str, to: &str| FreezeWindow::Weekly {
            weekdays: days.iter().copied().collect(),
            from: time(from),
            to: time(to),
        };
        assert!(fields(weekly(&Weekday::ALL, "18:00", "08:00")).is_empty());
        assert!(fields(weekly(&Weekday::ALL[..6], "00:00", "00:00")).is_empty());
        assert_eq!(fields(weekly(&Weekday::ALL, "00:00", "00:00")), ["window.weekdays"]);
        assert_eq!(fields(weekly(&[], "00:00", "01:00")), ["window.weekdays"]);
    }
}

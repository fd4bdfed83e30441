//! Plans: changes that happen step by step, at their times or after a hold. One approval covers all of a plan.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::model::change::{CHANGES_MAX, Change};
use crate::model::changeset::{Note, UnknownWord};
use crate::model::local::LocalDateTime;
use crate::model::problem::{FieldProblem, Problems};
use crate::model::timestamp::Timestamp;

/// The most steps of a plan.
pub const STEPS_MAX: usize = 50;
/// The shortest time between two steps, in seconds.
pub const HOLD_SECONDS_MIN: u32 = 60;
/// How far ahead a step may lie, and all holds together, in seconds.
pub const AHEAD_SECONDS_MAX: i64 = 366 * 24 * 3_600;

/// What happens, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Plan {
    /// 1 to 50.
    pub steps: Vec<Step>,
}

/// Changes that happen at once, all or nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Step {
    /// When they happen; never before the step before them.
    pub when: When,
    /// What happens; at least one. A version in them is the one that the step before leaves.
    pub changes: Vec<Change>,
    /// Why; may be empty.
    #[serde(default)]
    pub note: Note,
}

/// When a step happens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum When {
    /// As soon as nobody else has to agree any more; only the first step.
    Now,
    /// When clocks in a zone show this time. A time that they skip is moved to the end of the gap.
    Local {
        /// The time.
        at: LocalDateTime,
        /// The zone, as in `Europe/Berlin`.
        zone: String,
        /// Which of two, where clocks show the time twice; needed there, and without meaning elsewhere.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        occurrence: Option<Occurrence>,
    },
    /// At a moment.
    Moment {
        /// Which.
        at: Timestamp,
    },
    /// So long after the step before, or after nobody else has to agree any more.
    After {
        /// At least 60.
        seconds: u32,
    },
}

/// Which of two equal times on the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Occurrence {
    /// Before the clocks are put back.
    First,
    /// After that.
    Second,
}

/// Where a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum StepState {
    /// It is still to come.
    Waiting,
    /// It is done.
    Applied,
    /// Somebody stopped the plan before it.
    Skipped,
    /// It could not be applied; it says why.
    Blocked,
}

impl Plan {
    /// What is wrong with the shape of the plan, each problem with its place. Whether times lie ahead and the steps can be
    /// applied is for the caller to check.
    pub fn validate(&self) -> Result<(), Vec<FieldProblem>> {
        let mut problems = Problems::default();
        if self.steps.is_empty() || self.steps.len() > STEPS_MAX {
            problems.add("steps", format!("{} steps; a plan has 1 to {STEPS_MAX}", self.steps.len()));
        }
        let changes: usize = self.steps.iter().map(|step| step.changes.len()).sum();
        if changes > CHANGES_MAX {
            problems.add("steps", format!("{changes} changes; all steps together have at most {CHANGES_MAX}"));
        }
        let mut held = 0_i64;
        for (index, step) in self.steps.iter().enumerate() {
            if step.changes.is_empty() {
                problems.add(format_args!("steps[{index}].changes"), "a step has at least one change");
            }
            match step.when {
                When::Now if index > 0 => {
                    let message = "only the first step happens now; give this one a time or a hold";
                    problems.add(format_args!("steps[{index}].when"), message);
                }
                When::After { seconds } if seconds < HOLD_SECONDS_MIN => {
                    let message = format!("{seconds} s; hold a step for at least {HOLD_SECONDS_MIN} s");
                    problems.add(format_args!("steps[{index}].when.seconds"), message);
                }
                When::After { seconds } => {
                    held += i64::from(seconds);
                    if held > AHEAD_SECONDS_MAX {
                        let message = "all holds together are longer than a year; make them shorter";
                        problems.add(format_args!("steps[{index}].when.seconds"), message);
                    }
                }
                When::Now | When::Local { .. } | When::Moment { .. } => {}
            }
        }
        problems.into_result()
    }
}

impl StepState {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Waiting, "waiting"),
        (Self::Applied, "applied"),
        (Self::Skipped, "skipped"),
        (Self::Blocked, "blocked"),
    ];

    /// The state as text.
    pub fn as_str(self) -> &'static str {
        Self::ALL.into_iter().find(|(state, _)| *state == self).map_or("waiting", |(_, text)| text)
    }
}

impl fmt::Display for StepState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for StepState {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|(_, known)| *known == text).map(|(state, _)| state);
        found.ok_or_else(|| UnknownWord::new("the state of a step", text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::change::Change;

    fn step(when: When) -> Step {
        let changes = vec![Change::DeleteSegment { segment: "beta".parse().expect("a key") }];
        Step { when, changes, note: Note::default() }
    }

    fn fields(steps: Vec<Step>) -> Vec<String> {
        Plan { steps }.validate().err().unwrap_or_default().into_iter().map(|p| p.field).collect()
    }

    #[test]
    fn a_plan_has_steps_with_changes_holds_of_a_minute_and_an_end_within_a_year() {
        let hold = |seconds| step(When::After { seconds });
        assert!(fields(vec![step(When::Now), hold(60)]).is_empty());
        assert_eq!(fields(Vec::new()), ["steps"]);
        assert_eq!(fields((0..=STEPS_MAX).map(|_| hold(60)).collect()), ["steps"]);
        assert_eq!(fields(vec![hold(59)]), ["steps[0].when.seconds"]);
        assert_eq!(fields(vec![hold(20_000_000), hold(20_000_000)]), ["steps[1].when.seconds"]);
        assert_eq!(fields(vec![step(When::Now), step(When::Now)]), ["steps[1].when"]);
        assert_eq!(fields(vec![Step { changes: Vec::new(), ..step(When::Now) }]), ["steps[0].changes"]);
    }

    #[test]
    fn states_of_steps_survive_a_round_trip_and_read_as_in_json() {
        for (state, text) in StepState::ALL {
            assert_eq!((state.as_str(), text.parse()), (text, Ok(state)));
            assert_eq!(serde_json::to_value(state).expect("JSON"), text);
        }
    }
}

//! When steps are due.

use shared::model::plan::{AHEAD_SECONDS_MAX, HOLD_SECONDS_MIN, Occurrence, Plan, When};
use shared::model::timestamp::Timestamp;
use time::{Duration, OffsetDateTime};

use crate::app::zone::{self, Reading};
use crate::error::AppError;

/// A request takes a moment to arrive, and people look at clocks that show minutes.
const LATE_MAX: Duration = Duration::MINUTE;

/// When each step is due, as far as that is known: not of those that wait for a hold. Fails when a time is over, too far
/// ahead, before that of another step, or one of two.
pub(super) fn due(plan: &Plan, now: OffsetDateTime) -> Result<Vec<Option<OffsetDateTime>>, AppError> {
    let mut due = Vec::with_capacity(plan.steps.len());
    let mut earliest = now - LATE_MAX;
    for (index, step) in plan.steps.iter().enumerate() {
        let path = format!("plan.steps[{index}].when");
        let at = match &step.when {
            When::Now => None,
            When::After { seconds } => {
                earliest = earliest.max(now) + Duration::seconds(i64::from(*seconds));
                None
            }
            When::Moment { .. } | When::Local { .. } => Some(moment(&step.when, &path)?),
        };
        if let Some(at) = at {
            if at < earliest {
                let which = if index == 0 { "is over; choose a later time" } else { "is before the step before it" };
                let message = format!("{} {which}", Timestamp::from(at));
                return Err(AppError::field(format!("{path}.at"), message));
            }
            earliest = at.max(now) + Duration::seconds(i64::from(HOLD_SECONDS_MIN));
        }
        if earliest > now + Duration::seconds(AHEAD_SECONDS_MAX) {
            return Err(AppError::field(path, "lies more than a year ahead; choose an earlier time"));
        }
        due.push(at);
    }
    Ok(due)
}

/// That the time of a step is one that clocks skip, and what becomes of it.
pub(super) fn moved(when: &When) -> Option<String> {
    let When::Local { at, zone: name, .. } = when else { return None };
    let zone = zone::find(name, "zone").ok()?;
    let Reading::Skipped(end) = zone::read(&zone, at.get()).ok()? else { return None };
    let shown = zone::shown(&zone, name, end).ok()?;
    Some(format!("clocks in {name} skip {at}; it happens at {shown}"))
}

fn moment(when: &When, path: &str) -> Result<OffsetDateTime, AppError> {
    let (at, name, occurrence) = match when {
        When::Local { at, zone, occurrence } => (at, zone, occurrence),
        When::Moment { at } => return Ok((*at).into()),
        When::Now | When::After { .. } => return Err(AppError::internal("a hold is no moment")),
    };
    let zone = zone::find(name, &format!("{path}.zone"))?;
    match (zone::read(&zone, at.get())?, occurrence) {
        (Reading::Once(at) | Reading::Skipped(at), _) => Ok(at),
        (Reading::Twice(first, _), Some(Occurrence::First)) => Ok(first),
        (Reading::Twice(_, second), Some(Occurrence::Second)) => Ok(second),
        (Reading::Twice(first, second), None) => {
            let (first, second) = (Timestamp::from(first), Timestamp::from(second));
            let message = format!("clocks in {name} show {at} twice; choose first ({first}) or second ({second})");
            Err(AppError::field(format!("{path}.occurrence"), message))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use time::macros::datetime;

    use super::*;

    const NOW: OffsetDateTime = datetime!(2026-10-20 10:00 UTC);

    fn plan(whens: &[Value]) -> Plan {
        let change = json!({ "kind": "delete_segment", "segment": "beta" });
        let steps: Vec<Value> = whens.iter().map(|when| json!({ "when": when, "changes": [change] })).collect();
        serde_json::from_value(json!({ "steps": steps })).expect("a plan")
    }

    fn at(text: &str) -> Value {
        json!({ "kind": "moment", "at": text })
    }

    fn local(text: &str) -> Value {
        json!({ "kind": "local", "at": text, "zone": "Europe/Paris" })
    }

    fn refused(whens: &[Value]) -> (String, String) {
        match due(&plan(whens), NOW) {
            Err(AppError::Invalid(problems)) => (problems[0].field.clone(), problems[0].message.clone()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_skipped_hour_is_moved_and_said_and_a_doubled_one_asks_which() {
        let skipped = plan(&[local("2027-03-28T02:30")]);
        assert_eq!(due(&skipped, NOW).expect("a time"), [Some(datetime!(2027-03-28 01:00 UTC))]);
        let said = moved(&skipped.steps[0].when).expect("a sentence");
        assert!(said.ends_with("it happens at Sun 2027-03-28 03:00 Europe/Paris"), "{said}");
        assert_eq!(moved(&plan(&[local("2027-03-28T03:00")]).steps[0].when), None);

        let (field, message) = refused(&[local("2026-10-25T02:30")]);
        assert_eq!(field, "plan.steps[0].when.occurrence");
        assert!(message.contains("first (2026-10-25T00:30:00Z) or second (2026-10-25T01:30:00Z)"), "{message}");
        for (which, expected) in
            [("first", datetime!(2026-10-25 00:30 UTC)), ("second", datetime!(2026-10-25 01:30 UTC))]
        {
            let mut chosen = local("2026-10-25T02:30");
            chosen["occurrence"] = json!(which);
            assert_eq!(due(&plan(&[chosen]), NOW).expect("a time"), [Some(expected)]);
        }
    }

    #[test]
    fn a_time_is_not_over_not_beyond_a_year_and_not_before_that_of_another_step() {
        assert!(due(&plan(&[at("2026-10-20T10:00:00Z")]), NOW).is_ok(), "now is not over");
        assert!(due(&plan(&[at("2026-10-20T09:59:00Z")]), NOW).is_ok(), "the minute that a clock shows");
        // 11:30 in Paris is 09:30 here, whatever the clock of whoever asks says.
        assert!(due(&plan(&[local("2026-10-20T12:00")]), NOW).is_ok());
        assert_eq!(refused(&[local("2026-10-20T11:30")]).0, "plan.steps[0].when.at");
        assert_eq!(refused(&[at("2027-10-22T10:00:00Z")]).0, "plan.steps[0].when");
        let hold = json!({ "kind": "after", "seconds": 3_600 });
        assert!(due(&plan(&[at("2026-10-20T11:00:00Z"), hold.clone(), at("2026-10-20T12:02:00Z")]), NOW).is_ok());
        assert_eq!(refused(&[at("2026-10-20T11:00:00Z"), hold, at("2026-10-20T12:00:00Z")]).0, "plan.steps[2].when.at");
        let nowhere = json!({ "kind": "local", "at": "2026-10-25T12:30", "zone": "Paris" });
        assert_eq!(refused(&[nowhere]).0, "plan.steps[0].when.zone");
    }
}

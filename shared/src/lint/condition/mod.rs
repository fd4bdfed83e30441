//! What is wrong within one tree of conditions.

mod blame;

use crate::lint::proof::{Goal, Prover};
use crate::lint::{WarningKind, Warnings, list};
use crate::model::condition::{Condition, Leaf, Operator};
use crate::sentence::{self, listed};

/// In groups larger than this, members are not compared with each other.
const COMPARED_MAX: usize = 100;

/// A condition and where it stands.
#[derive(Clone)]
struct Placed<'d> {
    condition: &'d Condition,
    path: String,
}

/// Looks through one tree, of a rule or of a segment.
struct Check<'d, 'c> {
    prover: &'c mut Prover<'d>,
    found: &'c mut Warnings,
    /// What it is called when the whole tree can never hold, and what then follows.
    whole: (WarningKind, &'static str),
}

/// Notes what is wrong with the tree at `path`, and returns whether it can hold at all.
pub(super) fn check<'d>(
    condition: &'d Condition,
    path: &str,
    whole: (WarningKind, &'static str),
    prover: &mut Prover<'d>,
    found: &mut Warnings,
) -> bool {
    let mut check = Check { prover, found, whole };
    let placed = Placed { condition, path: path.into() };
    let can_hold = check.is_possible(&[&placed]);
    if can_hold {
        check.look(&placed, &[]);
    } else {
        check.blame(&placed, &[], true);
    }
    can_hold
}

impl<'d> Placed<'d> {
    fn members(&self) -> Vec<Self> {
        let (name, members) = match self.condition {
            Condition::Leaf(_) => return Vec::new(),
            Condition::All(members) => ("all", members),
            Condition::Any(members) => ("any", members),
        };
        let place = |(at, condition)| Self { condition, path: format!("{}.{name}[{at}]", self.path) };
        members.iter().enumerate().map(place).collect()
    }

    fn said(&self) -> String {
        let text = sentence::condition(self.condition);
        // Beside a longer one nobody would find the end of it.
        if text.chars().nth(200).is_some() { text.chars().take(199).chain(['…']).collect() } else { text }
    }
}

impl<'d> Check<'d, '_> {
    fn is_possible(&mut self, together: &[&Placed<'d>]) -> bool {
        let goals: Vec<Goal<'d>> = together.iter().map(|placed| Goal::Holds(placed.condition)).collect();
        self.prover.is_possible(&goals)
    }

    fn is_certain(&mut self, placed: &Placed<'d>) -> bool {
        !self.prover.is_possible(&[Goal::Fails(placed.condition)])
    }

    /// Looks for mistakes in what can hold `beside` all these conditions.
    fn look(&mut self, placed: &Placed<'d>, beside: &[Placed<'d>]) {
        let leaf = match placed.condition {
            Condition::Leaf(leaf) => leaf,
            Condition::All(_) | Condition::Any(_) => return self.group(placed, beside),
        };
        list::check(leaf, &placed.path, self.found);
        if leaf.operator == Operator::InSegment && self.is_certain(placed) {
            let (who, segments) = (if leaf.negate { "Nobody" } else { "Everyone" }, segments(leaf));
            let message =
                format!("{who} is in {segments}, so this holds for everyone. Remove it or change the segment.");
            self.found.add(WarningKind::AlwaysHolds, placed.path.clone(), message);
        }
    }

    fn group(&mut self, placed: &Placed<'d>, beside: &[Placed<'d>]) {
        let members = placed.members();
        if members.is_empty() {
            // A whole tree without conditions is meant for everyone.
            if placed.path.ends_with(']') {
                let message =
                    "A group “all” without conditions holds for everyone. Add a condition or remove the group.";
                self.found.add(WarningKind::AlwaysHolds, placed.path.clone(), message);
            }
            return;
        }
        if self.is_certain(placed) {
            let message = "This group holds for everyone, whatever is sent. Correct its conditions or remove it.";
            self.found.add(WarningKind::AlwaysHolds, placed.path.clone(), message);
            return;
        }
        self.twins(&members);
        if matches!(placed.condition, Condition::All(_)) {
            for (at, member) in members.iter().enumerate() {
                let others =
                    members.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, other)| other.clone());
                // A comparison needs no look at what is beside it.
                let is_alone = matches!(member.condition, Condition::Leaf(_)) || members.len() > COMPARED_MAX;
                let beside: Vec<Placed<'d>> = beside.iter().cloned().chain(others.filter(|_| !is_alone)).collect();
                self.look(member, &beside);
            }
            return;
        }
        for member in &members {
            let together: Vec<&Placed<'d>> = beside.iter().chain([member]).collect();
            if self.is_possible(&together) {
                self.look(member, beside);
            } else {
                self.blame(member, beside, false);
            }
        }
    }

    fn twins(&mut self, members: &[Placed<'d>]) {
        for (at, member) in members.iter().enumerate().take(COMPARED_MAX) {
            if let Some(twin) = members[..at].iter().find(|other| other.condition == member.condition) {
                let message = format!("“{}” is there twice. Remove one of them.", member.said());
                let because = vec![twin.path.clone()];
                self.found.add_because(WarningKind::Duplicate, member.path.clone(), message, because);
            }
        }
    }
}

fn segments(leaf: &Leaf) -> String {
    match leaf.values.as_slice() {
        [one] => format!("segment {one}"),
        several => format!("any of the segments {}", listed(several)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::reach::Documents;

    const NOW_MS: i64 = 1_798_761_600_000;

    fn equals(attribute: &str, value: &str, negate: bool) -> Value {
        json!({"attribute": attribute, "operator": "equals", "values": [value], "negate": negate})
    }

    fn within(segment: &str, negate: bool) -> Value {
        json!({"operator": "in_segment", "values": [segment], "negate": negate})
    }

    fn found(document: &Value) -> Vec<(WarningKind, String, String)> {
        let condition: Condition = serde_json::from_value(document.clone()).expect("a condition");
        let mut documents = Documents::default();
        for key in ["empty", "staff"] {
            let included: &[&str] = if key == "empty" { &[] } else { &["a"] };
            let segment = serde_json::from_value(json!({"key": key, "included": included})).expect("a segment");
            documents.segments.insert(key.parse().expect("a key"), segment);
        }
        let mut prover = Prover::new(&documents, None, NOW_MS);
        let mut found = Warnings::default();
        check(&condition, "conditions", (WarningKind::NeverApplies, " Dead."), &mut prover, &mut found);
        found.found.into_iter().map(|w| (w.kind, w.field, w.because.join(" ") + "|" + &w.message)).collect()
    }

    #[test]
    fn what_is_meant_is_left_alone() {
        let (pro, not_free) = (equals("plan", "pro", false), equals("plan", "free", true));
        let from = json!({"attribute": "$now", "operator": "after", "values": ["2026-01-01T00:00:00Z"]});
        for document in [
            json!({"all": []}),
            json!({"all": [pro, not_free]}),
            json!({"any": [pro, not_free]}),
            json!({"all": [pro, equals("plan", "team", false)]}),
            json!({"any": [pro, {"all": [equals("plan", "pro", true), within("staff", false)]}]}),
            json!({"all": [within("staff", true), from]}),
            from,
        ] {
            assert_eq!(found(&document), [], "{document}");
        }
    }

    #[test]
    fn a_contradiction_is_named_where_it_is() {
        let (pro, not_pro) = (equals("plan", "pro", false), equals("plan", "pro", true));
        let message = "conditions.all[0]|“plan is not pro” can never hold together with “plan is pro”. \
            Correct or remove one of them. Dead.";
        let expected = (WarningKind::NeverApplies, "conditions.all[2]".into(), message.into());
        assert_eq!(found(&json!({"all": [pro, within("staff", false), not_pro]})), [expected]);
        let message = "conditions.any[0].all[0]|“plan is not pro” can never hold together with “plan is pro”. \
            Correct or remove one of them.";
        let expected = (WarningKind::NeverHolds, "conditions.any[0].all[1]".into(), message.into());
        assert_eq!(found(&json!({"any": [{"all": [pro, not_pro]}, within("staff", false)]})), [expected]);
    }

    #[test]
    fn an_alternative_is_compared_with_what_is_beside_it() {
        let document = json!({"all": [
            equals("plan", "pro", false), {"any": [equals("plan", "pro", true), equals("country", "DE", false)]},
        ]});
        let message = "conditions.all[0]|“plan is not pro” can never hold together with “plan is pro”. \
            Correct or remove one of them.";
        let expected = (WarningKind::NeverHolds, "conditions.all[1].any[0]".into(), message.into());
        assert_eq!(found(&document), [expected]);
    }

    #[test]
    fn three_that_exclude_each_other_only_together_are_told_as_a_group() {
        let number = |operator, value, negate| json!({"attribute": "a", "operator": operator, "values": [value], "negate": negate});
        let document =
            json!({"all": [number("less", "3", false), number("less", "2", true), number("greater", "1", true)]});
        let message = "|These conditions can never all hold at once. Correct or remove one of them. Dead.";
        assert_eq!(found(&document), [(WarningKind::NeverApplies, "conditions".into(), message.into())]);
    }

    #[test]
    fn segments_without_anybody_are_told_where_they_are_asked_for() {
        let message = "|Nobody is in segment empty, so this holds for nobody. Put someone in or remove it. Dead.";
        let expected = (WarningKind::NeverApplies, "conditions".into(), message.into());
        assert_eq!(found(&within("empty", false)), [expected]);
        let message = "|Nobody is in segment empty, so this holds for everyone. Remove it or change the segment.";
        let expected = (WarningKind::AlwaysHolds, "conditions.all[0]".into(), message.into());
        assert_eq!(found(&json!({"all": [within("empty", true), within("staff", false)]})), [expected]);
    }

    #[test]
    fn groups_that_hold_for_nobody_or_everyone_are_told() {
        let staff = within("staff", false);
        let cases = [
            (json!({"any": []}), WarningKind::NeverApplies, "conditions"),
            (json!({"all": [staff, {"any": []}]}), WarningKind::NeverApplies, "conditions.all[1]"),
            (json!({"any": [staff, {"any": []}]}), WarningKind::NeverHolds, "conditions.any[1]"),
            (json!({"all": [staff, {"all": []}]}), WarningKind::AlwaysHolds, "conditions.all[1]"),
            (json!({"any": [staff, {"all": []}]}), WarningKind::AlwaysHolds, "conditions"),
            (json!({"any": [staff, within("staff", true)]}), WarningKind::AlwaysHolds, "conditions"),
            (json!({"all": [staff, staff]}), WarningKind::Duplicate, "conditions.all[1]"),
        ];
        for (document, kind, field) in cases {
            let found: Vec<(WarningKind, String)> = found(&document).into_iter().map(|(k, f, _)| (k, f)).collect();
            assert_eq!(found, [(kind, field.to_owned())], "{document}");
        }
    }

    #[test]
    fn what_is_over_is_told_apart_from_what_never_was() {
        let until = |time: &str| json!({"attribute": "$now", "operator": "before", "values": [time]});
        let message = "|The time of this is over: it never holds again. Change the time or remove it. Dead.";
        let expected = (WarningKind::Over, "conditions.all[1]".into(), message.into());
        assert_eq!(found(&json!({"all": [within("staff", false), until("2026-12-31T00:00:00Z")]})), [expected]);
        assert_eq!(found(&until("2027-01-01T00:00:01Z")), []);
    }

    #[test]
    fn a_range_that_no_version_is_in_is_told() {
        let range = |values: &[&str]| json!({"attribute": "v", "operator": "semver_in", "values": values});
        let message = "|No version is in >2 <1. Correct the range. Dead.";
        assert_eq!(found(&range(&[">2 <1"])), [(WarningKind::NeverApplies, "conditions".into(), message.into())]);
        let message = "|No version is in >2 <1. Correct or remove it.";
        let expected = (WarningKind::NoEffect, "conditions.values[1]".into(), message.into());
        assert_eq!(found(&range(&["^1", ">2 <1"])), [expected]);
    }
}

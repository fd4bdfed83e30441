//! What changes between two definitions of a segment.

use crate::model::condition::Condition;
use crate::model::segment::SegmentDefinition;
use crate::sentence::condition::condition;
use crate::sentence::shown::{bounded, listed, only_in, plural};
use crate::sentence::values_change::values;

/// What changes between two definitions of a segment, one line each; `+` added, `−` removed, `~` changed. Empty only
/// when nothing does.
pub fn segment_changes(old: &SegmentDefinition, new: &SegmentDefinition) -> Vec<String> {
    let mut lines = Vec::new();
    if old.key != new.key {
        lines.push(format!("~ Key: {} → {}", old.key, new.key));
    }
    lines.extend(keys("included", &old.included, &new.included));
    lines.extend(keys("excluded", &old.excluded, &new.excluded));
    if old.conditions != new.conditions {
        let values = values(&old.conditions, &new.conditions);
        let (was, now) = (text(&old.conditions), text(&new.conditions));
        if values.is_empty() {
            lines.push(if was == now {
                "~ Conditions: details changed".into()
            } else {
                format!("~ Conditions: {was} → {now}")
            });
        }
        lines.extend(values.iter().map(|values| format!("~ Conditions: {values}")));
    }
    lines.into_iter().map(bounded).collect()
}

fn keys(kind: &str, old: &[String], new: &[String]) -> Vec<String> {
    let (removed, added) = (only_in(old, new), only_in(new, old));
    let parts = [('−', removed), ('+', added)].into_iter().filter(|(_, keys)| !keys.is_empty());
    let line = |(sign, keys): (char, Vec<&str>)| {
        format!("{sign} {}: {}", plural(keys.len(), &format!("{kind} key")), listed(&keys))
    };
    let lines: Vec<String> = parts.map(line).collect();
    if lines.is_empty() && old != new { vec![format!("~ The {kind} keys in another order")] } else { lines }
}

/// Without a comparison only the included keys are in a segment.
fn text(conditions: &Condition) -> String {
    if conditions.leaves().is_empty() { "none".into() } else { condition(conditions) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn segment(patch: &Value) -> SegmentDefinition {
        let mut document = json!({"key": "staff", "included": ["a", "b"], "excluded": ["x"]});
        for (name, value) in patch.as_object().expect("fields") {
            document[name] = value.clone();
        }
        serde_json::from_value(document).expect("a segment")
    }

    #[test]
    fn every_part_of_a_segment_is_told() {
        let pro = json!({"attribute": "plan", "operator": "equals", "values": ["pro"]});
        let cases = [
            (json!({}), vec![]),
            (json!({"key": "team"}), vec!["~ Key: staff → team"]),
            (
                json!({"included": ["b", "c", "d", "e", "f"]}),
                vec!["− 1 included key: a", "+ 4 included keys: c, d, e and 1 other"],
            ),
            (json!({"included": ["b", "a"]}), vec!["~ The included keys in another order"]),
            (json!({"excluded": []}), vec!["− 1 excluded key: x"]),
            (json!({"excluded": ["x", ""]}), vec!["+ 1 excluded key: “”"]),
            (json!({"conditions": pro}), vec!["~ Conditions: none → plan is pro"]),
            (json!({"conditions": {"all": [pro, {"any": []}]}}), vec!["~ Conditions: none → plan is pro, and nobody"]),
            (json!({"conditions": {"any": []}}), vec!["~ Conditions: details changed"]),
        ];
        for (patch, told) in cases {
            assert_eq!(segment_changes(&segment(&json!({})), &segment(&patch)), told, "{patch}");
        }
    }

    #[test]
    fn what_changes_inside_a_long_list_is_named() {
        let with = |values: Vec<String>| segment(&json!({"conditions": {"operator": "in_segment", "values": values}}));
        let values = |count: usize| (0..count).map(|n| format!("s{n}")).collect::<Vec<_>>();
        let told = ["~ Conditions: values of the segments: added s10 and s11"];
        assert_eq!(segment_changes(&with(values(10)), &with(values(12))), told);
    }
}

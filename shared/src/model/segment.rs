//! Segments: named audiences that rules share.

use serde::{Deserialize, Serialize};

use crate::model::condition::{Condition, check_patterns, check_texts};
use crate::model::key::SegmentKey;
use crate::model::problem::{FieldProblem, Problems};

/// What decides who is in a segment: excluded keys, then included keys, then conditions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SegmentDefinition {
    /// Named by rules.
    pub key: SegmentKey,
    /// Never in it, whatever follows; at most 10,000.
    #[serde(default)]
    pub excluded: Vec<String>,
    /// In it unless excluded; at most 10,000.
    #[serde(default)]
    pub included: Vec<String>,
    /// Who else is in it; without conditions only the included keys are.
    #[serde(default)]
    pub conditions: Condition,
}

impl SegmentDefinition {
    /// What is wrong with the definition, each problem with its place. That the segments it uses exist is checked by
    /// [`crate::model::reach`].
    pub fn validate(&self) -> Result<(), Vec<FieldProblem>> {
        let mut problems = Problems::default();
        check_texts(format_args!("excluded"), &self.excluded, &mut problems);
        check_texts(format_args!("included"), &self.included, &mut problems);
        if check_patterns(format_args!("conditions"), std::iter::once(&self.conditions), &mut problems) {
            self.conditions.check(format_args!("conditions"), &mut problems);
        }
        if self.segments().contains(&self.key) {
            problems.add("conditions", format!("segment '{}' cannot use itself; remove the condition", self.key));
        }
        problems.into_result()
    }

    /// The segments its conditions use, each once.
    pub fn segments(&self) -> Vec<SegmentKey> {
        let mut found = Vec::new();
        self.conditions.collect_segments(&mut found);
        found.sort();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_counted_before_any_is_compiled() {
        let patterns = vec!["(".to_owned(); 21];
        let conditions = serde_json::json!({"attribute": "a", "operator": "matches", "values": patterns});
        let json = serde_json::json!({"key": "s", "conditions": conditions});
        let segment: SegmentDefinition = serde_json::from_value(json).expect("a segment");
        let found = segment.validate().expect_err("too many");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].message, "21 patterns of matches; at most 20 are allowed in all");
    }
}

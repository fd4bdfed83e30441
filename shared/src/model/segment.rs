//! Segments: named audiences that rules share.

use serde::{Deserialize, Serialize};

use crate::model::key::SegmentKey;
use crate::model::problem::{FieldProblem, Problems};
use crate::model::rule::{Condition, Leaf, Operator, check_texts};

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
    /// What is wrong with the definition, each problem with its place.
    pub fn validate(&self) -> Result<(), Vec<FieldProblem>> {
        let mut problems = Problems::default();
        check_texts("excluded", &self.excluded, &mut problems);
        check_texts("included", &self.included, &mut problems);
        self.conditions.check("conditions", &mut problems);
        if uses_segment(&self.conditions) {
            problems.add("conditions", "a segment cannot use another segment yet; repeat its conditions here");
        }
        problems.into_result()
    }
}

fn uses_segment(condition: &Condition) -> bool {
    match condition {
        Condition::All(members) | Condition::Any(members) => members.iter().any(uses_segment),
        Condition::Leaf(Leaf { operator, .. }) => *operator == Operator::InSegment,
    }
}

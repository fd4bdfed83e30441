//! Prerequisites: other flags that must answer in a certain way first.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::model::key::{FlagKey, VariantKey};
use crate::model::problem::Problems;

/// Another flag of the same environment that must answer one of some variants, by a target, a rule or its default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Prerequisite {
    /// The parent.
    pub flag: FlagKey,
    /// Any of these satisfies; a parent that is off, killed, blocked or in error never does.
    pub variants: Vec<VariantKey>,
}

/// Notes what is wrong with prerequisites. That the parents exist, and need no flag that needs them, is checked by
/// [`crate::model::reach`].
pub(crate) fn check(prerequisites: &[Prerequisite], problems: &mut Problems) {
    let mut parents = HashSet::new();
    for (index, prerequisite) in prerequisites.iter().enumerate() {
        let parent = &prerequisite.flag;
        if !parents.insert(parent) {
            problems.add(
                format_args!("prerequisites[{index}].flag"),
                format!("'{parent}' is a prerequisite twice; name all variants in one"),
            );
        }
        if prerequisite.variants.is_empty() {
            problems.add(
                format_args!("prerequisites[{index}].variants"),
                format!("name at least one variant of '{parent}'"),
            );
        }
        let mut variants = HashSet::new();
        for (at, variant) in prerequisite.variants.iter().enumerate() {
            if !variants.insert(variant) {
                problems
                    .add(format_args!("prerequisites[{index}].variants[{at}]"), format!("'{variant}' is there twice"));
            }
        }
    }
}

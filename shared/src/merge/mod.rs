//! Merges two edits of a flag's config that were made from the same one, part by part. What only one of them changed is
//! taken over; what both changed otherwise is a conflict, and stays as the other person saved it until somebody decides.
//!
//! Parts are: whether it is on, the off variant, each prerequisite, the variant of each target, each field of each rule,
//! the order of the rules, and the default.

mod list;
mod rule;
mod target;

use list::{Part, merged_list, picked};
use rule::merge_rules;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use target::merge_targets;

use crate::model::flag::FlagConfig;
use crate::model::key::VariantKey;
use crate::model::prerequisite::Prerequisite;
use crate::model::rule::Serve;
use crate::sentence;

/// Two edits put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The config with both edits, and the other person's where they differ.
    pub config: FlagConfig,
    /// What both changed, each otherwise.
    pub conflicts: Vec<Conflict>,
}

/// A part that two people changed, each otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Conflict {
    /// Which part: `enabled`, `off_variant`, `prerequisites[pricing]`, `targets[user-1]`, `rules[<id>].serve`, `rules` for
    /// their order, `default_serve`.
    pub field: String,
    /// As it was before both.
    pub base: Side,
    /// As it is now, by the other person.
    pub theirs: Side,
    /// As the reader wants it.
    pub mine: Side,
}

/// A part as one person has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Side {
    /// As a sentence.
    pub sentence: String,
    /// As JSON; null where there is none.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub value: Value,
}

/// Puts two edits of `base` together.
pub fn merge(base: &FlagConfig, theirs: &FlagConfig, mine: &FlagConfig) -> Merged {
    if mine == base || mine == theirs {
        return Merged { config: theirs.clone(), conflicts: Vec::new() };
    }
    if theirs == base {
        return Merged { config: mine.clone(), conflicts: Vec::new() };
    }
    let mut conflicts = Vec::new();
    let found = &mut conflicts;
    let on = |enabled: &bool| if *enabled { "on".to_owned() } else { "off".to_owned() };
    let enabled =
        *picked(Part { field: "enabled".into(), said: &on }, (&base.enabled, &theirs.enabled, &mine.enabled), found);
    let variant = |variant: &Option<VariantKey>| variant.as_ref().map_or("code default".into(), ToString::to_string);
    let off_variant = picked(
        Part { field: "off_variant".into(), said: &variant },
        (&base.off_variant, &theirs.off_variant, &mine.off_variant),
        found,
    );
    let needed = |needed: &Option<&Prerequisite>| {
        needed.map_or("not needed".into(), |needed| sentence::prerequisites(std::slice::from_ref(needed)))
    };
    let prerequisites = merged_list(
        "prerequisites",
        (&base.prerequisites, &theirs.prerequisites, &mine.prerequisites),
        |prerequisite| prerequisite.flag.to_string(),
        &needed,
        found,
    );
    let targets = merge_targets(&base.targets, &theirs.targets, &mine.targets, found);
    let rules = merge_rules(&base.rules, &theirs.rules, &mine.rules, found);
    let serve = |serve: &Serve| sentence::serve(serve);
    let default_serve = picked(
        Part { field: "default_serve".into(), said: &serve },
        (&base.default_serve, &theirs.default_serve, &mine.default_serve),
        found,
    );
    let config = FlagConfig {
        enabled,
        off_variant: off_variant.clone(),
        prerequisites,
        targets,
        rules,
        default_serve: default_serve.clone(),
    };
    Merged { config, conflicts }
}

#[cfg(test)]
mod tests;

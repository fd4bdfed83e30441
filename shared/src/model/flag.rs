//! Flags, and how one flag is set up in one environment.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::compare::shown;
use crate::model::condition::{check_patterns, check_texts};
use crate::model::key::{FlagKey, SegmentKey, VariantKey};
use crate::model::prerequisite::{self, Prerequisite};
use crate::model::problem::{FieldProblem, Path, Problems};
use crate::model::rule::{Rule, Serve};
use crate::model::variant::{ValueType, Variant};

/// The most variants of a flag.
pub const VARIANTS_MAX: usize = 64;
/// The most rules of a flag config.
pub const RULES_MAX: usize = 200;
/// The most segments that one flag can reach, those of its prerequisites and those inside segments included.
pub const SEGMENTS_MAX: usize = 64;
/// The most flags that one flag can reach through prerequisites.
pub const PREREQUISITES_MAX: usize = 64;
/// The longest name of a flag, rule or segment, in characters.
pub const NAME_CHARS_MAX: usize = 100;
/// The longest description, in characters.
pub const DESCRIPTION_CHARS_MAX: usize = 2_000;

/// What a flag is for, which decides how long it should live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum FlagKind {
    /// Brings a change to users step by step; goes when it is done.
    Release,
    /// Compares variants.
    Experiment,
    /// Steers how the system runs.
    Operational,
    /// Stands ready to turn something off.
    KillSwitch,
    /// Says who may use something.
    Permission,
}

/// What decides a flag's answers in every environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlagDefinition {
    /// What applications send.
    pub key: FlagKey,
    /// Type of all values.
    pub value_type: ValueType,
    /// The answers it can give, 1 to 64; a boolean flag has `on` and `off`.
    pub variants: Vec<Variant>,
    /// What it is for.
    pub kind: FlagKind,
    /// Whether client keys may see it.
    pub client_visible: bool,
}

/// Named keys that get a variant before any rule is looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Target {
    /// What they get.
    pub variant: VariantKey,
    /// Compared with `targetingKey`; at most 10,000.
    pub keys: Vec<String>,
}

/// One flag in one environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlagConfig {
    /// Off means everyone gets the off variant.
    pub enabled: bool,
    /// Answer while off; absent means "use the code default".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_variant: Option<VariantKey>,
    /// Other flags that must answer in a certain way first, all of them; at most 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prerequisites: Vec<Prerequisite>,
    /// Named keys, looked at before the rules.
    #[serde(default)]
    pub targets: Vec<Target>,
    /// In order, the first that applies answers; at most 200.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// For everyone else.
    pub default_serve: Serve,
}

impl FlagDefinition {
    /// What is wrong with the definition, each problem with its place.
    pub fn validate(&self) -> Result<(), Vec<FieldProblem>> {
        let mut problems = Problems::default();
        if self.variants.is_empty() || self.variants.len() > VARIANTS_MAX {
            let message = format!("{} variants; a flag has 1 to {VARIANTS_MAX}", self.variants.len());
            problems.add("variants", message);
        }
        let mut seen = HashSet::new();
        for (index, variant) in self.variants.iter().enumerate() {
            if !seen.insert(&variant.key) {
                problems.add(format_args!("variants[{index}].key"), format!("'{}' is there twice", variant.key));
            }
            if let Err(error) = self.value_type.json(&variant.value) {
                problems.add(format_args!("variants[{index}].value"), error.to_string());
            }
        }
        if self.value_type == ValueType::Boolean && !is_on_and_off(&self.variants) {
            let message = "a boolean flag has exactly the variants on (true) and off (false)";
            problems.add("variants", message);
        }
        problems.into_result()
    }

    fn has(&self, variant: &VariantKey) -> bool {
        self.variants.iter().any(|v| v.key == *variant)
    }
}

impl FlagConfig {
    /// What is wrong with the config of `flag`, each problem with its place. That segments exist is for the caller to check.
    pub fn validate(&self, flag: &FlagDefinition) -> Result<(), Vec<FieldProblem>> {
        let mut problems = Problems::default();
        let mut check_variant = |path: Path<'_>, key: &VariantKey, problems: &mut Problems| {
            if !flag.has(key) {
                let known: Vec<&str> = flag.variants.iter().map(|v| v.key.as_str()).collect();
                problems.add(path, format!("'{key}' is not a variant of {}; it has {}", flag.key, known.join(", ")));
            }
        };
        if let Some(off) = &self.off_variant {
            check_variant(format_args!("off_variant"), off, &mut problems);
        }
        prerequisite::check(&self.prerequisites, &mut problems);
        if self.prerequisites.len() > PREREQUISITES_MAX {
            let message =
                format!("{} prerequisites; at most {PREREQUISITES_MAX} are allowed", self.prerequisites.len());
            problems.add("prerequisites", message);
        }
        let mut named = HashSet::new();
        for (index, target) in self.targets.iter().enumerate() {
            check_variant(format_args!("targets[{index}].variant"), &target.variant, &mut problems);
            check_texts(format_args!("targets[{index}].keys"), &target.keys, &mut problems);
            for (at, key) in target.keys.iter().enumerate() {
                if key.is_empty() {
                    problems.add(format_args!("targets[{index}].keys[{at}]"), "an empty key matches nobody; remove it");
                } else if !named.insert(key) {
                    problems.add(
                        format_args!("targets[{index}].keys[{at}]"),
                        format!("'{}' is a target twice", shown(key)),
                    );
                }
            }
        }
        if self.rules.len() > RULES_MAX {
            problems.add("rules", format!("{} rules; at most {RULES_MAX} are allowed", self.rules.len()));
        }
        let conditions = self.rules.iter().map(|rule| &rule.conditions);
        if self.rules.len() > RULES_MAX || !check_patterns(format_args!("rules"), conditions, &mut problems) {
            return problems.into_result();
        }
        let mut ids = HashSet::new();
        for (index, rule) in self.rules.iter().enumerate() {
            if !ids.insert(rule.id) {
                problems.add(format_args!("rules[{index}].id"), format!("'{}' is there twice", rule.id));
            }
            if rule.name.contains('\0') {
                problems.add(format_args!("rules[{index}].name"), "holds the character U+0000, which is not allowed");
            } else if rule.name.chars().count() > NAME_CHARS_MAX {
                let message = format!("'{}…': a name has at most {NAME_CHARS_MAX} characters", shown(&rule.name));
                problems.add(format_args!("rules[{index}].name"), message);
            }
            rule.conditions.check(format_args!("rules[{index}].conditions"), &mut problems);
            check_serve(format_args!("rules[{index}].serve"), &rule.serve, &mut check_variant, &mut problems);
        }
        check_serve(format_args!("default_serve"), &self.default_serve, &mut check_variant, &mut problems);
        if let Serve::Split(split) = &self.default_serve
            && split.covered() != split.total
        {
            let message = format!("the default must cover all {} buckets, it covers {}", split.total, split.covered());
            problems.add("default_serve.split.ranges", message);
        }
        if self.segments().len() > SEGMENTS_MAX {
            problems.add("rules", format!("{} segments; a flag reaches at most {SEGMENTS_MAX}", self.segments().len()));
        }
        problems.into_result()
    }

    /// The segments its rules use, each once, paused rules included.
    pub fn segments(&self) -> Vec<SegmentKey> {
        segments_of(self.rules.iter())
    }

    /// The segments that decide its answers: those of rules that are not paused.
    pub fn active_segments(&self) -> Vec<SegmentKey> {
        segments_of(self.rules.iter().filter(|rule| !rule.paused))
    }
}

fn segments_of<'r>(rules: impl Iterator<Item = &'r Rule>) -> Vec<SegmentKey> {
    let mut found = Vec::new();
    rules.for_each(|rule| rule.conditions.collect_segments(&mut found));
    found.sort();
    found.dedup();
    found
}

fn is_on_and_off(variants: &[Variant]) -> bool {
    let value_of = |key: &str| variants.iter().find(|v| v.key.as_str() == key).map(|v| v.value.as_str());
    variants.len() == 2 && value_of("on") == Some("true") && value_of("off") == Some("false")
}

fn check_serve(
    path: Path<'_>,
    serve: &Serve,
    check_variant: &mut impl FnMut(Path<'_>, &VariantKey, &mut Problems),
    problems: &mut Problems,
) {
    match serve {
        Serve::Variant(variant) => check_variant(format_args!("{path}.variant"), variant, problems),
        Serve::Split(split) => {
            split.check(format_args!("{path}.split"), problems);
            for (index, range) in split.ranges.iter().enumerate() {
                check_variant(format_args!("{path}.split.ranges[{index}].variant"), &range.variant, problems);
            }
        }
    }
}

//! From documents to the form that evaluation walks: keys become positions, lists are hashed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::evaluation::bucketing::{BucketingKey, Murmur3};
use crate::evaluation::condition::{Attribute, Condition, Values};
use crate::evaluation::context::Context;
use crate::evaluation::outcome::{ErrorCode, Outcome, Place, Reason};
use crate::model::flag::{FlagConfig, FlagDefinition};
use crate::model::key::{FlagKey, SegmentKey, VariantKey};
use crate::model::problem::FieldProblem;
use crate::model::rule::{Condition as ConditionDocument, Operator, Serve as ServeDocument};
use crate::model::segment::SegmentDefinition;
use crate::model::split::Split as SplitDocument;

/// A flag in one environment, ready to answer. One that could not be compiled answers an error.
#[derive(Debug)]
pub struct Flag {
    /// What applications send.
    pub key: FlagKey,
    /// Whether client keys may see it.
    pub client_visible: bool,
    pub(super) answers: Result<Answers, (ErrorCode, Box<str>)>,
}

/// A segment, ready to be asked.
#[derive(Debug)]
pub struct Segment {
    pub(super) excluded: HashSet<Box<str>>,
    pub(super) included: HashSet<Box<str>>,
    /// Absent when the document has no conditions: then only the included keys are in it.
    pub(super) conditions: Option<Condition>,
}

/// What the environment knows of a segment that a flag names.
pub enum SegmentLookup {
    /// It can be asked.
    Ready(Arc<Segment>),
    /// It was written by a newer version and no older form is known.
    Unreadable,
    /// There is none of this key.
    Missing,
}

#[derive(Debug)]
pub(super) struct Answers {
    pub(super) enabled: bool,
    pub(super) off: Option<u16>,
    pub(super) targets: HashMap<Box<str>, u16>,
    /// Or why they cannot be told: a segment that is missing or unreadable takes down nothing before them.
    pub(super) rules: Result<Box<[Rule]>, (ErrorCode, Box<str>)>,
    pub(super) default_serve: Serve,
    /// No targets and no rules that are not paused: the same answer for everybody.
    pub(super) is_static: bool,
    pub(super) segments: Box<[Arc<Segment>]>,
    variants: Box<[Variant]>,
}

#[derive(Debug)]
struct Variant {
    key: VariantKey,
    json: Box<str>,
}

#[derive(Debug)]
pub(super) struct Rule {
    /// Position in the config, paused rules counted.
    pub(super) index: u16,
    pub(super) conditions: Condition,
    pub(super) serve: Serve,
}

#[derive(Debug)]
pub(super) enum Serve {
    Variant(u16),
    Split(Split),
}

#[derive(Debug)]
pub(super) struct Split {
    bucket_by: Attribute,
    bucket_by_name: Box<str>,
    missing_detail: Box<str>,
    hash: Murmur3,
    /// One past the last bucket of each range or gap, ascending, with its owner.
    ends: Box<[(u32, Option<u16>)]>,
}

impl Flag {
    /// Compiles a flag of one environment; `segment` finds the segments it names.
    pub fn compile(
        definition: &FlagDefinition,
        config: &FlagConfig,
        segment: impl FnMut(&SegmentKey) -> SegmentLookup,
    ) -> Self {
        let answers = definition
            .validate()
            .and_then(|()| config.validate(definition))
            .map_err(|problems| (ErrorCode::ParseError, first_of(&problems)))
            .and_then(|()| Answers::compile(definition, config, segment));
        Self { key: definition.key.clone(), client_visible: definition.client_visible, answers }
    }

    /// A flag whose document this version cannot read; it answers [`ErrorCode::General`].
    pub fn unreadable(key: FlagKey, client_visible: bool, reason: &str) -> Self {
        Self { key, client_visible, answers: Err((ErrorCode::General, reason.into())) }
    }

    /// Keys of its variants by position; empty when it could not be compiled.
    pub fn variants(&self) -> impl Iterator<Item = &VariantKey> {
        self.answers.iter().flat_map(|answers| answers.variants.iter().map(|variant| &variant.key))
    }
}

impl Segment {
    /// Compiles a segment, or says what is wrong with it.
    pub fn compile(definition: &SegmentDefinition) -> Result<Self, Box<str>> {
        definition.validate().map_err(|problems| first_of(&problems))?;
        let texts = |keys: &[String]| keys.iter().map(|key| key.as_str().into()).collect();
        let conditions =
            (!definition.conditions.is_everyone()).then(|| compile_condition(&definition.conditions, &HashMap::new()));
        Ok(Self { excluded: texts(&definition.excluded), included: texts(&definition.included), conditions })
    }
}

impl Answers {
    fn compile(
        definition: &FlagDefinition,
        config: &FlagConfig,
        mut segment: impl FnMut(&SegmentKey) -> SegmentLookup,
    ) -> Result<Self, (ErrorCode, Box<str>)> {
        let mut segments = Vec::new();
        let mut positions = HashMap::new();
        let mut broken = None;
        for key in config.segments() {
            match segment(&key) {
                SegmentLookup::Ready(found) => {
                    positions.insert(key, segments.len() as u8);
                    segments.push(found);
                }
                SegmentLookup::Unreadable => {
                    broken =
                        Some((ErrorCode::General, format!("segment '{key}' was written by a newer version").into()));
                }
                SegmentLookup::Missing => {
                    broken = Some((ErrorCode::ParseError, format!("segment '{key}' does not exist here").into()));
                }
            }
        }
        let position =
            |key: &VariantKey| definition.variants.iter().position(|v| v.key == *key).map_or(0, |at| at as u16);
        let variants = definition.variants.iter().map(|variant| {
            let json = definition
                .value_type
                .json(&variant.value)
                .map_err(|e| (ErrorCode::ParseError, e.to_string().into()))?;
            Ok(Variant { key: variant.key.clone(), json: json.into() })
        });
        let rules: Box<[Rule]> = config
            .rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| !rule.paused)
            .map(|(index, rule)| Rule {
                index: index as u16,
                conditions: compile_condition(&rule.conditions, &positions),
                serve: compile_serve(&rule.serve, position),
            })
            .collect();
        let targets: HashMap<Box<str>, u16> = config
            .targets
            .iter()
            .flat_map(|target| target.keys.iter().map(|key| (key.as_str().into(), position(&target.variant))))
            .collect();
        Ok(Self {
            enabled: config.enabled,
            off: config.off_variant.as_ref().map(position),
            is_static: targets.is_empty() && rules.is_empty(),
            targets,
            rules: broken.map_or(Ok(rules), Err),
            default_serve: compile_serve(&config.default_serve, position),
            segments: segments.into(),
            variants: variants.collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn outcome(&self, variant: Option<u16>, reason: Reason, place: Place) -> Outcome<'_> {
        let found = variant.and_then(|at| self.variants.get(usize::from(at)));
        Outcome {
            value: found.map(|variant| &*variant.json),
            variant: found.map(|variant| variant.key.as_str()),
            variant_index: variant,
            reason,
            error: None,
            place,
        }
    }
}

impl Split {
    fn compile(split: &SplitDocument, position: impl Fn(&VariantKey) -> u16) -> Self {
        let mut ends = Vec::with_capacity(split.ranges.len() + 1);
        let mut free_from = 0;
        for range in &split.ranges {
            if range.start > free_from {
                ends.push((range.start, None));
            }
            ends.push((range.end, Some(position(&range.variant))));
            free_from = range.end;
        }
        Self {
            bucket_by: Attribute::new(&split.bucket_by),
            bucket_by_name: split.bucket_by.as_str().into(),
            missing_detail: format!(
                "the flag splits users by '{}', which is missing or is neither a text nor a whole number",
                split.bucket_by
            )
            .into(),
            hash: Murmur3::with_prefix(&format!("{}:", split.seed)),
            ends: ends.into(),
        }
    }

    pub(super) fn key<'c>(&self, context: &'c Context<'_>) -> Option<BucketingKey<'c>> {
        BucketingKey::of(self.bucket_by.of(context))
    }

    pub(super) fn bucket(&self, key: &BucketingKey<'_>) -> u32 {
        self.hash.bucket(key.as_str())
    }

    pub(super) fn owner(&self, bucket: u32) -> Option<u16> {
        let at = self.ends.partition_point(|(end, _)| *end <= bucket);
        self.ends.get(at).and_then(|(_, owner)| *owner)
    }

    pub(super) fn buckets_by_targeting_key(&self) -> bool {
        &*self.bucket_by_name == "targetingKey"
    }

    pub(super) fn missing_detail(&self) -> &str {
        &self.missing_detail
    }
}

fn compile_serve(serve: &ServeDocument, position: impl Fn(&VariantKey) -> u16) -> Serve {
    match serve {
        ServeDocument::Variant(variant) => Serve::Variant(position(variant)),
        ServeDocument::Split(split) => Serve::Split(Split::compile(split, position)),
    }
}

fn compile_condition(condition: &ConditionDocument, segments: &HashMap<SegmentKey, u8>) -> Condition {
    let members = |list: &[ConditionDocument]| list.iter().map(|c| compile_condition(c, segments)).collect();
    match condition {
        ConditionDocument::All(list) => Condition::All(members(list)),
        ConditionDocument::Any(list) => Condition::Any(members(list)),
        ConditionDocument::Leaf(leaf) => {
            let negate = leaf.negate;
            let attribute = Attribute::new(&leaf.attribute);
            match leaf.operator {
                Operator::Equals => Condition::Equals { attribute, values: Values::new(&leaf.values), negate },
                Operator::Exists => Condition::Exists { attribute, negate },
                Operator::InSegment => {
                    let named = leaf.values.iter().filter_map(|key| segments.get(key.as_str()).copied());
                    Condition::InSegment { segments: named.collect(), negate }
                }
            }
        }
    }
}

fn first_of(problems: &[FieldProblem]) -> Box<str> {
    problems.first().map_or_else(Box::default, |p| format!("{}: {}", p.field, p.message).into())
}

//! A record of how an answer came about, made by the very walk that decides it.
//!
//! The walk tells a [`Tracer`] each step. [`Silent`] does nothing and costs nothing; [`Recorder`] builds a [`Trace`].
//! Steps stand in the order of the documents, and end where the walk stopped looking: member 2 of a recorded group is
//! member 2 of that group in the flag's config.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::evaluation::condition::Leaf;
use crate::evaluation::context::{Context, Value};
use crate::evaluation::flag::{Flag, Prerequisite, Rule};
use crate::evaluation::outcome::Outcome;
use crate::evaluation::segment::Segment;
use crate::evaluation::split::Split;
use crate::model::condition::Operator;
use crate::model::id::RuleId;
use crate::model::key::{FlagKey, SegmentKey, VariantKey};

mod recorder;

pub(super) use recorder::Recorder;

/// How one flag came to its answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trace {
    /// The flag.
    pub flag: FlagKey,
    /// It is killed, which decides before everything else.
    pub is_killed: bool,
    /// The flags it needs, as far as they were asked.
    pub prerequisites: Vec<PrerequisiteTrace>,
    /// Its named keys; absent when it has none or was decided before.
    pub targets: Option<TargetsTrace>,
    /// Its rules that are not paused, up to the one that applied.
    pub rules: Vec<RuleTrace>,
    /// The split of its default serve, where that was reached.
    pub default_split: Option<SplitTrace>,
    /// What it answered.
    pub outcome: OutcomeTrace,
}

/// A flag that another one needs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PrerequisiteTrace {
    /// The parent.
    pub flag: FlagKey,
    /// Any of these was wanted.
    pub wanted: Vec<VariantKey>,
    /// What it answered; absent when it is off, killed, blocked, in error, not there, or needs the flag itself.
    pub variant: Option<String>,
    /// Whether that is wanted.
    pub is_satisfied: bool,
    /// How it came to its answer; absent when it is not there or was decided before.
    pub trace: Option<Box<Trace>>,
}

/// The look at named keys.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetsTrace {
    /// The targeting key as text; absent when it is missing.
    pub key: Option<String>,
    /// What the key gets; absent when it is not named.
    pub variant: Option<VariantKey>,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleTrace {
    /// Its id.
    pub id: RuleId,
    /// Its position in the config, paused rules counted.
    pub index: u16,
    /// Its conditions.
    pub conditions: ConditionTrace,
    /// Its split, where the conditions held and it has one.
    pub split: Option<SplitTrace>,
    /// The conditions held and there was a variant to serve.
    pub applied: bool,
}

/// A part of a tree of conditions.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ConditionTrace {
    /// Every member must hold; an empty one is everyone.
    All {
        /// As far as they were looked at.
        members: Vec<ConditionTrace>,
        /// The result.
        holds: bool,
    },
    /// One member must hold.
    Any {
        /// As far as they were looked at.
        members: Vec<ConditionTrace>,
        /// The result.
        holds: bool,
    },
    /// A comparison of an attribute or of the time.
    Comparison {
        /// The attribute's name.
        attribute: String,
        /// How it was compared.
        operator: Operator,
        /// Whether the result was turned around.
        negate: bool,
        /// The attribute's value as JSON; absent when it is not there.
        value: Option<String>,
        /// Whether the operator could read the value; if not, the result is false, negated or not.
        is_readable: bool,
        /// The result.
        holds: bool,
    },
    /// A look into segments.
    Segments {
        /// Whether the result was turned around.
        negate: bool,
        /// As far as they were looked at.
        segments: Vec<SegmentTrace>,
        /// The result.
        holds: bool,
    },
}

/// A look into one segment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SegmentTrace {
    /// The segment.
    pub segment: SegmentKey,
    /// What decided.
    pub by: SegmentBy,
    /// Its conditions, where they decided.
    pub conditions: Option<ConditionTrace>,
    /// The result.
    pub is_in: bool,
}

/// What decided whether a context is in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SegmentBy {
    /// Its excluded keys.
    Excluded,
    /// Its included keys.
    Included,
    /// Its conditions.
    Conditions,
    /// Nothing: it has no conditions, and the key is not included.
    Nothing,
    /// It was decided before in the same evaluation.
    Remembered,
}

/// A split.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SplitTrace {
    /// The attribute that is hashed.
    pub bucket_by: String,
    /// The text that is hashed; absent when the attribute is missing.
    pub input: Option<String>,
    /// The bucket; absent when the attribute is missing.
    pub bucket: Option<u32>,
    /// The range or gap around the bucket: its first bucket, and one past its last.
    pub range: Option<(u32, u32)>,
    /// Who owns the range; absent for a gap.
    pub variant: Option<VariantKey>,
}

/// What a flag answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutcomeTrace {
    /// The value as JSON; absent means "use the code default".
    #[serde(serialize_with = "as_json")]
    pub value: Option<String>,
    /// The variant's key.
    pub variant: Option<String>,
    /// OpenFeature's reason.
    pub reason: &'static str,
    /// OpenFeature's error code.
    pub error_code: Option<&'static str>,
    /// What is wrong.
    pub error_details: Option<String>,
    /// The parent that is not satisfied.
    pub blocked_by: Option<String>,
}

impl From<&Outcome<'_>> for OutcomeTrace {
    fn from(outcome: &Outcome<'_>) -> Self {
        Self {
            value: outcome.value.map(str::to_owned),
            variant: outcome.variant.map(str::to_owned),
            reason: outcome.reason.as_str(),
            error_code: outcome.error.map(|(code, _)| code.as_str()),
            error_details: outcome.error.map(|(_, detail)| detail.to_owned()),
            blocked_by: outcome.blocked_by.map(str::to_owned),
        }
    }
}

/// Writes JSON as the value it is, digits and all, rather than as a text that holds it.
fn as_json<S: Serializer>(json: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    let raw = json.as_ref().map(|json| RawValue::from_string(json.clone())).transpose();
    raw.map_err(serde::ser::Error::custom)?.serialize(serializer)
}

/// What a comparison looked at.
pub(super) enum Looked<'a> {
    Attribute(&'a str, Option<&'a Value<'a>>),
    Segments,
    Now(i64),
}

/// Who is told of the steps of a walk. Every `begin` has its `end`.
pub(super) trait Tracer {
    fn begin_flag(&mut self, _flag: &Flag, _is_killed: bool) {}
    fn end_flag(&mut self, _outcome: &Outcome<'_>) {}
    fn begin_prerequisite(&mut self, _prerequisite: &Prerequisite) {}
    fn end_prerequisite(&mut self, _variant: Option<&str>, _is_satisfied: bool) {}
    fn targets(&mut self, _key: Option<&str>, _variant: Option<&VariantKey>) {}
    fn begin_rule(&mut self, _rule: &Rule) {}
    fn end_rule(&mut self, _outcome: Option<&Outcome<'_>>) {}
    fn split(&mut self, _split: &Split, _context: &Context<'_>, _bucket: Option<u32>, _owner: Option<&VariantKey>) {}
    fn begin_group(&mut self, _is_all: bool) {}
    fn end_group(&mut self, _holds: bool) {}
    fn begin_segments(&mut self) {}
    fn leaf(&mut self, _leaf: &Leaf, _looked: Looked<'_>, _passes: Option<bool>, _holds: bool) {}
    fn known_segment(&mut self, _segment: &Segment, _is_in: bool) {}
    fn begin_segment(&mut self, _segment: &Segment) {}
    fn end_segment(&mut self, _by: SegmentBy, _is_in: bool) {}
}

/// Wants to know nothing.
pub(super) struct Silent;

impl Tracer for Silent {}

//! Builds a trace from the steps of a walk.

use crate::evaluation::condition::Leaf;
use crate::evaluation::context::{Context, Value};
use crate::evaluation::flag::{Flag, Prerequisite, Rule};
use crate::evaluation::outcome::Outcome;
use crate::evaluation::segment::Segment;
use crate::evaluation::split::Split;
use crate::evaluation::trace::{
    ConditionTrace, Looked, OutcomeTrace, PrerequisiteTrace, RuleTrace, SegmentBy, SegmentTrace, SplitTrace,
    TargetsTrace, Trace, Tracer,
};
use crate::model::condition::NOW;
use crate::model::id::RuleId;
use crate::model::key::{FlagKey, SegmentKey, VariantKey};

/// What is open at the moment, innermost last.
#[derive(Default)]
pub(in crate::evaluation) struct Recorder {
    open: Vec<Open>,
    done: Option<Trace>,
}

enum Open {
    Flag(Box<OpenFlag>),
    Prerequisite { flag: FlagKey, wanted: Vec<VariantKey>, trace: Option<Box<Trace>> },
    Rule { id: RuleId, index: u16, conditions: Option<ConditionTrace>, split: Option<SplitTrace> },
    Group { is_all: bool, members: Vec<ConditionTrace> },
    Segments(Vec<SegmentTrace>),
    Segment { segment: SegmentKey, conditions: Option<ConditionTrace> },
}

struct OpenFlag {
    flag: FlagKey,
    is_killed: bool,
    prerequisites: Vec<PrerequisiteTrace>,
    targets: Option<TargetsTrace>,
    rules: Vec<RuleTrace>,
    default_split: Option<SplitTrace>,
}

impl Recorder {
    /// The finished trace; `None` when no flag was walked.
    pub(in crate::evaluation) fn into_trace(self) -> Option<Trace> {
        self.done
    }

    fn add_condition(&mut self, condition: ConditionTrace) {
        match self.open.last_mut() {
            Some(Open::Group { members, .. }) => members.push(condition),
            Some(Open::Rule { conditions, .. } | Open::Segment { conditions, .. }) => *conditions = Some(condition),
            _ => {}
        }
    }

    fn add_segment(&mut self, segment: SegmentTrace) {
        if let Some(Open::Segments(segments)) = self.open.last_mut() {
            segments.push(segment);
        }
    }

    fn flag(&mut self) -> Option<&mut OpenFlag> {
        match self.open.last_mut() {
            Some(Open::Flag(flag)) => Some(flag),
            _ => None,
        }
    }
}

impl Tracer for Recorder {
    fn begin_flag(&mut self, flag: &Flag, is_killed: bool) {
        self.open.push(Open::Flag(Box::new(OpenFlag {
            flag: flag.key.clone(),
            is_killed,
            prerequisites: Vec::new(),
            targets: None,
            rules: Vec::new(),
            default_split: None,
        })));
    }

    fn end_flag(&mut self, outcome: &Outcome<'_>) {
        let Some(Open::Flag(flag)) = self.open.pop() else { return };
        let OpenFlag { flag, is_killed, prerequisites, targets, rules, default_split } = *flag;
        let outcome = OutcomeTrace::from(outcome);
        let trace = Trace { flag, is_killed, prerequisites, targets, rules, default_split, outcome };
        match self.open.last_mut() {
            Some(Open::Prerequisite { trace: parent, .. }) => *parent = Some(Box::new(trace)),
            _ => self.done = Some(trace),
        }
    }

    fn begin_prerequisite(&mut self, prerequisite: &Prerequisite) {
        let wanted = prerequisite.variants.to_vec();
        self.open.push(Open::Prerequisite { flag: prerequisite.flag.clone(), wanted, trace: None });
    }

    fn end_prerequisite(&mut self, variant: Option<&str>, is_satisfied: bool) {
        let Some(Open::Prerequisite { flag, wanted, trace }) = self.open.pop() else { return };
        let variant = variant.map(str::to_owned);
        if let Some(child) = self.flag() {
            child.prerequisites.push(PrerequisiteTrace { flag, wanted, variant, is_satisfied, trace });
        }
    }

    fn targets(&mut self, key: Option<&str>, variant: Option<&VariantKey>) {
        if let Some(flag) = self.flag() {
            flag.targets = Some(TargetsTrace { key: key.map(str::to_owned), variant: variant.cloned() });
        }
    }

    fn begin_rule(&mut self, rule: &Rule) {
        self.open.push(Open::Rule { id: rule.id, index: rule.index, conditions: None, split: None });
    }

    fn end_rule(&mut self, outcome: Option<&Outcome<'_>>) {
        let Some(Open::Rule { id, index, conditions: Some(conditions), split }) = self.open.pop() else { return };
        let applied = outcome.is_some();
        if let Some(flag) = self.flag() {
            flag.rules.push(RuleTrace { id, index, conditions, split, applied });
        }
    }

    fn split(&mut self, split: &Split, context: &Context<'_>, bucket: Option<u32>, owner: Option<&VariantKey>) {
        let trace = SplitTrace {
            bucket_by: split.bucket_by.name().to_owned(),
            input: split.input(context),
            bucket,
            range: bucket.map(|bucket| split.range(bucket)),
            variant: owner.cloned(),
        };
        match self.open.last_mut() {
            Some(Open::Rule { split, .. }) => *split = Some(trace),
            Some(Open::Flag(flag)) => flag.default_split = Some(trace),
            _ => {}
        }
    }

    fn begin_group(&mut self, is_all: bool) {
        self.open.push(Open::Group { is_all, members: Vec::new() });
    }

    fn end_group(&mut self, holds: bool) {
        let Some(Open::Group { is_all, members }) = self.open.pop() else { return };
        let group =
            if is_all { ConditionTrace::All { members, holds } } else { ConditionTrace::Any { members, holds } };
        self.add_condition(group);
    }

    fn begin_segments(&mut self) {
        self.open.push(Open::Segments(Vec::new()));
    }

    fn leaf(&mut self, leaf: &Leaf, looked: Looked<'_>, passes: Option<bool>, holds: bool) {
        let (operator, negate) = (leaf.operator, leaf.negate);
        let comparison = |attribute: &str, value: Option<String>| ConditionTrace::Comparison {
            attribute: attribute.to_owned(),
            operator,
            negate,
            value,
            is_readable: passes.is_some(),
            holds,
        };
        let condition = match looked {
            Looked::Attribute(name, value) => comparison(name, value.map(Value::to_json)),
            Looked::Now(now_ms) => comparison(NOW, Some(now_ms.to_string())),
            Looked::Segments => {
                let Some(Open::Segments(segments)) = self.open.pop() else { return };
                ConditionTrace::Segments { negate, segments, holds }
            }
        };
        self.add_condition(condition);
    }

    fn known_segment(&mut self, segment: &Segment, is_in: bool) {
        let segment = segment.key.clone();
        self.add_segment(SegmentTrace { segment, by: SegmentBy::Remembered, conditions: None, is_in });
    }

    fn begin_segment(&mut self, segment: &Segment) {
        self.open.push(Open::Segment { segment: segment.key.clone(), conditions: None });
    }

    fn end_segment(&mut self, by: SegmentBy, is_in: bool) {
        let Some(Open::Segment { segment, conditions }) = self.open.pop() else { return };
        self.add_segment(SegmentTrace { segment, by, conditions, is_in });
    }
}

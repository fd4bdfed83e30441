//! The walk through one flag and what it reaches: the only place that decides an answer.

use arrayvec::ArrayVec;

use crate::compare::moment::Moment;
use crate::evaluation::attribute::Attributes;
use crate::evaluation::bucketing::{self, KeyText};
use crate::evaluation::condition::{Condition, Leaf, Subject};
use crate::evaluation::context::Value;
use crate::evaluation::flag::{Answers, Flag, Prerequisite, Rules, Serve};
use crate::evaluation::outcome::{Outcome, Place, Reason};
use crate::evaluation::segment::{Linked, Segment};
use crate::evaluation::split::Split;
use crate::evaluation::trace::{Looked, SegmentBy, Tracer};
use crate::evaluation::{Environment, Query};
use crate::model::flag::{PREREQUISITES_MAX, SEGMENTS_MAX};
use crate::model::sdk_key::SdkKeyKind;

/// A killed flag whose off variant is not known.
const KILLED: Outcome<'static> = Outcome {
    value: None,
    variant: None,
    variant_index: None,
    reason: Reason::Disabled,
    error: None,
    place: Place::Killed,
    blocked_by: None,
};

/// One question on its way. What was decided once is remembered, so that each flag and segment is walked at most once.
pub(super) struct Walk<'e, 'q, E, T> {
    environment: &'e E,
    query: &'q Query<'q>,
    flags: ArrayVec<(*const Flag, Progress<'e>), { PREREQUISITES_MAX + 1 }>,
    segments: ArrayVec<(*const Segment, bool), SEGMENTS_MAX>,
    pub(super) tracer: T,
}

/// How far a flag that others need was walked.
#[derive(Clone, Copy)]
enum Progress<'e> {
    /// It waits for its own prerequisites: meeting it again is a cycle.
    Begun,
    /// Its variant, where it answered by a target, a rule or its default.
    Done(Option<&'e str>),
}

/// What the conditions of one flag or segment look at.
struct Scope<'e, 'q> {
    attributes: Attributes<'e, 'q, 'q>,
    /// All segments that the flag reaches.
    linked: &'e [Linked],
    /// Where the segments that a segment uses are among them; a flag's own come first, in its order.
    uses: Option<&'e [u8]>,
}

impl<'e, 'q, E: Environment, T: Tracer> Walk<'e, 'q, E, T> {
    pub(super) fn new(environment: &'e E, query: &'q Query<'q>, tracer: T) -> Self {
        Self { environment, query, flags: ArrayVec::new(), segments: ArrayVec::new(), tracer }
    }

    /// What a flag answers.
    pub(super) fn flag(&mut self, flag: &'e Flag, is_killed: bool) -> Outcome<'e> {
        self.tracer.begin_flag(flag, is_killed);
        let outcome = match &flag.answers {
            Ok(answers) => self.answer(flag, answers, is_killed),
            // What cannot be read has no off variant that could be told.
            Err(_) if is_killed => KILLED,
            Err((code, detail)) => Outcome::error(*code, detail),
        };
        self.tracer.end_flag(&outcome);
        outcome
    }

    fn answer(&mut self, flag: &'e Flag, answers: &'e Answers, is_killed: bool) -> Outcome<'e> {
        if is_killed {
            return answers.outcome(answers.off, Reason::Disabled, Place::Killed);
        }
        if !answers.enabled {
            return answers.outcome(answers.off, Reason::Disabled, Place::Off);
        }
        if !answers.prerequisites.is_empty()
            && let Some(parent) = self.unsatisfied(flag, &answers.prerequisites)
        {
            let blocked = answers.outcome(answers.off, Reason::Disabled, Place::Blocked);
            return Outcome { blocked_by: Some(parent).filter(|parent| self.sees(parent)), ..blocked };
        }
        if !answers.targets.is_empty() {
            let key = bucketing::named(self.query.context.targeting_key());
            let variant = key.as_ref().and_then(|key| answers.targets.get(key.as_str())).copied();
            self.tracer.targets(key.as_ref().map(KeyText::as_str), variant.and_then(|at| answers.variant(at)));
            if variant.is_some() {
                return answers.outcome(variant, Reason::TargetingMatch, Place::Target);
            }
        }
        match &answers.rules {
            Ok(rules) => self.rules(answers, rules).unwrap_or_else(|| self.default_serve(answers)),
            Err((code, detail)) => Outcome::error(*code, detail),
        }
    }

    /// The first parent that does not answer as it must.
    fn unsatisfied(&mut self, flag: &'e Flag, prerequisites: &'e [Prerequisite]) -> Option<&'e str> {
        // Full only where more is reached than may be saved: then the flag counts as blocked, and the walk ends.
        let own = self.flags.len();
        if self.flags.try_push((flag, Progress::Begun)).is_err() {
            return prerequisites.first().map(|prerequisite| prerequisite.flag.as_str());
        }
        let found = prerequisites.iter().find(|prerequisite| {
            self.tracer.begin_prerequisite(prerequisite);
            let variant = self.variant_of(prerequisite.flag.as_str());
            let is_satisfied = variant.is_some_and(|v| prerequisite.variants.iter().any(|named| named.as_str() == v));
            self.tracer.end_prerequisite(variant, is_satisfied);
            !is_satisfied
        });
        if found.is_some() {
            self.flags[own].1 = Progress::Done(None);
        }
        found.map(|prerequisite| prerequisite.flag.as_str())
    }

    /// The variant of a flag that others need; `None` when it is off, killed, blocked, in error or not there.
    fn variant_of(&mut self, key: &str) -> Option<&'e str> {
        let (flag, is_killed) = self.environment.flag(key)?;
        let known = self.flags.iter().find(|(known, _)| std::ptr::eq(*known, flag));
        match known {
            Some((_, Progress::Begun)) => return None,
            Some((_, Progress::Done(variant))) => return *variant,
            None => {}
        }
        let outcome = self.flag(flag, is_killed);
        let answered = matches!(outcome.place, Place::Target | Place::Rule(_) | Place::Default);
        let variant = outcome.variant.filter(|_| answered);
        match self.flags.iter_mut().find(|(known, _)| std::ptr::eq(*known, flag)) {
            Some((_, progress)) => *progress = Progress::Done(variant),
            None => drop(self.flags.try_push((flag, Progress::Done(variant)))),
        }
        variant
    }

    fn sees(&self, key: &str) -> bool {
        self.query.asker == SdkKeyKind::Server || self.environment.flag(key).is_some_and(|(f, _)| f.client_visible)
    }

    fn rules(&mut self, answers: &'e Answers, rules: &'e Rules) -> Option<Outcome<'e>> {
        if rules.list.is_empty() {
            return None;
        }
        let attributes = Attributes::new(&rules.attributes, self.query.context);
        let mut scope = Scope { attributes, linked: &rules.segments, uses: None };
        for rule in &rules.list {
            self.tracer.begin_rule(rule);
            let place = Place::Rule(rule.index);
            let outcome = self.holds(&rule.conditions, &mut scope).then(|| match &rule.serve {
                Serve::Variant(at) => Some(answers.outcome(Some(*at), Reason::TargetingMatch, place)),
                Serve::Split(split) => {
                    let variant = self.owner(answers, split)?;
                    Some(answers.outcome(Some(variant), Reason::Split, place))
                }
            });
            let outcome = outcome.flatten();
            self.tracer.end_rule(outcome.as_ref());
            if outcome.is_some() {
                return outcome;
            }
        }
        None
    }

    fn default_serve(&mut self, answers: &'e Answers) -> Outcome<'e> {
        let split = match &answers.default_serve {
            Serve::Variant(variant) => {
                let reason = if answers.is_static { Reason::Static } else { Reason::Default };
                return answers.outcome(Some(*variant), reason, Place::Default);
            }
            Serve::Split(split) => split,
        };
        match self.owner(answers, split) {
            Some(variant) => answers.outcome(Some(variant), Reason::Split, Place::Default),
            None => split.missing(),
        }
    }

    /// Whom a split gives the context to; `None` without a bucketing key, or in a gap.
    fn owner(&mut self, answers: &'e Answers, split: &Split) -> Option<u16> {
        let bucket = split.bucket(self.query.context);
        let owner = bucket.and_then(|bucket| split.owner(bucket));
        self.tracer.split(split, self.query.context, bucket, owner.and_then(|at| answers.variant(at)));
        owner
    }

    fn holds(&mut self, condition: &'e Condition, scope: &mut Scope<'e, 'q>) -> bool {
        let (members, is_all) = match condition {
            Condition::Leaf(leaf) => return self.leaf(leaf, scope),
            Condition::All(members) => (members, true),
            Condition::Any(members) => (members, false),
        };
        self.tracer.begin_group(is_all);
        // `all` ends at the first that fails, `any` at the first that holds.
        let holds = members.iter().all(|member| self.holds(member, scope) == is_all) == is_all;
        self.tracer.end_group(holds);
        holds
    }

    fn leaf(&mut self, leaf: &'e Leaf, scope: &mut Scope<'e, 'q>) -> bool {
        let (looked, passes) = match &leaf.subject {
            Subject::Attribute(at, test) => {
                let value = scope.attributes.value(*at);
                (Looked::Attribute(scope.attributes.name(*at), value), value.and_then(|value| test.passes(value)))
            }
            Subject::Presence(at) => {
                let value = scope.attributes.value(*at);
                let is_present = value.is_some_and(|value| *value != Value::Null);
                (Looked::Attribute(scope.attributes.name(*at), value), Some(is_present))
            }
            Subject::Segments(segments) => {
                self.tracer.begin_segments();
                let is_in = segments.iter().any(|&local| {
                    let at = scope.uses.map_or(Some(local), |uses| uses.get(usize::from(local)).copied());
                    at.is_some_and(|at| self.is_in(scope.linked, at))
                });
                (Looked::Segments, Some(is_in))
            }
            Subject::Now(bound) => {
                let now_ms = self.query.now_ms;
                (Looked::Now(now_ms), Some(bound.admits_moment(Moment::from_unix_ms(now_ms))))
            }
        };
        // What the operator cannot read is false, negated or not.
        let holds = passes.is_some_and(|passes| passes != leaf.negate);
        self.tracer.leaf(leaf, looked, passes, holds);
        holds
    }

    /// Whether the context is in a segment: excluded keys first, then included keys, then conditions.
    fn is_in(&mut self, linked: &'e [Linked], at: u8) -> bool {
        let Some(Linked { segment, uses }) = linked.get(usize::from(at)) else { return false };
        let segment: &'e Segment = segment;
        if let Some((_, is_in)) = self.segments.iter().find(|(known, _)| std::ptr::eq(*known, segment)) {
            let is_in = *is_in;
            self.tracer.known_segment(segment, is_in);
            return is_in;
        }
        self.tracer.begin_segment(segment);
        let key = bucketing::named(self.query.context.targeting_key());
        let is_named = |keys: &hashbrown::HashSet<Box<str>>| {
            key.as_ref().is_some_and(|key| !keys.is_empty() && keys.contains(key.as_str()))
        };
        let (is_in, by) = if is_named(&segment.excluded) {
            (false, SegmentBy::Excluded)
        } else if is_named(&segment.included) {
            (true, SegmentBy::Included)
        } else if let Some(conditions) = &segment.conditions {
            let attributes = Attributes::new(&segment.attributes, self.query.context);
            let mut scope = Scope { attributes, linked, uses: Some(uses) };
            (self.holds(conditions, &mut scope), SegmentBy::Conditions)
        } else {
            (false, SegmentBy::Nothing)
        };
        self.tracer.end_segment(by, is_in);
        // Full only where more is reached than may be saved. A flag links no more than fit in, so that even then none of
        // them is walked more than twice for each flag.
        if self.segments.is_full() {
            self.segments.clear();
        }
        self.segments.push((segment, is_in));
        is_in
    }
}

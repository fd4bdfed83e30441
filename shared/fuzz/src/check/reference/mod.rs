//! The rules of evaluation once more, as they are written: documents are walked anew for every answer, every value
//! is compared by itself, and prerequisites are settled in rounds. Only single texts are read by `shared::compare`,
//! which is checked by itself.

mod condition;

use std::collections::{HashMap, HashSet};

use shared::compare::number::Number;
use shared::compare::pattern::Pattern;
use shared::evaluation::{
    Bucketing, Context, ErrorCode, Key, Outcome, Place, Reason, StateDocument, StateFlag, TARGETING_KEY, Value,
};
use shared::model::condition::{Condition, Operator};
use shared::model::flag::SEGMENTS_MAX;
use shared::model::key::{SegmentKey, VariantKey};
use shared::model::rule::Serve;
use shared::model::segment::SegmentDefinition;
use shared::model::split::Split;

/// Whole numbers beyond this are no keys.
const KEY_MAX: i128 = 1 << 53;

/// The documents of an environment.
pub struct Reference<'d> {
    /// Of doubled keys the last counts.
    flags: HashMap<&'d str, &'d StateFlag>,
    segments: HashMap<&'d str, &'d SegmentDefinition>,
    /// Flags whose own documents are right.
    valid: HashSet<&'d str>,
    /// Flags all of whose segments are there, right, not too many and without cycles.
    linked: HashSet<&'d str>,
    /// Compiled once, since that is slow.
    patterns: HashMap<&'d str, Pattern>,
}

/// What a flag answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer<'d> {
    /// The variant's key.
    pub variant: Option<&'d str>,
    /// Why.
    pub reason: Reason,
    /// Where it comes from.
    pub place: Place,
    /// The parent that is not satisfied, whether or not the asker may see it.
    pub blocked_by: Option<&'d str>,
}

impl<'d> From<Outcome<'d>> for Answer<'d> {
    fn from(outcome: Outcome<'d>) -> Self {
        let Outcome { variant, reason, place, blocked_by, .. } = outcome;
        Self { variant, reason, place, blocked_by }
    }
}

impl<'d> Answer<'d> {
    fn new(variant: Option<&'d VariantKey>, reason: Reason, place: Place) -> Self {
        Self { variant: variant.map(VariantKey::as_str), reason, place, blocked_by: None }
    }

    fn error(code: ErrorCode) -> Self {
        Self::new(None, Reason::Error, Place::Error(code))
    }

    /// What flags that need this one see.
    fn satisfies(&self, wanted: &[VariantKey]) -> bool {
        matches!(self.place, Place::Target | Place::Rule(_) | Place::Default)
            && wanted.iter().any(|variant| Some(variant.as_str()) == self.variant)
    }
}

/// About whom, and when.
struct Question<'q> {
    context: &'q Context<'q>,
    now_ms: i64,
}

impl<'d> Reference<'d> {
    /// Looks at what is wrong with the documents.
    pub fn new(document: &'d StateDocument) -> Self {
        let flags: HashMap<_, _> = document.flags.iter().map(|flag| (flag.flag.key.as_str(), flag)).collect();
        let segments: HashMap<_, _> = document.segments.iter().map(|segment| (segment.key.as_str(), segment)).collect();
        let is_valid = |flag: &StateFlag| flag.flag.validate().is_ok() && flag.config.validate(&flag.flag).is_ok();
        let valid = flags.iter().filter(|(_, flag)| is_valid(flag)).map(|(key, _)| *key).collect();
        let is_linked = |flag: &StateFlag| are_right(&segments, flag.config.active_segments());
        let linked = flags.iter().filter(|(_, flag)| is_linked(flag)).map(|(key, _)| *key).collect();
        let trees = flags.values().flat_map(|flag| flag.config.rules.iter().map(|rule| &rule.conditions));
        let trees = trees.chain(segments.values().map(|segment| &segment.conditions));
        let leaves = trees.flat_map(Condition::leaves).filter(|leaf| leaf.operator == Operator::Matches);
        let patterns = leaves.flat_map(|leaf| &leaf.values);
        let patterns = patterns.filter_map(|text| Some((text.as_str(), Pattern::parse(text).ok()?))).collect();
        Self { flags, segments, valid, linked, patterns }
    }

    /// What each flag answers.
    pub fn answers(&self, context: &Context<'_>, now_ms: i64) -> HashMap<&'d str, Answer<'d>> {
        let question = Question { context, now_ms };
        let mut settled = HashMap::new();
        loop {
            let known = settled.len();
            for (key, flag) in &self.flags {
                if !settled.contains_key(key)
                    && let Some(answer) = self.answer(key, flag, &settled, &question)
                {
                    settled.insert(*key, answer);
                }
            }
            if settled.len() == known {
                break;
            }
        }
        // Those that are left wait for one that waits for them.
        let waiting = self.flags.iter().filter(|(key, _)| !settled.contains_key(*key));
        let blocked: Vec<_> = waiting.map(|(key, flag)| (*key, blocked(flag, &settled))).collect();
        settled.extend(blocked);
        settled
    }

    /// `None` while it waits for the answer of a flag that it needs.
    fn answer(
        &self,
        key: &str,
        state: &'d StateFlag,
        settled: &HashMap<&'d str, Answer<'d>>,
        question: &Question<'_>,
    ) -> Option<Answer<'d>> {
        let config = &state.config;
        let off = config.off_variant.as_ref();
        let is_valid = self.valid.contains(key);
        if state.killed {
            return Some(Answer::new(off.filter(|_| is_valid), Reason::Disabled, Place::Killed));
        }
        if !is_valid {
            return Some(Answer::error(ErrorCode::ParseError));
        }
        if !config.enabled {
            return Some(Answer::new(off, Reason::Disabled, Place::Off));
        }
        for needed in &config.prerequisites {
            match settled.get(needed.flag.as_str()) {
                Some(parent) if parent.satisfies(&needed.variants) => {}
                None if self.flags.contains_key(needed.flag.as_str()) => return None,
                _ => return Some(blocked(state, settled)),
            }
        }
        let named = text_of_key(question.context.targeting_key());
        let is_named = |keys: &[String]| named.as_ref().is_some_and(|named| keys.contains(named));
        if let Some(target) = config.targets.iter().find(|target| is_named(&target.keys)) {
            return Some(Answer::new(Some(&target.variant), Reason::TargetingMatch, Place::Target));
        }
        if !self.linked.contains(key) {
            return Some(Answer::error(ErrorCode::ParseError));
        }
        let mut members = HashMap::new();
        for (index, rule) in config.rules.iter().enumerate().filter(|(_, rule)| !rule.paused) {
            if self.holds(&rule.conditions, question, &mut members)
                && let Some((variant, is_split)) = served(&rule.serve, question)
            {
                let reason = if is_split { Reason::Split } else { Reason::TargetingMatch };
                return Some(Answer::new(Some(variant), reason, Place::Rule(index as u16)));
            }
        }
        let is_same_for_all = config.targets.iter().all(|target| target.keys.is_empty())
            && config.prerequisites.is_empty()
            && config.rules.iter().all(|rule| rule.paused);
        Some(match (served(&config.default_serve, question), &config.default_serve) {
            (Some((variant, true)), _) => Answer::new(Some(variant), Reason::Split, Place::Default),
            (Some((variant, false)), _) if is_same_for_all => {
                Answer::new(Some(variant), Reason::Static, Place::Default)
            }
            (Some((variant, false)), _) => Answer::new(Some(variant), Reason::Default, Place::Default),
            (None, Serve::Split(Split { bucket_by, .. })) if bucket_by != TARGETING_KEY => {
                Answer::error(ErrorCode::InvalidContext)
            }
            (None, _) => Answer::error(ErrorCode::TargetingKeyMissing),
        })
    }
}

/// The answer of a flag whose prerequisites are not satisfied.
fn blocked<'d>(flag: &'d StateFlag, settled: &HashMap<&'d str, Answer<'d>>) -> Answer<'d> {
    let is_satisfied = |key: &str, wanted: &[VariantKey]| settled.get(key).is_some_and(|a| a.satisfies(wanted));
    let first = flag.config.prerequisites.iter().find(|p| !is_satisfied(p.flag.as_str(), &p.variants));
    let blocked = Answer::new(flag.config.off_variant.as_ref(), Reason::Disabled, Place::Blocked);
    Answer { blocked_by: first.map(|prerequisite| prerequisite.flag.as_str()), ..blocked }
}

/// Whether all segments reached are there and right, and none reaches itself.
fn are_right(segments: &HashMap<&str, &SegmentDefinition>, direct: Vec<SegmentKey>) -> bool {
    let reached = reached(segments, direct);
    let is_right = |key: &SegmentKey| {
        let Some(segment) = segments.get(key.as_str()) else { return false };
        segment.validate().is_ok() && !self::reached(segments, segment.segments()).contains(key)
    };
    reached.len() <= SEGMENTS_MAX && reached.iter().all(is_right)
}

fn reached(segments: &HashMap<&str, &SegmentDefinition>, direct: Vec<SegmentKey>) -> HashSet<SegmentKey> {
    let mut reached = HashSet::new();
    let mut open = direct;
    while let Some(key) = open.pop() {
        if !reached.contains(&key) {
            open.extend(segments.get(key.as_str()).map(|segment| segment.segments()).unwrap_or_default());
            reached.insert(key);
        }
    }
    reached
}

/// The whole name, or else the way along its dots.
fn attribute<'c>(context: &'c Context<'_>, name: &str) -> Option<&'c Value<'c>> {
    if let Some(value) = context.get(name) {
        return Some(value);
    }
    let mut parts = name.split('.');
    let mut value = context.get(parts.next().filter(|first| *first != name)?)?;
    for part in parts {
        let Value::Object(fields) = value else { return None };
        value = fields.get(part)?;
    }
    Some(value)
}

fn text_of_key(value: Option<&Value<'_>>) -> Option<String> {
    match value? {
        Value::Text(text) if !text.is_empty() => Some(text.to_string()),
        Value::Number(Number::Integer(integer)) if integer.abs() <= KEY_MAX => Some(integer.to_string()),
        _ => None,
    }
}

/// The variant that is served, and whether a split decided.
fn served<'d>(serve: &'d Serve, question: &Question<'_>) -> Option<(&'d VariantKey, bool)> {
    match serve {
        Serve::Variant(variant) => Some((variant, false)),
        Serve::Split(split) => {
            let bucketing = Bucketing::new(split.algorithm, &split.seed, split.total);
            let key = Key::of(attribute(question.context, &split.bucket_by));
            let bucket = bucketing.bucket(key.as_ref())?;
            let range = split.ranges.iter().find(|range| range.start <= bucket && bucket < range.end)?;
            Some((&range.variant, true))
        }
    }
}

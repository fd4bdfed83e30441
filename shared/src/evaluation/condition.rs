//! Compiled conditions: names are positions, lists are hashed, patterns, versions, times and networks are parsed.

use std::cmp::Ordering;

use crate::compare::moment::Moment;
use crate::compare::network::{self, Network, Networks};
use crate::compare::number::{Number, Numbers};
use crate::compare::pattern::{Pattern, TEXT_BYTES_MAX};
use crate::compare::semver::{OwnedVersion, Range, Ranges, Version, Versions};
use crate::compare::text::{Needles, Texts};
use crate::evaluation::attribute::Names;
use crate::evaluation::context::Value;
use crate::model::condition::{Condition as Document, Leaf as LeafDocument, NOW, Operator};

/// A tree of `all` and `any`, in the order of its document.
#[derive(Debug)]
pub(super) enum Condition {
    All(Box<[Condition]>),
    Any(Box<[Condition]>),
    Leaf(Leaf),
}

/// One comparison.
#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) operator: Operator,
    pub(super) negate: bool,
    pub(super) subject: Subject,
}

/// What a comparison looks at.
#[derive(Debug)]
pub(super) enum Subject {
    /// The attribute at a position, with a test of its value.
    Attribute(u32, Test),
    /// Only whether the attribute at a position is there.
    Presence(u32),
    /// Positions in the flag's or segment's list of segments.
    Segments(Box<[u8]>),
    /// The time of the evaluation.
    Now(Bound<Moment>),
}

/// A test of one value. Several values mean "any of these", so a bound is the easiest of them to meet.
#[derive(Debug)]
pub(super) enum Test {
    Equals(Box<Equals>),
    Text(Box<Needles>),
    Matches(Box<[Pattern]>),
    Number(Bound<Number>),
    Versions(Versions),
    Version(Box<Bound<OwnedVersion>>),
    Ranges(Ranges),
    Moment(Bound<Moment>),
    Networks(Box<Networks>),
}

/// The values of `equals`, each readable as text, as a number, or as a boolean.
#[derive(Debug)]
pub(super) struct Equals {
    texts: Texts,
    numbers: Numbers,
    has_true: bool,
    has_false: bool,
}

/// One side of an ordered type.
#[derive(Debug)]
pub(super) struct Bound<T> {
    limit: T,
    /// The side that is in: less or greater.
    side: Ordering,
    /// The limit itself is in too.
    is_closed: bool,
}

impl Condition {
    /// Compiles a tree that was validated, or says why it cannot be. `segment` gives a segment's key a position.
    pub(super) fn compile(
        document: &Document,
        names: &mut Names,
        segment: &impl Fn(&str) -> Option<u8>,
    ) -> Result<Self, Box<str>> {
        let mut members = |list: &[Document]| -> Result<Box<[Self]>, Box<str>> {
            list.iter().map(|member| Self::compile(member, names, segment)).collect()
        };
        match document {
            Document::All(list) => members(list).map(Self::All),
            Document::Any(list) => members(list).map(Self::Any),
            Document::Leaf(leaf) => {
                let subject = Subject::compile(leaf, names, segment)?;
                Ok(Self::Leaf(Leaf { operator: leaf.operator, negate: leaf.negate, subject }))
            }
        }
    }
}

impl Subject {
    fn compile(
        leaf: &LeafDocument,
        names: &mut Names,
        segment: &impl Fn(&str) -> Option<u8>,
    ) -> Result<Self, Box<str>> {
        match leaf.operator {
            Operator::InSegment => Ok(Self::Segments(leaf.values.iter().filter_map(|key| segment(key)).collect())),
            Operator::Exists => Ok(Self::Presence(names.position(&leaf.attribute))),
            Operator::Before | Operator::After if leaf.attribute == NOW => Ok(Self::Now(moment_bound(leaf)?)),
            _ => Ok(Self::Attribute(names.position(&leaf.attribute), Test::compile(leaf)?)),
        }
    }
}

impl Test {
    fn compile(leaf: &LeafDocument) -> Result<Self, Box<str>> {
        let (values, ignore_case) = (&leaf.values, leaf.ignore_case);
        let text = |needles: Needles| Ok(Self::Text(Box::new(needles)));
        match leaf.operator {
            Operator::Equals => Ok(Self::Equals(Box::new(Equals::new(leaf)))),
            Operator::Contains => text(Needles::anywhere(values, ignore_case).map_err(said)?),
            Operator::StartsWith => text(Needles::at_start(values, ignore_case)),
            Operator::EndsWith => text(Needles::at_end(values, ignore_case)),
            Operator::Matches => values
                .iter()
                .map(|text| Pattern::parse(text))
                .collect::<Result<_, _>>()
                .map(Self::Matches)
                .map_err(said),
            Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
                bound(leaf.operator, all::<Vec<_>, _>(leaf, Number::parse)?).map(Self::Number)
            }
            Operator::SemverEqual => all(leaf, |text| Version::parse(text).map(OwnedVersion::from)).map(Self::Versions),
            Operator::SemverLess
            | Operator::SemverLessOrEqual
            | Operator::SemverGreater
            | Operator::SemverGreaterOrEqual => {
                let limits: Vec<OwnedVersion> = all(leaf, |text| Version::parse(text).map(OwnedVersion::from))?;
                bound(leaf.operator, limits).map(|bound| Self::Version(Box::new(bound)))
            }
            Operator::SemverIn => {
                values.iter().map(|text| Range::parse(text)).collect::<Result<_, _>>().map(Self::Ranges).map_err(said)
            }
            Operator::Before | Operator::After => moment_bound(leaf).map(Self::Moment),
            Operator::InNetwork => {
                let networks = values.iter().map(|text| Network::parse(text)).collect::<Result<Networks, _>>();
                networks.map(Box::new).map(Self::Networks).map_err(said)
            }
            Operator::InSegment | Operator::Exists => Err(format!("{} looks at no value", leaf.operator).into()),
        }
    }

    /// Whether the value, or any element of it, passes; `None` when the operator cannot read it.
    #[inline]
    pub(super) fn passes(&self, value: &Value<'_>) -> Option<bool> {
        match value {
            Value::Array(items) if items.is_empty() => Some(false),
            Value::Array(items) => {
                let mut passed = None;
                let mut room = TEXT_BYTES_MAX;
                for item in items {
                    // Many texts are no shorter to search than one of the same length in all.
                    if let (Self::Matches(_), Value::Text(text)) = (self, item) {
                        match room.checked_sub(text.len()) {
                            Some(left) => room = left,
                            None => continue,
                        }
                    }
                    match self.passes_one(item) {
                        Some(true) => return Some(true),
                        Some(false) => passed = Some(false),
                        None => {}
                    }
                }
                passed
            }
            one => self.passes_one(one),
        }
    }

    fn passes_one(&self, value: &Value<'_>) -> Option<bool> {
        match (self, value) {
            (Self::Equals(equals), Value::Text(text)) => Some(equals.texts.contains(text)),
            (Self::Equals(equals), Value::Number(number)) => Some(equals.numbers.contains(*number)),
            (Self::Equals(equals), Value::Boolean(true)) => Some(equals.has_true),
            (Self::Equals(equals), Value::Boolean(false)) => Some(equals.has_false),
            (Self::Text(needles), Value::Text(text)) => Some(needles.found_in(text)),
            (Self::Matches(patterns), Value::Text(text)) => {
                (text.len() <= TEXT_BYTES_MAX).then(|| patterns.iter().any(|pattern| pattern.found_in(text)))
            }
            (Self::Number(bound), Value::Number(number)) => Some(bound.admits(|limit| number.cmp(limit))),
            (Self::Number(bound), Value::Text(text)) => {
                Number::parse(text).map(|number| bound.admits(|limit| number.cmp(limit)))
            }
            (Self::Versions(versions), Value::Text(text)) => {
                Version::parse(text).map(|version| versions.contains(version))
            }
            (Self::Version(bound), Value::Text(text)) => {
                Version::parse(text).map(|version| bound.admits(|limit| version.cmp(&limit.as_version())))
            }
            (Self::Ranges(ranges), Value::Text(text)) => Version::parse(text).map(|version| ranges.contains(version)),
            (Self::Moment(bound), value) => moment(value).map(|moment| bound.admits(|limit| moment.cmp(limit))),
            (Self::Networks(networks), Value::Text(text)) => {
                network::address(text).map(|address| networks.contains(address))
            }
            _ => None,
        }
    }
}

impl Equals {
    fn new(leaf: &LeafDocument) -> Self {
        let has = |text: &str| leaf.values.iter().any(|value| value == text);
        Self {
            texts: Texts::new(&leaf.values, leaf.ignore_case),
            numbers: leaf.values.iter().filter_map(|text| Number::parse(text)).collect(),
            has_true: has("true"),
            has_false: has("false"),
        }
    }
}

impl<T> Bound<T> {
    #[inline]
    fn admits(&self, compare: impl FnOnce(&T) -> Ordering) -> bool {
        let ordering = compare(&self.limit);
        ordering == self.side || (self.is_closed && ordering.is_eq())
    }
}

impl Bound<Moment> {
    pub(super) fn admits_moment(&self, moment: Moment) -> bool {
        self.admits(|limit| moment.cmp(limit))
    }

    /// The first millisecond since 1970 at which the answer may be another one.
    pub(super) fn boundary_ms(&self) -> i64 {
        // `before` fails from the limit on, `after` holds from the next millisecond on.
        let floor = self.limit.unix_ms();
        let is_whole = Moment::from_unix_ms(floor) == self.limit;
        if self.side.is_lt() && is_whole { floor } else { floor.saturating_add(1) }
    }
}

/// A time, where a value can be read as one: a text, or whole milliseconds since 1970.
fn moment(value: &Value<'_>) -> Option<Moment> {
    match value {
        Value::Text(text) => Moment::parse(text),
        Value::Number(number) => Moment::from_number(*number),
        _ => None,
    }
}

fn moment_bound(leaf: &LeafDocument) -> Result<Bound<Moment>, Box<str>> {
    bound(leaf.operator, all::<Vec<_>, _>(leaf, Moment::parse)?)
}

fn said(error: impl std::fmt::Display) -> Box<str> {
    error.to_string().into()
}

fn all<C: FromIterator<T>, T>(leaf: &LeafDocument, parse: impl Fn(&str) -> Option<T>) -> Result<C, Box<str>> {
    let values = leaf.values.iter();
    values.map(|text| parse(text).ok_or_else(|| format!("{} cannot read '{text}'", leaf.operator).into())).collect()
}

fn bound<T: Ord>(operator: Operator, limits: Vec<T>) -> Result<Bound<T>, Box<str>> {
    let (side, is_closed) = match operator {
        Operator::Less | Operator::SemverLess | Operator::Before => (Ordering::Less, false),
        Operator::LessOrEqual | Operator::SemverLessOrEqual => (Ordering::Less, true),
        Operator::GreaterOrEqual | Operator::SemverGreaterOrEqual => (Ordering::Greater, true),
        _ => (Ordering::Greater, false),
    };
    // Less than any of several is less than the greatest, greater than any is greater than the least.
    let limit = if side.is_lt() { limits.into_iter().max() } else { limits.into_iter().min() };
    limit.map(|limit| Bound { limit, side, is_closed }).ok_or_else(|| format!("{operator} has no values").into())
}

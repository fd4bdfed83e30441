//! What passes one comparison, and whether that is wholly within what passes others.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::net::IpAddr;

use crate::compare::moment::Moment;
use crate::compare::network::{self, Network, Networks};
use crate::compare::number::{Number, Numbers};
use crate::compare::pattern::{Pattern, TEXT_BYTES_MAX};
use crate::compare::semver::{OwnedVersion, Range, Version, Versions};
use crate::compare::text::{Needles, Texts};
use crate::lint::proof::stretch::Stretch;
use crate::model::condition::{Leaf, Operator};

/// What an operator can read: every element of it passes the comparison or its negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readable {
    /// Texts, numbers and booleans.
    Anything,
    /// Texts.
    Texts,
    /// Texts that patterns are searched in.
    ShortTexts,
    /// Numbers, and texts that are wholly one.
    Numbers,
    /// Texts that are versions.
    Versions,
    /// Texts that are times, and whole milliseconds.
    Moments,
    /// Texts that are addresses.
    Addresses,
}

/// One value of a context, or one element of an array.
#[derive(Clone, Copy)]
pub(super) enum Element<'t> {
    Text(&'t str),
    Number(Number),
    Boolean(bool),
}

/// A comparison of an attribute, without its negation.
#[derive(Debug)]
pub(super) struct Comparison<'d> {
    pub(super) leaf: &'d Leaf,
    pub(super) readable: Readable,
    /// Made when it is first needed, since patterns cost time.
    passing: OnceCell<Passing>,
    /// The values, to find one among thousands.
    texts: OnceCell<HashSet<&'d str>>,
}

/// What passes; several values mean "any of these".
#[derive(Debug)]
pub(super) enum Passing {
    Equal {
        texts: Texts,
        numbers: Numbers,
        has_true: bool,
        has_false: bool,
    },
    Containing(Needles),
    Matching(Vec<Pattern>),
    Numbers(Stretch<Number>),
    Versions(Stretch<OwnedVersion>),
    Moments(Stretch<Moment>),
    EqualVersions(Versions),
    Ranges(Vec<Range>),
    /// Networks as one set of addresses, and each by its lowest address and prefix.
    Within {
        networks: Networks,
        parts: HashSet<(IpAddr, u32)>,
    },
    /// A value cannot be read: nothing is known.
    Unknown,
}

impl Readable {
    fn of(operator: Operator) -> Self {
        match operator {
            Operator::Equals | Operator::InSegment | Operator::Exists => Self::Anything,
            Operator::Contains | Operator::StartsWith | Operator::EndsWith => Self::Texts,
            Operator::Matches => Self::ShortTexts,
            Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => Self::Numbers,
            Operator::SemverEqual
            | Operator::SemverLess
            | Operator::SemverLessOrEqual
            | Operator::SemverGreater
            | Operator::SemverGreaterOrEqual
            | Operator::SemverIn => Self::Versions,
            Operator::Before | Operator::After => Self::Moments,
            Operator::InNetwork => Self::Addresses,
        }
    }

    /// Whether everything that `other` reads is read by this.
    pub(super) fn includes(self, other: Self) -> bool {
        self == other
            || self == Self::Anything
            || (self == Self::Texts && matches!(other, Self::ShortTexts | Self::Versions | Self::Addresses))
    }

    pub(super) fn reads(self, element: Element<'_>) -> bool {
        match (self, element) {
            (Self::Anything, _) | (Self::Texts, Element::Text(_)) | (Self::Numbers, Element::Number(_)) => true,
            (Self::ShortTexts, Element::Text(text)) => text.len() <= TEXT_BYTES_MAX,
            (Self::Numbers, Element::Text(text)) => Number::parse(text).is_some(),
            (Self::Versions, Element::Text(text)) => Version::parse(text).is_some(),
            (Self::Moments, element) => moment(element).is_some(),
            (Self::Addresses, Element::Text(text)) => network::address(text).is_some(),
            _ => false,
        }
    }
}

impl<'d> Comparison<'d> {
    pub(super) fn new(leaf: &'d Leaf) -> Self {
        Self { leaf, readable: Readable::of(leaf.operator), passing: OnceCell::new(), texts: OnceCell::new() }
    }

    pub(super) fn passing(&self) -> &Passing {
        self.passing.get_or_init(|| Passing::of(self.leaf).unwrap_or(Passing::Unknown))
    }

    /// Whether a value of this text stands in the list.
    pub(super) fn lists(&self, text: &str) -> bool {
        self.texts.get_or_init(|| self.leaf.values.iter().map(String::as_str).collect()).contains(text)
    }

    /// Whether an element passes; never where that is not known.
    pub(super) fn passes(&self, element: Element<'_>) -> bool {
        match (self.passing(), element) {
            (Passing::Equal { texts, .. }, Element::Text(text)) => texts.contains(text),
            (Passing::Equal { numbers, .. }, Element::Number(number)) => numbers.contains(number),
            (Passing::Equal { has_true, .. }, Element::Boolean(true)) => *has_true,
            (Passing::Equal { has_false, .. }, Element::Boolean(false)) => *has_false,
            (Passing::Containing(needles), Element::Text(text)) => needles.found_in(text),
            (Passing::Matching(patterns), Element::Text(text)) => {
                text.len() <= TEXT_BYTES_MAX && patterns.iter().any(|pattern| pattern.found_in(text))
            }
            (Passing::Numbers(stretch), Element::Number(number)) => stretch.contains(&number),
            (Passing::Numbers(stretch), Element::Text(text)) => {
                Number::parse(text).is_some_and(|number| stretch.contains(&number))
            }
            (Passing::Moments(stretch), element) => moment(element).is_some_and(|moment| stretch.contains(&moment)),
            (Passing::Versions(stretch), Element::Text(text)) => {
                Version::parse(text).is_some_and(|version| stretch.contains(&version.into()))
            }
            (Passing::EqualVersions(versions), Element::Text(text)) => {
                Version::parse(text).is_some_and(|version| versions.contains(version))
            }
            (Passing::Ranges(ranges), Element::Text(text)) => {
                Version::parse(text).is_some_and(|version| ranges.iter().any(|range| range.contains(version)))
            }
            (Passing::Within { networks, .. }, Element::Text(text)) => {
                network::address(text).is_some_and(|address| networks.contains(address))
            }
            _ => false,
        }
    }

    /// Whether every text passes.
    pub(super) fn passes_every_text(&self) -> bool {
        matches!(self.passing(), Passing::Containing(needles) if needles.found_in(""))
    }
}

impl Passing {
    fn of(leaf: &Leaf) -> Option<Self> {
        let (values, ignore_case) = (&leaf.values, leaf.ignore_case);
        let has = |text: &str| values.iter().any(|value| value == text);
        Some(match leaf.operator {
            Operator::Equals => Self::Equal {
                texts: Texts::new(values, ignore_case),
                numbers: values.iter().filter_map(|text| Number::parse(text)).collect(),
                has_true: has("true"),
                has_false: has("false"),
            },
            Operator::Contains => Self::Containing(Needles::anywhere(values, ignore_case).ok()?),
            Operator::StartsWith => Self::Containing(Needles::at_start(values, ignore_case)),
            Operator::EndsWith => Self::Containing(Needles::at_end(values, ignore_case)),
            Operator::Matches => Self::Matching(all(leaf, |text| Pattern::parse(text).ok())?),
            Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
                Self::Numbers(stretch(leaf, Number::parse)?)
            }
            Operator::SemverEqual => Self::EqualVersions(all(leaf, version)?),
            Operator::SemverLess
            | Operator::SemverLessOrEqual
            | Operator::SemverGreater
            | Operator::SemverGreaterOrEqual => Self::Versions(stretch(leaf, version)?),
            Operator::SemverIn => Self::Ranges(all(leaf, |text| Range::parse(text).ok())?),
            Operator::Before | Operator::After => Self::Moments(moments(leaf)?),
            Operator::InNetwork => {
                let networks: Vec<Network> = all(leaf, |text| Network::parse(text).ok())?;
                let parts = networks.iter().filter_map(parts).collect();
                Self::Within { networks: networks.into_iter().collect(), parts }
            }
            Operator::InSegment | Operator::Exists => return None,
        })
    }
}

/// A network by its lowest address and prefix.
pub(super) fn parts(network: &Network) -> Option<(IpAddr, u32)> {
    let text = network.to_string();
    let (address, prefix) = text.split_once('/')?;
    Some((address.parse().ok()?, prefix.parse().ok()?))
}

/// The times that `before` or `after` lets pass; `None` when a value is no time.
pub(super) fn moments(leaf: &Leaf) -> Option<Stretch<Moment>> {
    stretch(leaf, Moment::parse)
}

fn moment(element: Element<'_>) -> Option<Moment> {
    match element {
        Element::Text(text) => Moment::parse(text),
        Element::Number(number) => Moment::from_number(number),
        Element::Boolean(_) => None,
    }
}

fn version(text: &str) -> Option<OwnedVersion> {
    Version::parse(text).map(OwnedVersion::from)
}

fn all<C: FromIterator<T>, T>(leaf: &Leaf, parse: impl Fn(&str) -> Option<T>) -> Option<C> {
    leaf.values.iter().map(|text| parse(text)).collect()
}

fn stretch<T: Ord>(leaf: &Leaf, parse: impl Fn(&str) -> Option<T>) -> Option<Stretch<T>> {
    let limits: Vec<T> = all(leaf, parse)?;
    let (side, is_closed) = match leaf.operator {
        Operator::Less | Operator::SemverLess | Operator::Before => (Ordering::Less, false),
        Operator::LessOrEqual | Operator::SemverLessOrEqual => (Ordering::Less, true),
        Operator::GreaterOrEqual | Operator::SemverGreaterOrEqual => (Ordering::Greater, true),
        _ => (Ordering::Greater, false),
    };
    // Of several limits the easiest to meet counts.
    let limit = if side.is_lt() { limits.into_iter().max() } else { limits.into_iter().min() };
    limit.map(|limit| Stretch { limit, side, is_closed })
}

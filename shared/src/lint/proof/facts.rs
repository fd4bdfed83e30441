//! What is supposed to be true of one context, and whether it can be.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::compare::moment::Moment;
use crate::evaluation::TARGETING_KEY;
use crate::lint::proof::comparison::Comparison;
use crate::lint::proof::cover::{Missing, is_nothing_left, is_nothing_readable};
use crate::lint::proof::stretch::Stretch;
use crate::model::split::{Algorithm, Split};

/// Keys that a target or segment names.
pub(super) type Keys<'d> = Rc<HashSet<&'d str>>;

/// One thing that is supposed to be true.
#[derive(Clone)]
pub(super) enum Fact<'d> {
    /// Of an attribute.
    Attribute(&'d str, Claim<'d>),
    /// The time passes, or does not.
    Time(Stretch<Moment>, bool),
    /// The context has a bucketing key for a split, or none.
    Bucketed(&'d Split, bool),
    /// `targetingKey` is one of some keys, or none of them.
    Named(Keys<'d>, bool),
    /// The context is in a segment, or is not.
    Member(&'d str, bool),
}

/// What is supposed of an attribute. An attribute has elements: one, unless it is an array.
#[derive(Clone)]
pub(super) enum Claim<'d> {
    /// There, and not null.
    Present,
    /// Not there, or null.
    Absent,
    /// Some element passes: the comparison holds.
    Passes(Rc<Comparison<'d>>),
    /// No element passes: the comparison does not hold.
    Fails(Rc<Comparison<'d>>),
    /// No element passes, and there is one that can be read, or an empty array: its negation holds.
    Denied(Rc<Comparison<'d>>),
    /// There is an element, or nothing, but none that can be read: neither holds.
    Unreadable(Rc<Comparison<'d>>),
}

/// Splits that find a bucketing key in the same contexts.
type Bucketing<'d> = (&'d str, Algorithm, bool);

/// Facts that were not found to contradict each other.
#[derive(Clone, Default)]
pub(super) struct Facts<'d> {
    claims: HashMap<&'d str, Vec<Claim<'d>>>,
    not_before: Option<Stretch<Moment>>,
    not_after: Option<Stretch<Moment>>,
    bucketed: Vec<(Bucketing<'d>, bool)>,
    named: Vec<Keys<'d>>,
    not_named: Vec<Keys<'d>>,
    members: HashMap<&'d str, bool>,
}

/// What a further fact does to those already supposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It was among them.
    Known,
    /// It can be true beside them.
    Added,
    /// It cannot.
    Contradiction,
}

impl<'d> Facts<'d> {
    /// Supposes that the time is this or later.
    pub(super) fn from(now: Moment) -> Self {
        let not_before = Some(Stretch { limit: now, side: Ordering::Greater, is_closed: true });
        Self { not_before, ..Self::default() }
    }

    /// Supposes one thing more. `work` grows with what is looked at.
    pub(super) fn add(&mut self, fact: Fact<'d>, work: &mut u64) -> Effect {
        let is_possible = match fact {
            Fact::Attribute(name, claim) => return self.claim(name, claim, work),
            Fact::Time(stretch, holds) => self.time(stretch, holds),
            Fact::Bucketed(split, holds) => self.bucket(split, holds, work),
            Fact::Named(keys, holds) => self.name(keys, holds, work),
            Fact::Member(segment, holds) => match self.members.insert(segment, holds) {
                Some(known) if known == holds => return Effect::Known,
                known => known.is_none(),
            },
        };
        if is_possible { Effect::Added } else { Effect::Contradiction }
    }

    fn claim(&mut self, name: &'d str, claim: Claim<'d>, work: &mut u64) -> Effect {
        let claims = self.claims.entry(name).or_default();
        if claims.iter().any(|known| known.is(&claim)) {
            return Effect::Known;
        }
        claims.push(claim);
        if is_possible(claims, work) { Effect::Added } else { Effect::Contradiction }
    }

    fn time(&mut self, stretch: Stretch<Moment>, holds: bool) -> bool {
        let stretch = if holds { stretch } else { stretch.complement() };
        let bound = if stretch.side.is_lt() { &mut self.not_after } else { &mut self.not_before };
        match bound {
            Some(known) if known.is_within(&stretch) => {}
            bound => *bound = Some(stretch),
        }
        match (&self.not_before, &self.not_after) {
            (Some(from), Some(to)) => !from.complement().completes(&to.complement()),
            _ => true,
        }
    }

    fn bucket(&mut self, split: &'d Split, holds: bool, work: &mut u64) -> bool {
        let bucketing = (split.bucket_by.as_str(), split.algorithm, split.seed.is_empty());
        match self.bucketed.iter().find(|(known, _)| *known == bucketing) {
            Some((_, known)) => return *known == holds,
            None => self.bucketed.push((bucketing, holds)),
        }
        if holds {
            return self.claim(bucketing.0, Claim::Present, work) != Effect::Contradiction;
        }
        self.is_named_bucketed()
    }

    fn name(&mut self, keys: Keys<'d>, holds: bool, work: &mut u64) -> bool {
        let lists = if holds { &mut self.named } else { &mut self.not_named };
        if !lists.iter().any(|known| Rc::ptr_eq(known, &keys)) {
            lists.push(keys);
        }
        let Some(first) = self.named.first() else { return true };
        *work += first.len() as u64;
        // An empty text is no key.
        let is_possible = |key: &str| {
            !key.is_empty()
                && self.named.iter().all(|keys| keys.contains(key))
                && !self.not_named.iter().any(|keys| keys.contains(key))
        };
        first.iter().any(|key| is_possible(key))
            && self.is_named_bucketed()
            && self.claim(TARGETING_KEY, Claim::Present, work) != Effect::Contradiction
    }

    /// Who is named has a bucketing key, which is the same text.
    fn is_named_bucketed(&self) -> bool {
        let own = |bucketing: Bucketing<'_>| bucketing.0 == TARGETING_KEY && bucketing.1 == Algorithm::Murmur3;
        self.named.is_empty() || !self.bucketed.iter().any(|(bucketing, holds)| own(*bucketing) && !holds)
    }
}

impl Claim<'_> {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Present, Self::Present) | (Self::Absent, Self::Absent) => true,
            (Self::Passes(one), Self::Passes(other))
            | (Self::Fails(one), Self::Fails(other))
            | (Self::Denied(one), Self::Denied(other))
            | (Self::Unreadable(one), Self::Unreadable(other)) => Rc::ptr_eq(one, other),
            _ => false,
        }
    }
}

/// Whether an attribute can be as claimed: absent, an empty array, or elements.
fn is_possible(claims: &[Claim<'_>], work: &mut u64) -> bool {
    *work += claims.len() as u64;
    if claims.iter().all(|claim| matches!(claim, Claim::Absent | Claim::Fails(_) | Claim::Unreadable(_))) {
        return true;
    }
    if claims.iter().any(|claim| matches!(claim, Claim::Absent)) {
        return false;
    }
    if !claims.iter().any(|claim| matches!(claim, Claim::Passes(_) | Claim::Unreadable(_))) {
        return true;
    }
    let missing: Vec<Missing<'_>> = claims
        .iter()
        .filter_map(|claim| match claim {
            Claim::Fails(comparison) | Claim::Denied(comparison) => Some((comparison, false)),
            Claim::Unreadable(comparison) => Some((comparison, true)),
            Claim::Present | Claim::Absent | Claim::Passes(_) => None,
        })
        .map(|(comparison, is_all)| Missing { comparison: Rc::clone(comparison), is_all })
        .collect();
    // An array can hold an element for each claim, so each is asked alone.
    claims.iter().all(|claim| match claim {
        Claim::Passes(comparison) => !is_nothing_left(comparison, &missing, work),
        Claim::Denied(comparison) => !is_nothing_readable(comparison.readable, &missing),
        _ => true,
    })
}

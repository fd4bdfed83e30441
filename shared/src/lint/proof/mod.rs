//! Proves that conditions cannot hold, by supposing that they do and following every way that could be.
//!
//! A proof holds for every context an application can send: attributes that are absent, null, of any type, or arrays,
//! of which an operator asks each element. What [`Prover::is_possible`] calls possible may only be too hard to refute.
//!
//! [`facts`] keeps what is supposed and finds contradictions, [`cover`] decides whether one comparison leaves room for
//! another, [`comparison`] knows what passes one.

mod comparison;
mod cover;
mod facts;
mod stretch;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::compare::moment::Moment;
use crate::lint::proof::comparison::{Comparison, moments};
use crate::lint::proof::facts::{Claim, Effect, Fact, Facts, Keys};
use crate::model::condition::{Condition, Leaf, NOW, Operator};
use crate::model::key::SegmentKey;
use crate::model::reach::Documents;
use crate::model::segment::SegmentDefinition;
use crate::model::split::{MissingKey, Split};

/// The most work for one proof; what needs more counts as possible.
const WORK_MAX: u64 = 50_000;
/// The most work of one prover: after that everything counts as possible.
const WORK_IN_ALL_MAX: u64 = 20_000_000;

/// Something supposed to be true, or not, of one context.
#[derive(Clone)]
pub(super) enum Goal<'d> {
    /// A condition holds.
    Holds(&'d Condition),
    /// A condition does not hold.
    Fails(&'d Condition),
    /// There is a bucketing key for the split.
    Bucketed(&'d Split),
    /// There is none.
    NotBucketed(&'d Split),
    /// `targetingKey` is none of these.
    NotNamed(&'d [String]),
    /// The context is in a segment.
    Member(&'d SegmentKey),
    /// At least one of these.
    Any(Vec<Goal<'d>>),
    /// All of these.
    All(Vec<Goal<'d>>),
    /// What became of one of the others.
    Fact(Supposed<'d>),
}

/// A fact, as a goal.
#[derive(Clone)]
pub(super) struct Supposed<'d>(Fact<'d>);

/// Refutes conditions against the segments of one environment, from one time on.
pub(super) struct Prover<'d> {
    documents: &'d Documents,
    /// Takes the place of the document of its key.
    edited: Option<&'d SegmentDefinition>,
    now: Moment,
    comparisons: HashMap<*const Leaf, Rc<Comparison<'d>>>,
    keys: HashMap<*const String, Keys<'d>>,
    work_left: u64,
}

/// What a goal comes to.
enum Step<'d> {
    Goals(Vec<Goal<'d>>),
    Choice(Vec<Goal<'d>>),
    Fact(Fact<'d>),
    /// Nothing is known of it.
    Nothing,
    Contradiction,
}

impl<'d> Prover<'d> {
    pub(super) fn new(documents: &'d Documents, edited: Option<&'d SegmentDefinition>, now_ms: i64) -> Self {
        let (comparisons, keys) = (HashMap::new(), HashMap::new());
        Self { documents, edited, now: Moment::from_unix_ms(now_ms), comparisons, keys, work_left: WORK_IN_ALL_MAX }
    }

    pub(super) fn segment(&self, key: &str) -> Option<&'d SegmentDefinition> {
        let edited = self.edited.filter(|segment| segment.key.as_str() == key);
        edited.or_else(|| self.documents.segments.get(key))
    }

    /// False only when no context, from now on, can meet all goals.
    pub(super) fn is_possible(&mut self, goals: &[Goal<'d>]) -> bool {
        self.try_from(Facts::from(self.now), goals).0
    }

    /// Whether impossible goals are refuted by the time that has passed, and not without it.
    pub(super) fn was_possible(&mut self, goals: &[Goal<'d>]) -> bool {
        let (is_possible, is_finished) = self.try_from(Facts::default(), goals);
        is_possible && is_finished
    }

    /// Whether goals can be met beside some facts, and whether that was not only too much work to tell.
    fn try_from(&mut self, facts: Facts<'d>, goals: &[Goal<'d>]) -> (bool, bool) {
        let mut work = 0;
        let is_possible = self.search(goals.to_vec(), facts, &mut work);
        let is_finished = work <= WORK_MAX.min(self.work_left);
        self.work_left = self.work_left.saturating_sub(work);
        (is_possible, is_finished)
    }

    /// Takes the last goal first.
    fn search(&mut self, mut open: Vec<Goal<'d>>, mut facts: Facts<'d>, work: &mut u64) -> bool {
        let mut choices: Vec<Vec<Goal<'d>>> = Vec::new();
        while let Some(goal) = open.pop() {
            *work += 1;
            if *work > WORK_MAX.min(self.work_left) {
                return true;
            }
            match self.step(&goal) {
                Step::Goals(goals) => {
                    *work += goals.len() as u64;
                    open.extend(goals);
                }
                Step::Choice(mut goals) if goals.len() < 2 => match goals.pop() {
                    Some(only) => open.push(only),
                    None => return false,
                },
                Step::Choice(goals) => {
                    *work += goals.len() as u64;
                    choices.push(goals);
                }
                Step::Nothing => {}
                Step::Contradiction => return false,
                Step::Fact(fact) => {
                    let follows = self.follows(&fact);
                    match facts.add(fact, work) {
                        Effect::Contradiction => return false,
                        Effect::Added => open.extend(follows),
                        Effect::Known => {}
                    }
                }
            }
        }
        // With the fewest ways to go, fewer have to be followed.
        let Some(fewest) = (0..choices.len()).min_by_key(|at| choices[*at].len()) else { return true };
        let ways = choices.swap_remove(fewest);
        let rest: Vec<Goal<'d>> = choices.into_iter().map(Goal::Any).collect();
        ways.into_iter().any(|way| {
            let goals = rest.iter().cloned().chain([way]).collect();
            self.search(goals, facts.clone(), work)
        })
    }

    fn step(&mut self, goal: &Goal<'d>) -> Step<'d> {
        match goal {
            Goal::Holds(Condition::Leaf(leaf)) => self.leaf(leaf, true),
            Goal::Fails(Condition::Leaf(leaf)) => self.leaf(leaf, false),
            Goal::Holds(Condition::All(members)) => Step::Goals(members.iter().map(Goal::Holds).collect()),
            Goal::Holds(Condition::Any(members)) => Step::Choice(members.iter().map(Goal::Holds).collect()),
            Goal::Fails(Condition::All(members)) => Step::Choice(members.iter().map(Goal::Fails).collect()),
            Goal::Fails(Condition::Any(members)) => Step::Goals(members.iter().map(Goal::Fails).collect()),
            Goal::Any(goals) => Step::Choice(goals.clone()),
            Goal::All(goals) => Step::Goals(goals.clone()),
            // There every context has a bucket.
            Goal::Bucketed(split) if is_always_bucketed(split) => Step::Nothing,
            Goal::NotBucketed(split) if is_always_bucketed(split) => Step::Contradiction,
            Goal::Bucketed(split) => Step::Fact(Fact::Bucketed(split, true)),
            Goal::NotBucketed(split) => Step::Fact(Fact::Bucketed(split, false)),
            Goal::NotNamed(keys) => Step::Fact(Fact::Named(self.keys(keys), false)),
            Goal::Member(segment) => Step::Fact(Fact::Member(segment.as_str(), true)),
            Goal::Fact(Supposed(fact)) => Step::Fact(fact.clone()),
        }
    }

    fn leaf(&mut self, leaf: &'d Leaf, holds: bool) -> Step<'d> {
        let attribute = leaf.attribute.as_str();
        let fact = |claim| Step::Fact(Fact::Attribute(attribute, claim));
        let goal = |claim| Goal::Fact(Supposed(Fact::Attribute(attribute, claim)));
        match leaf.operator {
            Operator::InSegment => {
                let is_in = holds != leaf.negate;
                let facts = leaf.values.iter().map(|key| Goal::Fact(Supposed(Fact::Member(key, is_in)))).collect();
                return if is_in { Step::Choice(facts) } else { Step::Goals(facts) };
            }
            Operator::Exists => return fact(if holds != leaf.negate { Claim::Present } else { Claim::Absent }),
            Operator::Before | Operator::After if attribute == NOW => {
                let fact = moments(leaf).map(|stretch| Step::Fact(Fact::Time(stretch, holds != leaf.negate)));
                return fact.unwrap_or(Step::Nothing);
            }
            _ => {}
        }
        let comparison = self.comparison(leaf);
        match (leaf.negate, holds) {
            (false, true) => fact(Claim::Passes(comparison)),
            (false, false) => fact(Claim::Fails(comparison)),
            (true, true) => fact(Claim::Denied(comparison)),
            (true, false) => {
                Step::Choice(vec![goal(Claim::Passes(Rc::clone(&comparison))), goal(Claim::Unreadable(comparison))])
            }
        }
    }

    /// What being in a segment means, or not being in it: excluded keys first, then included keys, then conditions.
    fn follows(&mut self, fact: &Fact<'d>) -> Option<Goal<'d>> {
        let Fact::Member(key, holds) = fact else { return None };
        let segment = self.segment(key)?;
        let (excluded, included) = (self.keys(&segment.excluded), self.keys(&segment.included));
        let named = |keys: Keys<'d>, holds| Goal::Fact(Supposed(Fact::Named(keys, holds)));
        let conditions = Some(&segment.conditions).filter(|conditions| !conditions.leaves().is_empty());
        Some(if *holds {
            let ways = [named(included, true)].into_iter().chain(conditions.map(Goal::Holds)).collect();
            Goal::All(vec![Goal::Any(ways), named(excluded, false)])
        } else {
            let outside = [named(included, false)].into_iter().chain(conditions.map(Goal::Fails)).collect();
            Goal::Any(vec![named(excluded, true), Goal::All(outside)])
        })
    }

    fn comparison(&mut self, leaf: &'d Leaf) -> Rc<Comparison<'d>> {
        Rc::clone(self.comparisons.entry(leaf).or_insert_with(|| Rc::new(Comparison::new(leaf))))
    }

    fn keys(&mut self, keys: &'d [String]) -> Keys<'d> {
        let set = || Rc::new(keys.iter().map(String::as_str).collect::<HashSet<_>>());
        // Lists without entries may share an address with others.
        if keys.is_empty() {
            return set();
        }
        Rc::clone(self.keys.entry(keys.as_ptr()).or_insert_with(set))
    }
}

fn is_always_bucketed(split: &Split) -> bool {
    split.algorithm.missing_key() == MissingKey::FirstBucket
}

#[cfg(test)]
mod tests;

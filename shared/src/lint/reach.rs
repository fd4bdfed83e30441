//! Which rules nobody gets to, because targets or rules before them answer.

use crate::lint::proof::{Goal, Prover};
use crate::lint::{WarningKind, Warnings};
use crate::model::flag::FlagConfig;
use crate::model::rule::{Rule, Serve};
use crate::model::split::Split;
use crate::sentence::{listed, value};

/// What answers before a rule is asked.
pub(super) struct Before<'d> {
    /// Those who are no target.
    not_targets: Vec<Goal<'d>>,
    /// Rules that answer whoever meets their conditions.
    rules: Vec<Earlier<'d>>,
}

/// Whether somebody can get an answer from a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// As far as is known.
    Reached,
    /// Not because of what stands before it.
    NotReached,
    /// Not wherever it stands.
    Impossible,
}

#[derive(Clone, Copy)]
struct Earlier<'d> {
    at: usize,
    rule: &'d Rule,
}

impl<'d> Before<'d> {
    pub(super) fn new(config: &'d FlagConfig) -> Self {
        let keys = config.targets.iter().filter(|target| !target.keys.is_empty());
        Self { not_targets: keys.map(|target| Goal::NotNamed(&target.keys)).collect(), rules: Vec::new() }
    }

    /// Notes it when nobody gets as far as a rule whose conditions can hold; then it is the turn of the next rule.
    pub(super) fn reach(&mut self, at: usize, rule: &'d Rule, prover: &mut Prover<'d>, found: &mut Warnings) -> Reach {
        let path = format!("rules[{at}]");
        let mut applies = vec![Goal::Holds(&rule.conditions)];
        if let Serve::Split(split) = &rule.serve {
            applies.push(Goal::Bucketed(split));
            if !prover.is_possible(&applies) {
                let message = format!(
                    "Nobody who meets the conditions has {}, by which users are divided. Divide by something else or \
                     correct the conditions.",
                    value(&split.bucket_by)
                );
                let (field, because) = (format!("{path}.serve.split.bucket_by"), vec![format!("{path}.conditions")]);
                found.add_because(WarningKind::NeverApplies, field, message, because);
                return Reach::Impossible;
            }
        }
        if let Some((message, because)) = self.answered(&applies, "rule", prover) {
            found.add_because(WarningKind::NeverReached, path, message, because);
            return Reach::NotReached;
        }
        if answers_all(rule) {
            self.rules.push(Earlier { at, rule });
        }
        Reach::Reached
    }

    /// Notes it when nobody gets as far as the default.
    pub(super) fn reach_default(&self, prover: &mut Prover<'d>, found: &mut Warnings) {
        if let Some((message, because)) = self.answered(&[], "default", prover) {
            found.add_because(WarningKind::NeverReached, "default_serve", message, because);
        }
    }

    /// What answers everyone who meets the goals, in words, and where it stands.
    fn answered(&self, goals: &[Goal<'d>], what: &str, prover: &mut Prover<'d>) -> Option<(String, Vec<String>)> {
        for earlier in &self.rules {
            if !prover.is_possible(&beyond(goals, &[*earlier], &[])) {
                let who = if earlier.rule.conditions.is_everyone() { "is for everyone" } else { "answers all of them" };
                let message =
                    format!("Nobody gets to this {what}: {} {who}. Move or remove one of the two.", earlier.label());
                return Some((message, vec![earlier.path()]));
            }
        }
        if prover.is_possible(&beyond(goals, &self.rules, &self.not_targets)) {
            return None;
        }
        let (mut rules, mut targets) = (self.rules.clone(), self.not_targets.as_slice());
        if !prover.is_possible(&beyond(goals, &rules, &[])) {
            targets = &[];
        }
        // What is not needed for the proof is not to blame.
        for at in (0..rules.len()).rev() {
            let mut fewer = rules.clone();
            fewer.remove(at);
            if !prover.is_possible(&beyond(goals, &fewer, targets)) {
                rules = fewer;
            }
        }
        let named = Some("the targets".to_owned()).filter(|_| !targets.is_empty());
        let names: Vec<String> = named.into_iter().chain(rules.iter().map(Earlier::label)).collect();
        let place = Some("targets".to_owned()).filter(|_| !targets.is_empty());
        let because = place.into_iter().chain(rules.iter().map(Earlier::path)).collect();
        let together = if names.len() > 1 { "together answer" } else { "answer" };
        let message =
            format!("Nobody gets to this {what}: {} {together} all of them. Move or remove something.", listed(&names));
        Some((message, because))
    }
}

impl Earlier<'_> {
    fn path(&self) -> String {
        format!("rules[{}]", self.at)
    }

    /// `rule 2 “Beta”`; a rule need not have a name.
    fn label(&self) -> String {
        let number = self.at + 1;
        match value(&self.rule.name) {
            _ if self.rule.name.is_empty() => format!("rule {number}"),
            quoted if quoted.starts_with('“') => format!("rule {number} {quoted}"),
            name => format!("rule {number} “{name}”"),
        }
    }
}

/// What is true of those whom rules and targets do not answer.
fn beyond<'d>(goals: &[Goal<'d>], rules: &[Earlier<'d>], not_targets: &[Goal<'d>]) -> Vec<Goal<'d>> {
    let passed_by = rules.iter().map(|Earlier { rule, .. }| match &rule.serve {
        Serve::Variant(_) => Goal::Fails(&rule.conditions),
        Serve::Split(split) => Goal::Any(vec![Goal::NotBucketed(split), Goal::Fails(&rule.conditions)]),
    });
    goals.iter().chain(not_targets).cloned().chain(passed_by).collect()
}

/// Whether whoever meets the conditions is answered, but for a missing bucketing key.
fn answers_all(rule: &Rule) -> bool {
    match &rule.serve {
        Serve::Variant(_) => true,
        Serve::Split(split) => is_whole(split),
    }
}

/// Whether every bucket belongs to a variant.
fn is_whole(split: &Split) -> bool {
    let covered: u64 = split.ranges.iter().map(|range| u64::from(range.end.saturating_sub(range.start))).sum();
    covered == u64::from(split.total)
}

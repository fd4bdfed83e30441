//! How an answer came about, in English: a trace told beside the documents that it walked through.

mod condition;
#[cfg(test)]
mod tests;

use crate::evaluation::{PrerequisiteTrace, RuleTrace, SplitTrace, TargetsTrace, Trace};
use crate::model::flag::FlagConfig;
use crate::model::key::{FlagKey, SegmentKey, VariantKey};
use crate::model::rule::Rule;
use crate::model::segment::SegmentDefinition;
use crate::sentence;
use crate::sentence::shown::{any_of, name, plural, value};

/// Where the documents behind a trace are found. Of those that are not there, what the trace itself holds is told.
pub trait Documents {
    /// How a flag is set up in the environment.
    fn config(&self, flag: &FlagKey) -> Option<&FlagConfig>;
    /// Who is in a segment.
    fn segment(&self, segment: &SegmentKey) -> Option<&SegmentDefinition>;
}

/// One step of the way to an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// How many steps it is part of.
    pub depth: usize,
    /// Whether what it says holds; `None` where nothing was asked.
    pub holds: Option<bool>,
    /// One line of text.
    pub text: String,
}

/// Every step of a trace, in the order of the walk.
pub fn explanation(trace: &Trace, documents: &impl Documents) -> Vec<Step> {
    let mut teller = Teller { documents, steps: Vec::new() };
    teller.flag(trace, 0);
    teller.steps
}

struct Teller<'d, D> {
    documents: &'d D,
    steps: Vec<Step>,
}

impl<'d, D: Documents> Teller<'d, D> {
    fn tell(&mut self, depth: usize, holds: Option<bool>, text: impl Into<String>) {
        self.steps.push(Step { depth, holds, text: text.into() });
    }

    fn flag(&mut self, trace: &Trace, depth: usize) {
        let documents = self.documents;
        let config = documents.config(&trace.flag);
        let is_blocked = trace.prerequisites.iter().any(|prerequisite| !prerequisite.is_satisfied);
        if trace.is_killed {
            return self.tell(depth, None, "the flag is killed");
        }
        if trace.outcome.reason == "DISABLED" && !is_blocked {
            return self.tell(depth, None, "the flag is off");
        }
        if config.is_some_and(|config| config.enabled) {
            self.tell(depth, None, "the flag is on");
        }
        for prerequisite in &trace.prerequisites {
            self.prerequisite(prerequisite, depth);
        }
        if is_blocked {
            return self.tell(depth, None, "so it is blocked, as if it were off");
        }
        let is_target = trace.targets.as_ref().is_some_and(|targets| targets.variant.is_some());
        if let Some(targets) = &trace.targets {
            self.tell(depth, Some(is_target), target(targets));
        }
        self.rules(trace, config, depth);
        let is_over = is_target || trace.rules.iter().any(|rule| rule.applied);
        match (&trace.default_split, &trace.outcome.variant) {
            (Some(split), variant) => {
                self.tell(depth, Some(variant.is_some()), format!("everyone else is {}", divided(split)));
            }
            (None, Some(variant)) if !is_over => self.tell(depth, Some(true), format!("everyone else gets {variant}")),
            _ => {}
        }
        if let Some(details) = &trace.outcome.error_details {
            self.tell(depth, None, format!("so it cannot answer: {details}"));
        }
    }

    fn prerequisite(&mut self, prerequisite: &PrerequisiteTrace, depth: usize) {
        let PrerequisiteTrace { flag, wanted, variant, is_satisfied, trace } = prerequisite;
        let wanted: Vec<String> = wanted.iter().map(VariantKey::to_string).collect();
        let said = match (variant, trace) {
            (Some(variant), _) => format!("it answers {variant}"),
            (None, Some(trace)) if trace.is_killed => "it is killed".into(),
            (None, Some(trace)) if trace.outcome.error_code.is_some() => "it cannot answer".into(),
            (None, Some(trace)) if !trace.prerequisites.is_empty() => "it is blocked itself".into(),
            (None, Some(_)) => "it is off".into(),
            (None, None) if self.documents.config(flag).is_some() => {
                "it was asked before and gave no answer, or it needs this flag itself".into()
            }
            (None, None) => "there is no such flag here".into(),
        };
        self.tell(depth, Some(*is_satisfied), format!("needs {flag} to answer {}: {said}", any_of(&wanted)));
        if let Some(trace) = trace {
            self.flag(trace, depth + 1);
        }
    }

    fn rules(&mut self, trace: &Trace, config: Option<&'d FlagConfig>, depth: usize) {
        let mut rules = config.map(|config| config.rules.as_slice()).unwrap_or_default().iter().enumerate();
        for told in &trace.rules {
            let index = usize::from(told.index);
            let mut found = None;
            // Those that the walk passed over are paused.
            for (at, rule) in rules.by_ref() {
                if at == index {
                    found = Some(rule).filter(|rule| rule.id == told.id);
                    break;
                }
                self.tell(depth, None, format!("{} is paused", titled(at, Some(rule))));
            }
            self.rule(told, found, depth);
        }
        let left: Vec<(usize, &Rule)> = rules.collect();
        if trace.rules.iter().any(|rule| rule.applied) {
            let others = left.iter().filter(|(_, rule)| !rule.paused).count();
            if others > 0 {
                self.tell(depth, None, format!("{} not looked at any more", plural(others, "rule")));
            }
        } else if trace.targets.as_ref().is_none_or(|targets| targets.variant.is_none()) {
            for (at, rule) in left.into_iter().filter(|(_, rule)| rule.paused) {
                self.tell(depth, None, format!("{} is paused", titled(at, Some(rule))));
            }
        }
    }

    fn rule(&mut self, trace: &RuleTrace, rule: Option<&Rule>, depth: usize) {
        let title = titled(usize::from(trace.index), rule);
        let asks = rule.map(|rule| sentence::condition(&rule.conditions)).unwrap_or_default();
        let asks = if asks.is_empty() { "everyone" } else { &asks };
        let heading = if rule.is_some() { format!("{title}: {asks}") } else { title };
        self.tell(depth, Some(trace.applied), heading);
        self.condition(&trace.conditions, rule.map(|rule| &rule.conditions), depth + 1, true);
        match (&trace.split, rule) {
            (Some(split), _) => self.tell(depth + 1, Some(split.variant.is_some()), divided(split)),
            (None, Some(rule)) if trace.applied => {
                self.tell(depth + 1, None, format!("serves {}", sentence::serve(&rule.serve)));
            }
            _ => {}
        }
    }
}

fn titled(index: usize, rule: Option<&Rule>) -> String {
    let number = index + 1;
    match rule.map(|rule| rule.name.as_str()).unwrap_or_default() {
        "" => format!("rule {number}"),
        named => format!("rule {number}, {}", name(named)),
    }
}

fn target(targets: &TargetsTrace) -> String {
    match (&targets.key, &targets.variant) {
        (None, _) => "there is no targeting key, so nobody is named".into(),
        (Some(key), None) => format!("the targeting key {} is not named", value(key)),
        (Some(key), Some(variant)) => format!("the targeting key {} is named and gets {variant}", value(key)),
    }
}

fn divided(split: &SplitTrace) -> String {
    let by = value(&split.bucket_by);
    let (Some(input), Some(bucket), Some((start, end))) = (&split.input, split.bucket, split.range) else {
        return format!("divided by {by}, which is not there or is no key");
    };
    let owner = split.variant.as_ref().map_or_else(|| "belongs to nobody".into(), |owner| format!("gets {owner}"));
    let last = end.saturating_sub(1);
    format!("divided by {by}: “{}” is bucket {bucket}, and {start} to {last} {owner}", name(input))
}

//! Conditions and segments as a trace found them.

use crate::evaluation::{ConditionTrace, SegmentBy, SegmentTrace};
use crate::model::condition::{Condition, NOW};
use crate::model::timestamp::Timestamp;
use crate::sentence;
use crate::sentence::explanation::{Documents, Teller};
use crate::sentence::shown::{any_of, name, plural, value};

impl<D: Documents> Teller<'_, D> {
    /// The outermost group is told by its members alone: what it asks stands in the line above them.
    pub(super) fn condition(
        &mut self,
        trace: &ConditionTrace,
        document: Option<&Condition>,
        depth: usize,
        is_outermost: bool,
    ) {
        match trace {
            ConditionTrace::All { members, holds } => {
                let asked = if let Some(Condition::All(asked)) = document { Some(asked.as_slice()) } else { None };
                self.group("all of", is_outermost, (members, *holds), asked, depth);
            }
            ConditionTrace::Any { members, holds } => {
                let asked = if let Some(Condition::Any(asked)) = document { Some(asked.as_slice()) } else { None };
                self.group("any of", false, (members, *holds), asked, depth);
            }
            ConditionTrace::Comparison { attribute, operator, negate, value: found, is_readable, holds } => {
                let asked = match document {
                    Some(leaf @ Condition::Leaf(_)) => sentence::condition(leaf),
                    _ => format!("{} {}", value(attribute), sentence::comparison(*operator, *negate)),
                };
                let seen = seen(attribute, found.as_deref(), *is_readable);
                self.tell(depth, Some(*holds), format!("{asked}: {seen}"));
            }
            ConditionTrace::Segments { negate, segments, holds } => {
                let asked = match document {
                    Some(leaf @ Condition::Leaf(_)) => sentence::condition(leaf),
                    _ => {
                        let names: Vec<String> = segments.iter().map(|told| told.segment.to_string()).collect();
                        let asks = if *negate { "not in segment" } else { "in segment" };
                        format!("{asks} {}", any_of(&names))
                    }
                };
                self.tell(depth, Some(*holds), asked);
                for segment in segments {
                    self.segment(segment, depth + 1);
                }
            }
        }
    }

    fn group(
        &mut self,
        title: &str,
        is_untitled: bool,
        (members, holds): (&[ConditionTrace], bool),
        asked: Option<&[Condition]>,
        depth: usize,
    ) {
        let inner = if is_untitled { depth } else { depth + 1 };
        if !is_untitled {
            self.tell(depth, Some(holds), title);
        }
        for (at, member) in members.iter().enumerate() {
            self.condition(member, asked.and_then(|asked| asked.get(at)), inner, false);
        }
        let others = asked.map_or(0, |asked| asked.len().saturating_sub(members.len()));
        if others > 0 {
            self.tell(inner, None, format!("{} not looked at any more", plural(others, "condition")));
        }
    }

    fn segment(&mut self, trace: &SegmentTrace, depth: usize) {
        let SegmentTrace { segment, by, conditions, is_in } = trace;
        let document = self.documents.segment(segment).map(|segment| &segment.conditions);
        let text = match by {
            SegmentBy::Excluded => format!("{segment} excludes the targeting key"),
            SegmentBy::Included => format!("{segment} includes the targeting key"),
            SegmentBy::Nothing => format!("{segment} does not include the targeting key, and has no conditions"),
            SegmentBy::Remembered => format!("{segment} as decided above"),
            SegmentBy::Conditions => {
                let asked = document.map(sentence::condition).unwrap_or_default();
                if asked.is_empty() { format!("{segment} by its conditions") } else { format!("{segment}: {asked}") }
            }
        };
        self.tell(depth, Some(*is_in), text);
        if let Some(conditions) = conditions {
            self.condition(conditions, document, depth + 1, true);
        }
    }
}

/// What was compared.
fn seen(attribute: &str, found: Option<&str>, is_readable: bool) -> String {
    let Some(json) = found else { return "it is not there".into() };
    if attribute == NOW {
        let at = json.parse().ok().and_then(Timestamp::from_unix_ms);
        return format!("it is {}", at.map_or_else(|| json.to_owned(), |at| at.to_string()));
    }
    let rest = if is_readable || json == "null" { "" } else { ", which cannot be compared so" };
    format!("it is {}{rest}", name(json))
}

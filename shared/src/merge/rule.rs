//! Rules: each by its id and field by field, and their order, since the first that matches answers.

use serde_json::json;

use crate::merge::list::{Part, Three, ordered, picked};
use crate::merge::{Conflict, Side};
use crate::model::condition::Condition;
use crate::model::id::RuleId;
use crate::model::rule::{Rule, Serve};
use crate::sentence;

/// Merges rules and their order.
pub(super) fn merge_rules(base: &[Rule], theirs: &[Rule], mine: &[Rule], conflicts: &mut Vec<Conflict>) -> Vec<Rule> {
    if mine == base || mine == theirs {
        return theirs.to_vec();
    }
    if theirs == base {
        return mine.to_vec();
    }
    let find = |rules: &'_ [Rule], id: RuleId| rules.iter().position(|rule| rule.id == id);
    let mut merged = Vec::new();
    for id in merged_order((&ids(base), &ids(theirs), &ids(mine)), (base, theirs, mine), conflicts) {
        let was = find(base, id).map(|at| &base[at]);
        let now = find(theirs, id).map(|at| &theirs[at]);
        let own = find(mine, id).map(|at| &mine[at]);
        match (was, now, own) {
            (Some(was), Some(now), Some(own)) => merged.push(merged_rule((was, now, own), conflicts)),
            three => {
                let part = Part { field: format!("rules[{id}]"), said: &said };
                merged.extend(picked(part, (&three.0, &three.1, &three.2), conflicts).cloned());
            }
        }
    }
    merged
}

fn merged_rule((base, theirs, mine): Three<&Rule>, conflicts: &mut Vec<Conflict>) -> Rule {
    let field = |name: &str| format!("rules[{}].{name}", base.id);
    let name = |name: &String| if name.is_empty() { "no name".into() } else { sentence::value(name) };
    let paused = |paused: &bool| if *paused { "paused".to_owned() } else { "not paused".to_owned() };
    let conditions = |conditions: &Condition| match sentence::condition(conditions) {
        everyone if everyone.is_empty() => "everyone".into(),
        some => format!("if {some}"),
    };
    let serve = |serve: &Serve| sentence::serve(serve);
    Rule {
        id: base.id,
        name: picked(Part { field: field("name"), said: &name }, (&base.name, &theirs.name, &mine.name), conflicts)
            .clone(),
        paused: *picked(
            Part { field: field("paused"), said: &paused },
            (&base.paused, &theirs.paused, &mine.paused),
            conflicts,
        ),
        conditions: picked(
            Part { field: field("conditions"), said: &conditions },
            (&base.conditions, &theirs.conditions, &mine.conditions),
            conflicts,
        )
        .clone(),
        serve: picked(
            Part { field: field("serve"), said: &serve },
            (&base.serve, &theirs.serve, &mine.serve),
            conflicts,
        )
        .clone(),
    }
}

/// The ids of all rules of both edits in their new order. Where both put rules in another order, or new ones at the same
/// place, nobody can say which comes first: theirs stands, and it is a conflict.
fn merged_order(
    (base, theirs, mine): Three<&Vec<RuleId>>,
    rules: Three<&[Rule]>,
    conflicts: &mut Vec<Conflict>,
) -> Vec<RuleId> {
    let common = |list: &[RuleId]| -> Vec<RuleId> {
        let is_common = |id: &&RuleId| base.contains(id) && theirs.contains(id) && mine.contains(id);
        list.iter().filter(is_common).copied().collect()
    };
    let (was, now, own) = (common(base), common(theirs), common(mine));
    let is_same_place = added(base, theirs).iter().any(|(after, new)| {
        let is_other = |(own_after, own_new): &(Option<RuleId>, RuleId)| own_after == after && own_new != new;
        !mine.contains(new) && added(base, mine).iter().filter(|(_, own)| !theirs.contains(own)).any(is_other)
    });
    let are_both_moved = now != was && own != was && now != own;
    if is_same_place || are_both_moved {
        let side =
            |list: &[RuleId], of: &[Rule]| Side { sentence: format!("in the order {}", named(of)), value: json!(list) };
        conflicts.push(Conflict {
            field: "rules".into(),
            base: side(base, rules.0),
            theirs: side(theirs, rules.1),
            mine: side(mine, rules.2),
        });
    }
    if now == was && own != was { ordered(mine, theirs) } else { ordered(theirs, mine) }
}

/// New rules of a list, each with the known rule before it.
fn added(base: &[RuleId], list: &[RuleId]) -> Vec<(Option<RuleId>, RuleId)> {
    let mut before = None;
    let mut new = Vec::new();
    for id in list {
        if base.contains(id) {
            before = Some(*id);
        } else {
            new.push((before, *id));
        }
    }
    new
}

fn ids(rules: &[Rule]) -> Vec<RuleId> {
    rules.iter().map(|rule| rule.id).collect()
}

fn named(rules: &[Rule]) -> String {
    let name = |(at, rule): (usize, &Rule)| match rule.name.as_str() {
        "" => format!("rule {}", at + 1),
        name => sentence::value(name),
    };
    let names: Vec<String> = rules.iter().enumerate().take(8).map(name).collect();
    if rules.is_empty() { "without rules".into() } else { names.join(", ") }
}

fn said(rule: &Option<&Rule>) -> String {
    match rule {
        None => "removed".into(),
        Some(rule) => match sentence::condition(&rule.conditions) {
            everyone if everyone.is_empty() => format!("everyone gets {}", sentence::serve(&rule.serve)),
            some => format!("if {some} then {}", sentence::serve(&rule.serve)),
        },
    }
}

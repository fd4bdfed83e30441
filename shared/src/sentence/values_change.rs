//! What changes inside long lists of values.

use crate::model::condition::{Condition, Leaf};
use crate::sentence::condition::subject;
use crate::sentence::shown::{is_folded, listed, only_in};

/// What was added to lists of values too long to be told, and removed; nothing when more than values changed, or when
/// the sentences before and after tell them all.
pub(super) fn values(old: &Condition, new: &Condition) -> Vec<String> {
    let (before, after) = (old.leaves(), new.leaves());
    let pairs: Vec<(&Leaf, &Leaf)> = before.into_iter().zip(after).filter(|(before, after)| before != after).collect();
    let is_long = pairs.iter().any(|(before, after)| is_folded(&before.values) || is_folded(&after.values));
    if !is_long || shape(old) != shape(new) {
        return Vec::new();
    }
    let line = |(before, after): &(&Leaf, &Leaf)| {
        let (added, removed) = (only_in(&after.values, &before.values), only_in(&before.values, &after.values));
        let parts = [("added", added), ("removed", removed)].into_iter().filter(|(_, list)| !list.is_empty());
        let parts: Vec<String> = parts.map(|(verb, list)| format!("{verb} {}", listed(&list))).collect();
        let parts = if parts.is_empty() { "another order".into() } else { parts.join("; ") };
        format!("values of {}: {parts}", subject(after))
    };
    pairs.iter().map(line).collect()
}

/// The condition without its values.
fn shape(condition: &Condition) -> Condition {
    match condition {
        Condition::All(members) => Condition::All(members.iter().map(shape).collect()),
        Condition::Any(members) => Condition::Any(members.iter().map(shape).collect()),
        Condition::Leaf(leaf) => {
            let Leaf { attribute, operator, values: _, negate, ignore_case } = leaf;
            let (operator, negate, ignore_case) = (*operator, *negate, *ignore_case);
            Condition::Leaf(Leaf { attribute: attribute.clone(), operator, values: Vec::new(), negate, ignore_case })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn told(old: &Value, new: &Value) -> Vec<String> {
        let condition = |document: &Value| serde_json::from_value(document.clone()).expect("a condition");
        values(&condition(old), &condition(new))
    }

    fn country(values: &[&str]) -> Value {
        json!({"all": [{"attribute": "country", "operator": "equals", "values": values}]})
    }

    #[test]
    fn what_is_added_to_a_long_list_and_removed_is_named() {
        let old = country(&["DE", "FR", "IT", "ES", "PT"]);
        let new = country(&["DE", "FR", "IT", "ES", "AT"]);
        assert_eq!(told(&old, &new), ["values of country: added AT; removed PT"]);
        assert_eq!(told(&old, &country(&["FR", "DE", "IT", "ES", "PT"])), ["values of country: another order"]);
        let many: Vec<String> = (0..10_000).map(|n| format!("C{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let line = "values of country: added C0, C1, C2 and 9997 others; removed DE, FR, IT and 2 others";
        assert_eq!(told(&old, &country(&many)), [line]);
    }

    #[test]
    fn nothing_is_told_where_the_sentences_tell_it_all() {
        assert_eq!(told(&country(&["DE"]), &country(&["DE", "FR"])), [""; 0]);
        let long = country(&["DE", "FR", "IT", "ES", "PT"]);
        let mut negated = long.clone();
        negated["all"][0]["negate"] = json!(true);
        assert_eq!(told(&long, &negated), [""; 0]);
        assert_eq!(told(&long, &json!({"any": long["all"]})), [""; 0]);
        assert_eq!(told(&long, &long), [""; 0]);
    }
}

//! What one entry of the history says, from the documents before and after.
//!
//! Any version may have written them: what this one cannot read as what it is, is told field by field.

mod fields;
mod own;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::model::flag::FlagConfig;
use crate::sentence::history::fields::field_changes;
use crate::sentence::shown::bounded;
use crate::sentence::{brief, changes, definition_changes, segment_changes};

/// What an entry of the history changed, one line each; `+` added, `−` removed, `~` changed. Never empty.
pub fn entry(entity: &str, before: Option<&Value>, after: Option<&Value>) -> Vec<String> {
    let lines = match entity {
        "config" => config(before, after),
        "flag" => described(before, after, "Flag", definition_changes),
        "segment" => described(before, after, "Segment", segment_changes),
        "kill" => own::kill(before, after),
        "sdk_key" => own::sdk_key(before, after),
        "restored" => own::restored(before, after),
        "restored_confirmed" => own::restored_confirmed(after),
        "policy" => own::policy(before, after),
        "member" => own::member(before, after),
        "environment" => whole(before, after, "Environment"),
        "freeze" => whole(before, after, "Freeze"),
        other => whole(before, after, &fields::label(other)),
    };
    let lines = if lines.is_empty() { vec!["~ Saved without a change".into()] } else { lines };
    lines.into_iter().map(bounded).collect()
}

/// A thing of which nothing else is known: made, gone, or changed field by field.
fn whole(before: Option<&Value>, after: Option<&Value>, noun: &str) -> Vec<String> {
    match (before, after) {
        (None, None) => Vec::new(),
        (None, Some(_)) => vec![format!("+ {noun} added")],
        (Some(_), None) => vec![format!("− {noun} removed")],
        (Some(before), Some(after)) => field_changes(before, after, &[]),
    }
}

fn config(before: Option<&Value>, after: Option<&Value>) -> Vec<String> {
    match (before, after) {
        (None, None) => Vec::new(),
        (Some(_), None) => vec!["− Config removed".into()],
        (None, Some(after)) => match read::<FlagConfig>(after) {
            Some(config) => vec![format!("+ Begins: {}", brief(&config, false))],
            None => vec!["+ Config added".into()],
        },
        (Some(before), Some(after)) => match (read(before), read(after)) {
            (Some(old), Some(new)) => changes(&old, &new),
            _ => field_changes(before, after, &[]),
        },
    }
}

/// What flags and segments are kept as: what decides answers, and words of people around it.
#[derive(Deserialize)]
struct Described<D> {
    definition: D,
}

fn described<D: DeserializeOwned>(
    before: Option<&Value>,
    after: Option<&Value>,
    noun: &str,
    definition_changes: fn(&D, &D) -> Vec<String>,
) -> Vec<String> {
    let (Some(before), Some(after)) = (before, after) else { return whole(before, after, noun) };
    match (read::<Described<D>>(before), read::<Described<D>>(after)) {
        (Some(old), Some(new)) => {
            let mut lines: Vec<String> = own::archived(before, after).into_iter().collect();
            lines.extend(own::owner(before, after));
            lines.extend(own::lifetime(before, after));
            lines.extend(field_changes(before, after, &["definition", "archived", "owner", "lifetime"]));
            lines.extend(definition_changes(&old.definition, &new.definition));
            lines
        }
        _ => field_changes(before, after, &[]),
    }
}

fn read<T: DeserializeOwned>(document: &Value) -> Option<T> {
    T::deserialize(document).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config_of(serve: &str) -> Value {
        json!({ "enabled": true, "off_variant": "off", "default_serve": { "variant": serve } })
    }

    fn flag(name: &str, patch: &Value) -> Value {
        let mut document = json!({
            "definition": {
                "key": "theme", "value_type": "boolean", "kind": "release", "client_visible": false,
                "variants": [{ "key": "on", "value": "true" }, { "key": "off", "value": "false" }],
            },
            "name": name, "description": "", "tags": ["web"],
        });
        for (field, value) in patch.as_object().expect("fields") {
            document[field] = value.clone();
        }
        document
    }

    #[test]
    fn a_config_says_what_changed_and_how_it_began() {
        let (on, off) = (config_of("on"), config_of("off"));
        assert_eq!(entry("config", Some(&off), Some(&on)), ["~ Default: off → on"]);
        assert_eq!(entry("config", None, Some(&on)), ["+ Begins: on"]);
        assert_eq!(entry("config", Some(&on), None), ["− Config removed"]);
        assert_eq!(entry("config", Some(&on), Some(&on)), ["~ Saved without a change"]);
        // Of a newer version: told field by field.
        let newer = json!({ "enabled": false, "off_variant": "off", "default_serve": { "variant": "on" }, "mood": 7 });
        assert_eq!(entry("config", Some(&on), Some(&newer)), ["~ Enabled: yes → no", "+ Mood: 7"]);
    }

    #[test]
    fn a_flag_says_what_people_wrote_and_what_decides() {
        let old = flag("Theme", &json!({}));
        let mut new = flag("Themes", &json!({ "tags": ["web", "ui"], "description": "of pages", "owner": "0b" }));
        new["definition"]["client_visible"] = json!(true);
        let told = [
            "~ Another owner",
            "~ Description: “” → of pages",
            "~ Name: Theme → Themes",
            "+ Tags: ui",
            "~ Browsers may read it",
        ];
        assert_eq!(entry("flag", Some(&old), Some(&new)), told);
        let archived = flag("Theme", &json!({ "archived": true, "owner": "0b" }));
        assert_eq!(entry("flag", Some(&old), Some(&archived)), ["− Archived", "~ Another owner"]);
        let restored = flag("Theme", &json!({ "archived": false, "lifetime": "usual" }));
        assert_eq!(entry("flag", Some(&archived), Some(&restored)), ["+ Restored", "− Owner removed"]);
        // Documents of before there was such a thing.
        assert_eq!(entry("flag", Some(&old), Some(&restored)), ["~ Saved without a change"]);
        let month = flag("Theme", &json!({ "lifetime": { "days": 30 } }));
        assert_eq!(entry("flag", Some(&restored), Some(&month)), ["~ Lifetime: usual for its kind → 30 days"]);
        assert_eq!(entry("flag", None, Some(&new)), ["+ Flag added"]);
        assert_eq!(entry("flag", Some(&new), None), ["− Flag removed"]);
    }

    #[test]
    fn a_segment_says_which_keys_came_and_went() {
        let old = json!({ "definition": { "key": "staff", "included": ["a"] }, "name": "Staff" });
        let new = json!({ "definition": { "key": "staff", "included": ["b"] }, "name": "All staff" });
        let told = ["~ Name: Staff → All staff", "− 1 included key: a", "+ 1 included key: b"];
        assert_eq!(entry("segment", Some(&old), Some(&new)), told);
    }

    #[test]
    fn whatever_stands_there_gives_a_line_of_bounded_length() {
        let odd =
            [json!(null), json!(7), json!("x".repeat(5_000)), json!({ "a": { "b": [1, { "c": null }] } }), json!([])];
        let entities = [
            "config",
            "flag",
            "segment",
            "kill",
            "sdk_key",
            "restored",
            "restored_confirmed",
            "policy",
            "member",
            "environment",
            "x_y",
        ];
        for entity in entities {
            for before in odd.iter().map(Some).chain([None]) {
                for after in odd.iter().map(Some).chain([None]) {
                    let lines = entry(entity, before, after);
                    assert!(!lines.is_empty(), "{entity}");
                    assert!(
                        lines.iter().all(|line| line.chars().count() <= 2_000 && !line.contains('\n')),
                        "{lines:?}"
                    );
                }
            }
        }
    }
}

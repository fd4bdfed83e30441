//! What changes between two definitions of a flag.

use crate::model::flag::{FlagDefinition, FlagKind};
use crate::model::variant::{ValueType, Variant};
use crate::sentence::shown::{bounded, value};

/// What changes between two definitions of a flag, one line each; `+` added, `−` removed, `~` changed. Empty only when
/// nothing does.
pub fn definition_changes(old: &FlagDefinition, new: &FlagDefinition) -> Vec<String> {
    let mut lines = Vec::new();
    if old == new {
        return lines;
    }
    if old.key != new.key {
        lines.push(format!("~ Key: {} → {}", old.key, new.key));
    }
    if old.value_type != new.value_type {
        lines.push(format!("~ Type: {} → {}", type_name(old.value_type), type_name(new.value_type)));
    }
    if old.kind != new.kind {
        lines.push(format!("~ Kind: {} → {}", kind(old.kind), kind(new.kind)));
    }
    if old.client_visible != new.client_visible {
        let line = if new.client_visible { "~ Browsers may read it" } else { "~ Browsers may no longer read it" };
        lines.push(line.into());
    }
    for variant in &old.variants {
        if find(new, variant).is_none() {
            lines.push(format!("− Variant {} ({})", variant.key, value(&variant.value)));
        }
    }
    for variant in &new.variants {
        match find(old, variant) {
            None => lines.push(format!("+ Variant {} ({})", variant.key, value(&variant.value))),
            Some(before) if before.value != variant.value => lines.push(other_value(before, variant)),
            Some(_) => {}
        }
    }
    if lines.is_empty() {
        lines.push("~ Variants in another order".into());
    }
    lines.into_iter().map(bounded).collect()
}

fn find<'d>(definition: &'d FlagDefinition, variant: &Variant) -> Option<&'d Variant> {
    definition.variants.iter().find(|v| v.key == variant.key)
}

/// Values that are the same as far as they are shown are told by what follows.
fn other_value(old: &Variant, new: &Variant) -> String {
    let (was, now) = (value(&old.value), value(&new.value));
    if was != now {
        return format!("~ Variant {}: {was} → {now}", new.key);
    }
    let same = old.value.chars().zip(new.value.chars()).take_while(|(a, b)| a == b).count();
    // A little of what is the same shows where it is.
    let tail = |text: &str| value(&text.chars().skip(same.saturating_sub(10)).collect::<String>());
    format!("~ Variant {}: from character {} on, {} → {}", new.key, same + 1, tail(&old.value), tail(&new.value))
}

fn type_name(value_type: ValueType) -> &'static str {
    match value_type {
        ValueType::Boolean => "on or off",
        ValueType::String => "text",
        ValueType::Integer => "whole number",
        ValueType::Float => "number",
        ValueType::Object => "JSON object",
    }
}

/// The kind of a flag in words: `kill switch`.
pub fn kind(kind: FlagKind) -> &'static str {
    match kind {
        FlagKind::Release => "release",
        FlagKind::Experiment => "experiment",
        FlagKind::Operational => "operational",
        FlagKind::KillSwitch => "kill switch",
        FlagKind::Permission => "permission",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn definition(patch: &Value) -> FlagDefinition {
        let mut document = json!({
            "key": "theme", "value_type": "string", "kind": "release", "client_visible": false,
            "variants": [{"key": "blue", "value": "#00f"}, {"key": "plain", "value": ""}],
        });
        for (name, value) in patch.as_object().expect("fields") {
            document[name] = value.clone();
        }
        serde_json::from_value(document).expect("a definition")
    }

    #[test]
    fn every_part_of_a_definition_is_told() {
        let variants = |list: Value| json!({ "variants": list });
        let cases = [
            (json!({}), vec![]),
            (json!({"key": "colours"}), vec!["~ Key: theme → colours"]),
            (json!({"value_type": "integer"}), vec!["~ Type: text → whole number"]),
            (json!({"kind": "kill_switch"}), vec!["~ Kind: release → kill switch"]),
            (json!({"client_visible": true}), vec!["~ Browsers may read it"]),
            (
                variants(json!([{"key": "plain", "value": ""}, {"key": "blue", "value": "#00f"}])),
                vec!["~ Variants in another order"],
            ),
            (
                variants(json!([{"key": "blue", "value": "#00e"}, {"key": "dark", "value": "#000\n"}])),
                vec!["− Variant plain (“”)", "~ Variant blue: #00f → #00e", "+ Variant dark (#000␊)"],
            ),
        ];
        for (patch, told) in cases {
            assert_eq!(definition_changes(&definition(&json!({})), &definition(&patch)), told, "{patch}");
        }
        let (shown, hidden) = (definition(&json!({"client_visible": true})), definition(&json!({})));
        assert_eq!(definition_changes(&shown, &hidden), ["~ Browsers may no longer read it"]);
    }

    #[test]
    fn a_change_deep_in_a_long_value_is_shown_where_it_is() {
        let with = |text: String| definition(&json!({"variants": [{"key": "blue", "value": text}]}));
        let (old, new) = (with("x".repeat(60_000) + "old"), with("x".repeat(60_000) + "new"));
        let told = ["~ Variant blue: from character 60001 on, xxxxxxxxxxold → xxxxxxxxxxnew"];
        assert_eq!(definition_changes(&old, &new), told);
        let (long, longer) = (with("x".repeat(100)), with("x".repeat(102)));
        let told = ["~ Variant blue: from character 101 on, xxxxxxxxxx → xxxxxxxxxxxx"];
        assert_eq!(definition_changes(&long, &longer), told);
    }
}

//! A config in a few characters, for the cell of a table.

use crate::model::flag::FlagConfig;
use crate::model::rule::Serve;
use crate::sentence::serve::{owners, share};
use crate::sentence::shown::plural;

/// The longest [`brief`], in characters.
pub const BRIEF_CHARS_MAX: usize = 18;

/// What most users get, for a cell of a table: `on`, `10 % on`, `1 rule, else off`; the longest form that fits.
pub fn brief(config: &FlagConfig, is_killed: bool) -> String {
    if is_killed {
        return "killed".into();
    }
    if !config.enabled {
        return "off".into();
    }
    let (long, short) = brief_serve(&config.default_serve);
    let forms = match config.rules.iter().filter(|rule| !rule.paused).count() {
        0 => vec![long, short],
        count => {
            let rules = plural(count, "rule");
            vec![format!("{rules}, else {long}"), format!("{rules}, {long}"), format!("{rules}, {short}"), rules]
        }
    };
    let fits = |form: &String| form.chars().count() <= BRIEF_CHARS_MAX;
    let last = forms.last().cloned().unwrap_or_default();
    forms.into_iter().find(fits).unwrap_or_else(|| last.chars().take(BRIEF_CHARS_MAX - 1).chain(['…']).collect())
}

/// What is served, as it is and where that is too long.
fn brief_serve(serve: &Serve) -> (String, String) {
    let split = match serve {
        Serve::Variant(variant) => return (variant.to_string(), variant.to_string()),
        Serve::Split(split) => split,
    };
    let owners = owners(split);
    match owners.as_slice() {
        [] => ("nothing".into(), "nothing".into()),
        [(variant, _)] => (variant.to_string(), variant.to_string()),
        [(variant, buckets), (off, _)] if off.as_str() == "off" => {
            (format!("{} {variant}", share(split, *buckets)), "split".into())
        }
        _ => {
            let parts: Vec<String> = owners
                .iter()
                .map(|(variant, buckets)| format!("{variant} {}", share(split, *buckets).trim_end_matches(" %")))
                .collect();
            (parts.join(" "), format!("split over {}", owners.len()))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::split::BUCKETS;

    #[test]
    fn a_cell_shows_the_longest_form_that_fits() {
        let config = |default: &Value, rules: usize| -> FlagConfig {
            let rule =
                |at| json!({"id": format!("00000000-0000-0000-0000-00000000000{at}"), "serve": {"variant": "on"}});
            let rules: Vec<Value> = (0..rules).map(rule).collect();
            serde_json::from_value(json!({"enabled": true, "rules": rules, "default_serve": default}))
                .expect("a config")
        };
        let split = |ranges: &[(u32, u32, &str)]| {
            let range = |(start, end, key): &(u32, u32, &str)| json!({"start": start, "end": end, "variant": key});
            let ranges: Vec<Value> = ranges.iter().map(range).collect();
            json!({"split": {"bucket_by": "targetingKey", "seed": "s", "ranges": ranges}})
        };
        let tenth = split(&[(0, 10_000, "on"), (10_000, BUCKETS, "off")]);
        let three = split(&[(0, 30_000, "blue"), (30_000, 60_000, "green"), (60_000, BUCKETS, "control")]);
        let off = json!({"variant": "off"});
        let cases = [
            (config(&off, 0), "off"),
            (config(&off, 1), "1 rule, else off"),
            (config(&tenth, 0), "10 % on"),
            (config(&tenth, 2), "2 rules, 10 % on"),
            (config(&three, 0), "split over 3"),
            (config(&three, 2), "2 rules"),
            (config(&json!({"variant": "a-very-long-variant-key"}), 0), "a-very-long-varia…"),
        ];
        for (config, text) in cases {
            assert_eq!(brief(&config, false), text);
        }
        assert_eq!(brief(&config(&tenth, 2), true), "killed");
    }
}

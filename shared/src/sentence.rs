//! Turns configs, conditions and serves into English, so that list, flag page, review and history never disagree.

use crate::model::flag::{FlagConfig, FlagDefinition};
use crate::model::key::VariantKey;
use crate::model::rule::{Condition, Leaf, Operator, Serve};
use crate::model::split::{BUCKETS, Split};
use crate::model::variant::Variant;

/// The longest [`brief`], in characters.
pub const BRIEF_CHARS_MAX: usize = 18;

/// A share of all buckets: `10 %`, `0.5 %`, `33.333 %`.
pub fn percent(buckets: u32) -> String {
    let thousandths = buckets % 1_000;
    let whole = buckets / 1_000;
    if thousandths == 0 {
        return format!("{whole} %");
    }
    format!("{whole}.{}", format!("{thousandths:03}").trim_end_matches('0')) + " %"
}

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

/// What everyone gets, in one or two sentences.
pub fn config(flag: &FlagDefinition, config: &FlagConfig, is_killed: bool) -> String {
    let off = match &config.off_variant {
        Some(variant) => with_value(flag, variant),
        None => "the code's own default".into(),
    };
    if is_killed {
        return format!("Killed. Everyone gets {off}.");
    }
    if !config.enabled {
        return format!("Off. Everyone gets {off}.");
    }
    let keys: usize = config.targets.iter().map(|target| target.keys.len()).sum();
    let rules = config.rules.iter().filter(|rule| !rule.paused).count();
    let mut before = Vec::new();
    if keys > 0 {
        before.push(plural(keys, "named key"));
    }
    if rules > 0 {
        before.push(plural(rules, "rule"));
    }
    match (&config.default_serve, before.is_empty()) {
        (Serve::Variant(variant), true) => format!("On. Everyone gets {}.", with_value(flag, variant)),
        (Serve::Variant(variant), false) => {
            format!("On. {} first, everyone else gets {}.", before.join(" and "), with_value(flag, variant))
        }
        (Serve::Split(split), true) => format!("On. {}.", capital(&shares(split))),
        (Serve::Split(split), false) => format!("On. {} first, then {}.", before.join(" and "), shares(split)),
    }
}

/// A rule's condition: `plan is pro or team, and country is not DE`; empty for everyone.
pub fn condition(condition: &Condition) -> String {
    match condition {
        Condition::Leaf(leaf) => self::leaf(leaf),
        Condition::All(members) => group(members, ", and "),
        Condition::Any(members) if members.is_empty() => "nobody".into(),
        Condition::Any(members) => group(members, ", or "),
    }
}

/// What a rule serves: `on`, or `on to 10 % and off to 90 % by targetingKey`.
pub fn serve(serve: &Serve) -> String {
    match serve {
        Serve::Variant(variant) => variant.to_string(),
        Serve::Split(split) => {
            let parts: Vec<String> =
                owners(split).map(|(variant, buckets)| format!("{variant} to {}", percent(buckets))).collect();
            let rest = match BUCKETS - split.covered().min(BUCKETS) {
                0 => String::new(),
                rest => format!(", {} go on", percent(rest)),
            };
            format!("{}{rest} by {}", parts.join(" and "), split.bucket_by)
        }
    }
}

/// What changes between two configs of a flag, one line each; `+` added, `−` removed, `~` changed.
pub fn changes(old: &FlagConfig, new: &FlagConfig) -> Vec<String> {
    let mut lines = Vec::new();
    if old.enabled != new.enabled {
        lines.push(if new.enabled { "~ Turned on".into() } else { "~ Turned off".into() });
    }
    if old.off_variant != new.off_variant {
        let name = |variant: &Option<VariantKey>| variant.as_ref().map_or("code default".into(), ToString::to_string);
        lines.push(format!("~ Off variant: {} → {}", name(&old.off_variant), name(&new.off_variant)));
    }
    if old.targets != new.targets {
        let keys = |config: &FlagConfig| config.targets.iter().map(|target| target.keys.len()).sum::<usize>();
        lines.push(format!("~ Targets: {} → {}", plural(keys(old), "named key"), plural(keys(new), "named key")));
    }
    for (at, rule) in old.rules.iter().enumerate() {
        if !new.rules.iter().any(|r| r.id == rule.id) {
            lines.push(format!("− {}: {}", rule_label(at, &rule.name), rule_text(&rule.conditions, &rule.serve)));
        }
    }
    let kept = |rules: &[crate::model::rule::Rule], other: &[crate::model::rule::Rule]| -> Vec<_> {
        rules.iter().map(|r| r.id).filter(|id| other.iter().any(|o| o.id == *id)).collect()
    };
    if kept(&old.rules, &new.rules) != kept(&new.rules, &old.rules) {
        lines.push("~ Rules in another order".into());
    }
    for (at, rule) in new.rules.iter().enumerate() {
        let label = rule_label(at, &rule.name);
        let now = rule_text(&rule.conditions, &rule.serve);
        match old.rules.iter().find(|r| r.id == rule.id) {
            None => lines.push(format!("+ {label}: {now}")),
            Some(before) if before == rule => {}
            Some(before) => {
                let was = rule_text(&before.conditions, &before.serve);
                if before.paused != rule.paused {
                    lines.push(format!("~ {label}: {}", if rule.paused { "paused" } else { "resumed" }));
                }
                if was != now {
                    lines.push(format!("~ {label}: {was} → {now}"));
                } else if before.paused == rule.paused {
                    lines.push(format!("~ {label}: details changed"));
                }
            }
        }
    }
    if old.default_serve != new.default_serve {
        let (was, now) = (serve(&old.default_serve), serve(&new.default_serve));
        lines.push(if was == now {
            "~ Default: details changed".into()
        } else {
            format!("~ Default: {was} → {now}")
        });
    }
    lines
}

/// `Rule 2 Beta`; a rule need not have a name.
fn rule_label(at: usize, name: &str) -> String {
    format!("Rule {} {name}", at + 1).trim_end().to_owned()
}

fn rule_text(conditions: &Condition, serve: &Serve) -> String {
    match condition(conditions) {
        everyone if everyone.is_empty() => format!("everyone gets {}", self::serve(serve)),
        some => format!("if {some} then {}", self::serve(serve)),
    }
}

fn group(members: &[Condition], joint: &str) -> String {
    let parts = members.iter().map(|member| match member {
        Condition::All(inner) | Condition::Any(inner) if inner.len() > 1 => format!("({})", condition(member)),
        _ => condition(member),
    });
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(joint)
}

fn leaf(leaf: &Leaf) -> String {
    let not = if leaf.negate { "not " } else { "" };
    match leaf.operator {
        Operator::Equals => format!("{} is {not}{}", leaf.attribute, any_of(&leaf.values)),
        Operator::Exists if leaf.negate => format!("{} is absent", leaf.attribute),
        Operator::Exists => format!("{} is present", leaf.attribute),
        Operator::InSegment => format!("{not}in segment {}", any_of(&leaf.values)),
    }
}

fn any_of(values: &[String]) -> String {
    match values {
        [] => "nothing".into(),
        [one] => one.clone(),
        [first @ .., last] if values.len() <= 4 => format!("{} or {last}", first.join(", ")),
        [first, second, ..] => format!("{first}, {second} or {} others", values.len() - 2),
    }
}

/// What is served, as it is and where that is too long.
fn brief_serve(serve: &Serve) -> (String, String) {
    let split = match serve {
        Serve::Variant(variant) => return (variant.to_string(), variant.to_string()),
        Serve::Split(split) => split,
    };
    let owners: Vec<_> = owners(split).collect();
    match owners.as_slice() {
        [(variant, _)] => (variant.to_string(), variant.to_string()),
        [(variant, buckets), (off, _)] if off.as_str() == "off" => {
            (format!("{} {variant}", percent(*buckets)), "split".into())
        }
        _ => {
            let parts: Vec<String> = owners.iter().map(|(variant, b)| format!("{variant} {}", b / 1_000)).collect();
            (parts.join(" "), format!("split over {}", owners.len()))
        }
    }
}

fn shares(split: &Split) -> String {
    let parts: Vec<String> =
        owners(split).map(|(variant, buckets)| format!("{} get {variant}", percent(buckets))).collect();
    parts.join(", ")
}

/// Variants that own buckets, in order of their first range.
fn owners(split: &Split) -> impl Iterator<Item = (&VariantKey, u32)> {
    split.ranges.iter().enumerate().filter_map(|(at, range)| {
        let is_first = split.ranges[..at].iter().all(|earlier| earlier.variant != range.variant);
        is_first.then(|| (&range.variant, split.share(&range.variant)))
    })
}

fn with_value(flag: &FlagDefinition, variant: &VariantKey) -> String {
    match flag.variants.iter().find(|v| v.key == *variant) {
        Some(Variant { value, .. }) if (1..=30).contains(&value.chars().count()) => format!("{variant} ({value})"),
        _ => variant.to_string(),
    }
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_written_without_idle_zeros() {
        let cases = [(0, "0 %"), (10_000, "10 %"), (500, "0.5 %"), (33_333, "33.333 %"), (BUCKETS, "100 %")];
        for (buckets, text) in cases {
            assert_eq!(percent(buckets), text);
        }
    }

    #[test]
    fn a_cell_shows_the_longest_form_that_fits() {
        let config = |default: &str, rules: usize| -> FlagConfig {
            let rule = |at| format!(r#"{{"id":"00000000-0000-0000-0000-00000000000{at}","serve":{{"variant":"on"}}}}"#);
            let rules: Vec<String> = (0..rules).map(rule).collect();
            let json = format!(r#"{{"enabled":true,"rules":[{}],"default_serve":{default}}}"#, rules.join(","));
            serde_json::from_str(&json).expect("a config")
        };
        let split = |ranges: &[(u32, u32, &str)]| {
            let range =
                |(start, end, key): &(u32, u32, &str)| format!(r#"{{"start":{start},"end":{end},"variant":"{key}"}}"#);
            let ranges: Vec<String> = ranges.iter().map(range).collect();
            format!(r#"{{"split":{{"bucket_by":"targetingKey","seed":"s","ranges":[{}]}}}}"#, ranges.join(","))
        };
        let tenth = split(&[(0, 10_000, "on"), (10_000, BUCKETS, "off")]);
        let three = split(&[(0, 30_000, "blue"), (30_000, 60_000, "green"), (60_000, BUCKETS, "control")]);
        let off = r#"{"variant":"off"}"#;
        let cases = [
            (config(off, 0), "off"),
            (config(off, 1), "1 rule, else off"),
            (config(&tenth, 0), "10 % on"),
            (config(&tenth, 2), "2 rules, 10 % on"),
            (config(&three, 0), "split over 3"),
            (config(&three, 2), "2 rules"),
        ];
        for (config, text) in cases {
            assert_eq!(brief(&config, false), text);
        }
        assert_eq!(brief(&config(&tenth, 2), true), "killed");
    }

    #[test]
    fn conditions_read_as_english() {
        let json = r#"{"all":[{"attribute":"plan","operator":"equals","values":["pro","team"]},
            {"any":[{"attribute":"country","operator":"equals","values":["DE"],"negate":true},
                    {"operator":"in_segment","values":["staff"]}]}]}"#;
        let tree: Condition = serde_json::from_str(json).expect("a condition");
        assert_eq!(condition(&tree), "plan is pro or team, and (country is not DE, or in segment staff)");
    }
}

//! Flags that have done their work: one answer to everyone, everywhere, for long.

use crate::lint::variant::answerable;
use crate::model::flag::{FlagConfig, FlagDefinition, FlagKind};
use crate::model::key::VariantKey;
use crate::model::timestamp::Timestamp;

/// A flag in one environment, and since when.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'d> {
    /// How it is set up there.
    pub config: &'d FlagConfig,
    /// Whether it is killed there.
    pub is_killed: bool,
    /// The last change of its config or its kill there.
    pub changed_at: Timestamp,
}

/// A flag that has answered nothing but one variant for some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// What it answers.
    pub variant: VariantKey,
    /// The last change in any of the environments.
    pub since: Timestamp,
    /// Whole days since then.
    pub days: u32,
    /// What to do about it, in sentences.
    pub message: String,
}

/// Since when a flag answers only one variant in all of its environments, when that is `days_min` days or more.
///
/// Only release flags that are not permanent are meant to end so. A default that divides users and gives all of them
/// one variant counts, although who has no bucketing key gets an error; a killed flag does not, since it may come back.
pub fn settled(
    definition: &FlagDefinition,
    is_permanent: bool,
    environments: &[Setup<'_>],
    now: Timestamp,
    days_min: u32,
) -> Option<Settled> {
    if definition.kind != FlagKind::Release || is_permanent {
        return None;
    }
    let since = environments.iter().map(|setup| setup.changed_at).max()?;
    let days = u32::try_from((now.unix_ms() - since.unix_ms()) / MS_PER_DAY).ok().filter(|days| *days >= days_min)?;
    let variant = only_answer(environments.first()?)?;
    if !environments.iter().all(|setup| only_answer(setup) == Some(variant)) {
        return None;
    }
    let times = if days == 1 { "1 day".into() } else { format!("{days} days") };
    let message =
        format!("Everyone gets {variant}, everywhere and for {times} now. Keep that in the code and archive the flag.");
    Some(Settled { variant: variant.clone(), since, days, message })
}

const MS_PER_DAY: i64 = 24 * 60 * 60 * 1_000;

/// The one variant that a flag answers; `None` when there are several, or it leaves the answer to the code.
fn only_answer<'d>(setup: &Setup<'d>) -> Option<&'d VariantKey> {
    let config = setup.config;
    if setup.is_killed {
        return None;
    }
    if !config.enabled {
        return config.off_variant.as_ref();
    }
    // While a prerequisite is not met, the off variant is the answer.
    let blocked = (!config.prerequisites.is_empty()).then_some(config.off_variant.as_ref());
    let only = answerable(config).next()?;
    let is_only = answerable(config).all(|variant| variant == only) && blocked.is_none_or(|off| off == Some(only));
    is_only.then_some(only)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn definition(kind: &str) -> FlagDefinition {
        serde_json::from_value(json!({
            "key": "f", "value_type": "boolean", "kind": kind, "client_visible": false,
            "variants": [{"key": "on", "value": "true"}, {"key": "off", "value": "false"}],
        }))
        .expect("a definition")
    }

    fn time(text: &str) -> Timestamp {
        serde_json::from_value(json!(text)).expect("a time")
    }

    fn config(patch: &Value) -> FlagConfig {
        let mut document = json!({"enabled": true, "off_variant": "off", "default_serve": {"variant": "on"}});
        for (name, value) in patch.as_object().expect("fields") {
            document[name] = value.clone();
        }
        serde_json::from_value(document).expect("a config")
    }

    /// Set up like this in production, and on for everyone in staging.
    fn found(patch: &Value, is_killed: bool, days_min: u32) -> Option<Settled> {
        let (production, staging) = (config(patch), config(&json!({})));
        let setups = [
            Setup { config: &staging, is_killed: false, changed_at: time("2026-01-01T00:00:00Z") },
            Setup { config: &production, is_killed, changed_at: time("2026-02-01T12:00:00Z") },
        ];
        settled(&definition("release"), false, &setups, time("2026-03-14T00:00:00Z"), days_min)
    }

    #[test]
    fn one_answer_everywhere_for_long_is_told_with_its_time() {
        let found = found(&json!({}), false, 40).expect("a finding");
        assert_eq!((found.variant.as_str(), found.days), ("on", 40));
        assert_eq!(found.since, time("2026-02-01T12:00:00Z"));
        let message = "Everyone gets on, everywhere and for 40 days now. Keep that in the code and archive the flag.";
        assert_eq!(found.message, message);
    }

    #[test]
    fn whatever_could_answer_differently_is_no_end() {
        let rule = |variant: &str, paused: bool| {
            json!({"rules": [{"id": "00000000-0000-0000-0000-000000000000", "paused": paused,
                "conditions": {"attribute": "a", "operator": "exists"}, "serve": {"variant": variant}}]})
        };
        let split = |end: u32| {
            let ranges = [(0, end, "on"), (end, 100_000, "off")].into_iter().filter(|(start, end, _)| start < end);
            let ranges: Vec<Value> =
                ranges.map(|(start, end, variant)| json!({"start": start, "end": end, "variant": variant})).collect();
            json!({"default_serve": {"split": {"bucket_by": "targetingKey", "seed": "s", "ranges": ranges}}})
        };
        let needs = json!([{"flag": "parent", "variants": ["on"]}]);
        let cases = [
            (json!({}), true),
            (json!({"enabled": false}), false),
            (json!({"enabled": false, "off_variant": "on"}), true),
            (json!({"enabled": false, "off_variant": null}), false),
            (json!({"default_serve": {"variant": "off"}}), false),
            (split(100_000), true),
            (split(99_999), false),
            (rule("on", false), true),
            (rule("off", false), false),
            (rule("off", true), true),
            (json!({"targets": [{"variant": "off", "keys": ["a"]}]}), false),
            (json!({"targets": [{"variant": "off", "keys": []}]}), true),
            (json!({ "prerequisites": needs }), false),
            (json!({"prerequisites": needs, "off_variant": "on"}), true),
        ];
        for (patch, is_settled) in cases {
            assert_eq!(found(&patch, false, 30).is_some(), is_settled, "{patch}");
        }
        assert_eq!(found(&json!({}), true, 30), None);
        assert_eq!(found(&json!({}), false, 41), None);
    }

    #[test]
    fn only_release_flags_that_should_end_are_told() {
        let on = config(&json!({}));
        let setups = [Setup { config: &on, is_killed: false, changed_at: time("2026-01-01T00:00:00Z") }];
        let now = time("2026-03-14T00:00:00Z");
        assert!(settled(&definition("release"), false, &setups, now, 30).is_some());
        assert_eq!(settled(&definition("release"), true, &setups, now, 30), None);
        assert_eq!(settled(&definition("permission"), false, &setups, now, 30), None);
        assert_eq!(settled(&definition("release"), false, &[], now, 0), None);
        assert_eq!(settled(&definition("release"), false, &setups, time("2025-01-01T00:00:00Z"), 0), None);
    }
}

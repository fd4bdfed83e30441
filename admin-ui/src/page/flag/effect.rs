//! Who is affected by a change, said before it is saved.

use shared::model::flag::{FlagConfig, FlagDefinition};
use shared::model::key::VariantKey;
use shared::model::rule::Serve;
use shared::model::split::{Algorithm, BUCKETS, BucketRange, Movement, movement};
use shared::sentence;

/// What the change from `old` to `new` does to users, one sentence each.
pub fn lines(flag: &FlagDefinition, old: &FlagConfig, new: &FlagConfig, is_killed: bool) -> Vec<String> {
    if is_killed {
        return vec!["Nobody yet: the flag is killed here, and stays so until it is restored.".into()];
    }
    match (old.enabled, new.enabled) {
        (false, false) => vec!["Nobody yet: the flag is off here.".into()],
        (true, false) => vec![sentence::config(flag, new, false).replacen("Off. ", "", 1)],
        (false, true) => vec![
            sentence::config(flag, new, false).replacen("On. ", "", 1),
            sentence::config(flag, old, false).replacen("Off. Everyone gets", "Until now everyone got", 1),
        ],
        (true, true) => while_on(old, new),
    }
}

fn while_on(old: &FlagConfig, new: &FlagConfig) -> Vec<String> {
    let mut lines = Vec::new();
    if old.targets != new.targets {
        lines.push("Named keys that were added or removed.".into());
    }
    for before in old.rules.iter().filter(|before| !before.paused) {
        match new.rules.iter().find(|rule| rule.id == before.id) {
            Some(rule) if !rule.paused => {}
            _ => lines.push(format!(
                "Users that match rule {} go on to what follows it.",
                label(old, before.name.as_str(), before.id)
            )),
        }
    }
    for rule in new.rules.iter().filter(|rule| !rule.paused) {
        let name = label(new, &rule.name, rule.id);
        match old.rules.iter().find(|before| before.id == rule.id && !before.paused) {
            None => lines.push(format!(
                "Users that match rule {name} and nothing above it get {}.",
                sentence::serve(&rule.serve)
            )),
            Some(before) => {
                if before.conditions != rule.conditions {
                    lines.push(format!("Users that rule {name} now matches, or no longer matches."));
                }
                lines.extend(serve(&before.serve, &rule.serve, &format!("of the users rule {name} matches")));
            }
        }
    }
    if order(old) != order(new) && order(old).len() == order(new).len() {
        lines.push("Users that match several rules: the first one in the new order answers.".into());
    }
    lines.extend(serve(&old.default_serve, &new.default_serve, "of users"));
    if lines.is_empty() {
        lines.push("Nobody: no answer changes now.".into());
    }
    lines
}

/// Who moves when one serve takes the place of another.
pub fn serve(old: &Serve, new: &Serve, who: &str) -> Vec<String> {
    if old == new {
        return Vec::new();
    }
    let ((old_ranges, old_basis), (new_ranges, new_basis)) = (division(old), division(new));
    if let (Some(old), Some(new)) = (&old_basis, &new_basis)
        && old != new
    {
        let reason = if old.0 != new.0 { "what they are divided by" } else { "the seed" };
        return vec![format!(
            "Everyone {who} is divided anew, because {reason} changes: any of them may get another variant."
        )];
    }
    let who = match old_basis.or(new_basis) {
        Some((bucket_by, ..)) if bucket_by != "targetingKey" => format!("{who}, counted by {bucket_by},"),
        _ => who.into(),
    };
    let moves = movement(BUCKETS, &old_ranges, &new_ranges);
    let mut lines: Vec<String> = moves
        .iter()
        .map(|Movement { from, to, buckets }| {
            format!("{} {who} move: {} → {}.", exact_percent(*buckets), name(from.as_ref()), name(to.as_ref()))
        })
        .collect();
    if !moves.is_empty() {
        let moved: u32 = moves.iter().map(|m| m.buckets).sum();
        let growing: Vec<&VariantKey> = moves.iter().filter_map(|m| m.to.as_ref()).collect();
        let stays = growing.into_iter().find(|variant| moves.iter().all(|m| m.from.as_ref() != Some(variant)));
        let keep = format!("{} keep what they have.", exact_percent(BUCKETS - moved.min(BUCKETS)));
        lines.push(match stays {
            Some(variant) => format!("Nobody leaves {variant}; {keep}"),
            None => keep,
        });
    }
    lines
}

type Basis = (String, Algorithm, String);

/// Ranges of a serve, and by what they are divided; one variant for everybody is divided by nothing.
fn division(serve: &Serve) -> (Vec<BucketRange>, Option<Basis>) {
    match serve {
        Serve::Variant(variant) => (vec![BucketRange { start: 0, end: BUCKETS, variant: variant.clone() }], None),
        Serve::Split(split) => {
            (split.ranges.clone(), Some((split.bucket_by.clone(), split.algorithm, split.seed.clone())))
        }
    }
}

/// A share to the last bucket: `15.000 %`.
pub fn exact_percent(buckets: u32) -> String {
    format!("{}.{:03} %", buckets / 1_000, buckets % 1_000)
}

fn name(variant: Option<&VariantKey>) -> String {
    variant.map_or_else(|| "what follows".into(), ToString::to_string)
}

fn label(config: &FlagConfig, name: &str, id: shared::model::id::RuleId) -> String {
    let at = config.rules.iter().position(|rule| rule.id == id).unwrap_or(0) + 1;
    if name.is_empty() { at.to_string() } else { format!("{at} {name}") }
}

fn order(config: &FlagConfig) -> Vec<shared::model::id::RuleId> {
    config.rules.iter().map(|rule| rule.id).collect()
}

#[cfg(test)]
mod tests {
    use shared::model::split::{Split, reallocate};

    use super::*;

    fn key(text: &str) -> VariantKey {
        text.parse().expect("a variant key")
    }

    fn split(seed: &str, old: &[BucketRange], on: u32) -> Serve {
        let ranges = reallocate(BUCKETS, old, &[(key("on"), on), (key("off"), BUCKETS - on)]);
        Serve::Split(Split {
            bucket_by: "targetingKey".into(),
            algorithm: Algorithm::Murmur3,
            seed: seed.into(),
            total: BUCKETS,
            ranges,
        })
    }

    #[test]
    fn raising_a_share_says_who_moves_and_that_nobody_leaves() {
        let old = split("a", &[], 10_000);
        let Serve::Split(inner) = &old else { panic!("a split") };
        let new = split("a", &inner.ranges, 25_000);
        assert_eq!(
            serve(&old, &new, "of users"),
            ["15.000 % of users move: off → on.", "Nobody leaves on; 85.000 % keep what they have."]
        );
    }

    #[test]
    fn another_seed_divides_everyone_anew() {
        let lines = serve(&split("a", &[], 10_000), &split("b", &[], 10_000), "of users");
        assert_eq!(lines.len(), 1);
        assert!(lines[0].contains("divided anew"), "{lines:?}");
    }

    #[test]
    fn one_variant_for_all_becomes_a_share() {
        let lines = serve(&Serve::Variant(key("off")), &split("a", &[], 10_000), "of users");
        assert_eq!(lines[0], "10.000 % of users move: off → on.");
    }
}

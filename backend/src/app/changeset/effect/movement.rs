//! Who moves when what is served is divided otherwise.

use shared::model::flag::FlagConfig;
use shared::model::rule::Serve;
use shared::model::split::{BUCKETS, BucketRange, Split, movement};
use shared::wire::api::changeset::{Moved, SplitMovement};

/// Who moves between two configs of a flag that is on in both, by rule and for the default.
pub(super) fn between(before: &FlagConfig, after: &FlagConfig) -> Vec<SplitMovement> {
    if !(before.enabled && after.enabled) {
        return Vec::new();
    }
    let rules = after.rules.iter().enumerate().filter(|(_, rule)| !rule.paused).filter_map(|(at, rule)| {
        let was = before.rules.iter().find(|known| known.id == rule.id && !known.paused)?;
        let place = format!("rule {} {}", at + 1, rule.name);
        served(place.trim_end(), &was.serve, &rule.serve)
    });
    rules.chain(served("default", &before.default_serve, &after.default_serve)).collect()
}

fn served(place: &str, before: &Serve, after: &Serve) -> Option<SplitMovement> {
    if before == after {
        return None;
    }
    let (was, now) = (split(before), split(after));
    let basis = now.or(was);
    let bucket_by = basis.map_or_else(|| "targetingKey".to_owned(), |split| split.bucket_by.clone());
    let total = basis.map_or(BUCKETS, |split| split.total);
    let is_anew = was.zip(now).is_some_and(|(was, now)| {
        (&was.bucket_by, was.algorithm, &was.seed, was.total) != (&now.bucket_by, now.algorithm, &now.seed, now.total)
    });
    let moves = if is_anew { Vec::new() } else { movement(total, &ranges(before, total), &ranges(after, total)) };
    let moves: Vec<Moved> =
        moves.into_iter().map(|moved| Moved { from: moved.from, to: moved.to, buckets: moved.buckets }).collect();
    if moves.is_empty() && !is_anew {
        return None;
    }
    Some(SplitMovement { place: place.to_owned(), bucket_by, total, is_anew, moves })
}

fn split(serve: &Serve) -> Option<&Split> {
    if let Serve::Split(split) = serve { Some(split) } else { None }
}

/// One variant for everybody is a division with one part.
fn ranges(serve: &Serve, total: u32) -> Vec<BucketRange> {
    match serve {
        Serve::Variant(variant) => vec![BucketRange { start: 0, end: total, variant: variant.clone() }],
        Serve::Split(split) => split.ranges.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn config(serve: &Value) -> FlagConfig {
        serde_json::from_value(json!({ "enabled": true, "off_variant": "off", "default_serve": serve }))
            .expect("a config")
    }

    fn share(seed: &str, on: u32) -> Value {
        json!({ "split": { "bucket_by": "targetingKey", "seed": seed, "ranges": [
            { "start": 0, "end": on, "variant": "on" }, { "start": on, "end": 100_000, "variant": "off" } ] } })
    }

    #[test]
    fn a_raised_share_moves_those_between_and_another_seed_says_that_nobody_knows() {
        let moved = between(&config(&share("a", 10_000)), &config(&share("a", 15_000)));
        let moves = json!([{ "from": "off", "to": "on", "buckets": 5_000 }]);
        assert_eq!(serde_json::to_value(&moved[0].moves).expect("JSON"), moves);
        assert_eq!((moved.len(), moved[0].place.as_str(), moved[0].is_anew), (1, "default", false));
        let anew = between(&config(&share("a", 10_000)), &config(&share("b", 10_000)));
        assert!(anew[0].is_anew && anew[0].moves.is_empty());
        let all = between(&config(&share("a", 10_000)), &config(&json!({ "variant": "on" })));
        assert_eq!(all[0].moves[0].buckets, 90_000);
        assert_eq!(between(&config(&share("a", 1)), &config(&share("a", 1))), []);
    }
}

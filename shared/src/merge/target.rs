//! Targets: which variant each named key gets.

use std::collections::{BTreeSet, HashMap};

use crate::merge::Conflict;
use crate::merge::list::{Part, picked};
use crate::model::flag::Target;
use crate::model::key::VariantKey;

/// Merges key by key; theirs, with what the other edit changed.
pub(super) fn merge_targets(
    base: &[Target],
    theirs: &[Target],
    mine: &[Target],
    conflicts: &mut Vec<Conflict>,
) -> Vec<Target> {
    if mine == base || mine == theirs {
        return theirs.to_vec();
    }
    if theirs == base {
        return mine.to_vec();
    }
    let (was, now, own) = (variants(base), variants(theirs), variants(mine));
    let mut merged = theirs.to_vec();
    let keys: BTreeSet<&str> = was.keys().chain(own.keys()).copied().collect();
    let said = |variant: &Option<&VariantKey>| variant.map_or("no target".into(), ToString::to_string);
    for key in keys {
        let (was, now, own) = (was.get(key).copied(), now.get(key).copied(), own.get(key).copied());
        let part = Part { field: format!("targets[{key}]"), said: &said };
        let picked = *picked(part, (&was, &now, &own), conflicts);
        if picked != now {
            give(&mut merged, key, picked.cloned());
        }
    }
    merged
}

fn variants(targets: &[Target]) -> HashMap<&str, &VariantKey> {
    targets.iter().flat_map(|target| target.keys.iter().map(|key| (key.as_str(), &target.variant))).collect()
}

/// Takes a key from where it is, and gives it to a variant.
fn give(targets: &mut Vec<Target>, key: &str, variant: Option<VariantKey>) {
    for target in targets.iter_mut() {
        target.keys.retain(|known| known != key);
    }
    targets.retain(|target| !target.keys.is_empty());
    let Some(variant) = variant else { return };
    match targets.iter_mut().find(|target| target.variant == variant) {
        Some(target) => target.keys.push(key.to_owned()),
        None => targets.push(Target { variant, keys: vec![key.to_owned()] }),
    }
}

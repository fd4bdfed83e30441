//! How an accumulator lies in the spool: as the entries of a batch, of any number.

use serde::{Deserialize, Serialize};
use shared::wire::count::{EvaluationCount, Exposures, KeyCount, UnitEvents, UnknownCount};

use crate::count::accumulator::close::{evaluation_count, exposures, key_count, unit_events, unknown_count};
use crate::count::accumulator::{Accumulator, EvaluationKey, EventKey, ExposureKey, UnknownKey};

/// What a version before did not write is absent.
#[derive(Serialize, Deserialize)]
pub(super) struct Counts {
    evaluations: Vec<EvaluationCount>,
    keys: Vec<KeyCount>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unknown: Vec<UnknownCount>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    exposures: Vec<Exposures>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    events: Vec<UnitEvents>,
}

impl From<Accumulator> for Counts {
    fn from(open: Accumulator) -> Self {
        let units = |events: std::collections::BTreeMap<u64, (u64, f64)>| {
            events.into_iter().map(|(unit, (count, sum))| (unit, count, sum)).collect()
        };
        Self {
            evaluations: open.evaluations.into_iter().map(|(key, count)| evaluation_count(key, count)).collect(),
            keys: open.keys.into_iter().map(|(key, count)| key_count(key, count)).collect(),
            unknown: open.unknown.into_iter().map(|(key, count)| unknown_count(key, count)).collect(),
            exposures: open.exposures.into_iter().map(|(key, of)| exposures(key, of.into_iter().collect())).collect(),
            events: open.events.into_iter().map(|(key, of)| unit_events(key, units(of))).collect(),
        }
    }
}

impl From<Counts> for Accumulator {
    fn from(counts: Counts) -> Self {
        let mut open = Self::default();
        for EvaluationCount { minute, environment, flag, place, variant, reason, mode, count } in counts.evaluations {
            open.add(EvaluationKey { minute, environment, flag, place, variant, reason, mode }, count);
        }
        for KeyCount { minute, environment, key, count } in counts.keys {
            open.add_key(minute, environment, key, count);
        }
        for UnknownCount { minute, environment, key, flag, count } in counts.unknown {
            open.add_unknown(UnknownKey { minute, environment, key, flag }, count);
        }
        for Exposures { minute, environment, flag, place, variant, units } in counts.exposures {
            open.add_exposures(ExposureKey { minute, environment, flag, place, variant }, units);
        }
        for UnitEvents { minute, environment, event, units } in counts.events {
            for (unit, count, sum) in units {
                open.add_event(EventKey { minute, environment, event: event.clone() }, unit, count, sum);
            }
        }
        open
    }
}

//! The documents of one environment by key, to tell a trace beside them.

use std::collections::HashMap;

use shared::model::flag::FlagConfig;
use shared::model::id::EnvironmentId;
use shared::model::key::{FlagKey, SegmentKey};
use shared::model::segment::SegmentDefinition;
use shared::sentence::Documents;
use shared::wire::state::{Entity, FORMAT, FlagBody, StateKey};

use crate::disk::Record;

/// What can be read of an environment's flags and segments.
#[derive(Default)]
pub(super) struct EnvironmentDocuments {
    flags: HashMap<FlagKey, FlagConfig>,
    segments: HashMap<SegmentKey, SegmentDefinition>,
}

impl EnvironmentDocuments {
    pub(super) fn of(records: &[Record], environment: EnvironmentId) -> Self {
        let mut found = Self::default();
        let mut keyed: Vec<(u64, Entity, &Record)> = records
            .iter()
            .filter_map(|record| Some((record.key.parse::<StateKey>().ok()?, record)))
            .filter(|(key, _)| key.environment == environment)
            .map(|(key, record)| (record.envelope.revision, key.entity, record))
            .collect();
        // Of twins the one written last answers.
        keyed.sort_by_key(|(revision, entity, _)| (*revision, *entity));
        for (_, entity, record) in keyed {
            let envelope = &record.envelope;
            let Some(body) = envelope.body.as_ref().filter(|_| !envelope.deleted && envelope.format <= FORMAT) else {
                continue;
            };
            match entity {
                Entity::Flag(_) => {
                    if let Ok(FlagBody { flag, config }) = serde_json::from_str(body.get()) {
                        found.flags.insert(flag.key, config);
                    }
                }
                Entity::Segment(_) => {
                    if let Ok(segment) = serde_json::from_str::<SegmentDefinition>(body.get()) {
                        found.segments.insert(segment.key.clone(), segment);
                    }
                }
                Entity::SdkKey(_) | Entity::Environment => {}
            }
        }
        found
    }
}

impl Documents for EnvironmentDocuments {
    fn config(&self, flag: &FlagKey) -> Option<&FlagConfig> {
        self.flags.get(flag)
    }

    fn segment(&self, segment: &SegmentKey) -> Option<&SegmentDefinition> {
        self.segments.get(segment)
    }
}

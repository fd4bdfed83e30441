//! One environment in memory: documents in, answers out.

use std::sync::Arc;

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

use crate::evaluation::flag_map::{FlagMap, Keyed};
use crate::evaluation::{Environment, Flag, Segment, SegmentLookup};
use crate::model::flag::{FlagConfig, FlagDefinition};
use crate::model::key::SegmentKey;
use crate::model::segment::SegmentDefinition;

/// Everything that decides the answers of one environment, as documents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateDocument {
    /// Its flags.
    #[serde(default)]
    pub flags: Vec<StateFlag>,
    /// The segments that its flags reach.
    #[serde(default)]
    pub segments: Vec<SegmentDefinition>,
}

/// A flag of an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateFlag {
    /// What is the same in every environment.
    pub flag: FlagDefinition,
    /// How it is set up here.
    pub config: FlagConfig,
    /// Off now, whatever the config says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub killed: bool,
}

/// One environment, ready to answer. A clone is cheap, and shares all that is not changed in it afterwards.
#[derive(Clone, Debug, Default)]
pub struct State {
    flags: FlagMap<Entry>,
    segments: Arc<HashMap<SegmentKey, SegmentLookup>>,
}

#[derive(Clone, Debug)]
struct Entry {
    flag: Arc<Flag>,
    is_killed: bool,
}

impl Keyed for Entry {
    fn key(&self) -> &str {
        self.flag.key.as_str()
    }
}

impl State {
    /// Compiles an environment. What does not compile takes down only the flags that reach it.
    pub fn compile(document: &StateDocument) -> Self {
        let compiled = |definition: &SegmentDefinition| {
            let segment = Segment::compile(definition).map(Arc::new);
            (definition.key.clone(), segment.map_or_else(SegmentLookup::Broken, SegmentLookup::Ready))
        };
        let segments = Arc::new(document.segments.iter().map(compiled).collect());
        let mut state = Self { flags: FlagMap::default(), segments };
        document.flags.iter().for_each(|flag| state.set(flag));
        state
    }

    /// Compiles one flag and puts it in, in place of what was there under its key.
    pub fn set(&mut self, StateFlag { flag, config, killed }: &StateFlag) {
        let segment = |key: &SegmentKey| self.segments.get(key).cloned().unwrap_or(SegmentLookup::Missing);
        let compiled = Flag::compile(flag, config, segment);
        self.flags.insert(Entry { flag: Arc::new(compiled), is_killed: *killed });
    }
}

impl Environment for State {
    fn flag(&self, key: &str) -> Option<(&Flag, bool)> {
        self.flags.get(key).map(|entry| (&*entry.flag, entry.is_killed))
    }
}

//! Decides what a flag answers. Pure, total, and without allocation: the same rule cannot answer differently on
//! the edge, in the backend and in the browser.
//!
//! [`Flag::compile`] and [`Segment::compile`] turn documents into the form that [`evaluate`] walks. [`State`] holds an
//! environment of them; whoever keeps flags in another way implements [`Environment`]. [`explain`] takes the same walk
//! and records it.

mod attribute;
mod bucketing;
mod condition;
mod context;
mod flag;
mod flag_map;
mod outcome;
mod segment;
mod split;
mod state;
mod trace;
mod unit;
mod walk;

pub use bucketing::{Bucketing, Key, bucket};
pub use context::{Context, Fields, TARGETING_KEY, Value};
pub use flag::Flag;
pub use flag_map::{FlagMap, Keyed};
pub use outcome::{ErrorCode, Outcome, Place, Reason};
pub use segment::{Segment, SegmentLookup};
pub use state::{State, StateDocument, StateFlag};
pub use trace::{
    ConditionTrace, OutcomeTrace, PrerequisiteTrace, RuleTrace, SegmentBy, SegmentTrace, SplitTrace, TargetsTrace,
    Trace,
};
pub use unit::{Unit, key_in};

use crate::model::sdk_key::SdkKeyKind;
use trace::{Recorder, Silent};
use walk::Walk;

/// The flags of one environment, as far as prerequisites need them.
pub trait Environment {
    /// The flag of this key, and whether it is killed.
    fn flag(&self, key: &str) -> Option<(&Flag, bool)>;
}

/// Who asks, about whom, and when.
#[derive(Clone, Copy, Debug)]
pub struct Query<'q> {
    /// About whom.
    pub context: &'q Context<'q>,
    /// When, in milliseconds since 1970; conditions on `$now` compare with it.
    pub now_ms: i64,
    /// Who: a client sees only flags that are `client_visible`.
    pub asker: SdkKeyKind,
}

/// What the flag of a key answers; [`ErrorCode::FlagNotFound`] when there is none, or the asker may not see it.
pub fn evaluate<'e>(environment: &'e impl Environment, key: &str, query: &Query<'_>) -> Outcome<'e> {
    match find(environment, key, query) {
        Some((flag, is_killed)) => evaluate_flag(environment, flag, is_killed, query),
        None => NOT_FOUND,
    }
}

/// What a flag of the environment answers, whether the asker may see it or not.
#[inline]
pub fn evaluate_flag<'e>(
    environment: &'e impl Environment,
    flag: &'e Flag,
    is_killed: bool,
    query: &Query<'_>,
) -> Outcome<'e> {
    Walk::new(environment, query, Silent).flag(flag, is_killed)
}

/// The same as [`evaluate`], with a record of how it came about; none for a flag that is not found.
pub fn explain<'e>(environment: &'e impl Environment, key: &str, query: &Query<'_>) -> (Outcome<'e>, Option<Trace>) {
    let Some((flag, is_killed)) = find(environment, key, query) else { return (NOT_FOUND, None) };
    let mut walk = Walk::new(environment, query, Recorder::default());
    let outcome = walk.flag(flag, is_killed);
    (outcome, walk.tracer.into_trace())
}

const NOT_FOUND: Outcome<'static> =
    Outcome::error(ErrorCode::FlagNotFound, "there is no flag of this key in the environment");

fn find<'e>(environment: &'e impl Environment, key: &str, query: &Query<'_>) -> Option<(&'e Flag, bool)> {
    let found = environment.flag(key);
    found.filter(|(flag, _)| flag.client_visible || query.asker == SdkKeyKind::Server)
}

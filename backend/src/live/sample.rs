//! How each edge was within a minute, for the history of the fleet.

use std::collections::HashMap;

use shared::model::id::{EnvironmentId, ProcessId};
use time::{Duration, OffsetDateTime};

use crate::live::{Edge, Known, Live};

/// An edge within one minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeSample {
    /// Which.
    pub process: ProcessId,
    /// Its display name.
    pub name: String,
    /// Resident memory, in bytes.
    pub memory_bytes: u64,
    /// Evaluations since its process began.
    pub counted: u64,
    /// Of these, not yet confirmed.
    pub unsent: u64,
    /// Revisions that the environment furthest behind lacks.
    pub revisions_behind: u64,
    /// The longest from commit to receipt, of receipts within the minute.
    pub lag_ms: Option<u64>,
}

impl Live {
    /// The edges heard within the minute before `now`, given the newest revision of each environment. A silent one has no
    /// sample: its history has a gap.
    pub fn samples(&self, newest: &HashMap<EnvironmentId, u64>, now: OffsetDateTime) -> Vec<EdgeSample> {
        let known = self.lock();
        let since = now - Duration::MINUTE;
        let heard =
            known.edges.values().filter(|edge| edge.heartbeat_at >= since && !edge.heartbeat.version.is_empty());
        heard.map(|edge| known.sample(edge, newest, since)).collect()
    }
}

impl Known {
    fn sample(&self, edge: &Edge, newest: &HashMap<EnvironmentId, u64>, since: OffsetDateTime) -> EdgeSample {
        let behind = newest.iter().map(|(environment, revision)| {
            revision.saturating_sub(edge.environments.get(environment).map_or(0, |applied| applied.revision))
        });
        let receipts = edge.environments.values().flat_map(|applied| &applied.receipts);
        let lags = receipts.filter(|(_, at)| *at >= since).filter_map(|(revision, at)| {
            let lag = *at - *self.commits.get(revision)?;
            Some(u64::try_from(lag.whole_milliseconds()).unwrap_or(0))
        });
        EdgeSample {
            process: edge.heartbeat.process,
            name: edge.heartbeat.name.clone(),
            memory_bytes: edge.heartbeat.memory_bytes,
            counted: edge.heartbeat.counted,
            unsent: edge.heartbeat.unsent,
            revisions_behind: behind.max().unwrap_or(0),
            lag_ms: lags.max(),
        }
    }
}

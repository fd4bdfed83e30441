//! What is written into an event stream.

use std::fmt;
use std::str::FromStr;

use crate::http::etag::of_revision;
use crate::snapshot::Environment;

/// Which answers a client should have: a revision, and the last time at which a condition on `$now` turned, in
/// milliseconds since 1970; 0 when there was none. The greater one is the newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EventId {
    pub(super) revision: u64,
    pub(super) boundary_ms: i64,
}

impl EventId {
    /// What an environment answers by now, and the next time at which that may change by itself.
    pub(super) fn around(environment: &Environment, now_ms: i64) -> (Self, Option<i64>) {
        let (before, after) = environment.boundaries_around(now_ms);
        (Self { revision: environment.revision, boundary_ms: before.unwrap_or(0) }, after)
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.revision, self.boundary_ms)
    }
}

impl FromStr for EventId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (revision, boundary_ms) = text.split_once('.').ok_or(())?;
        let (revision, boundary_ms) = (revision.parse().map_err(drop)?, boundary_ms.parse().map_err(drop)?);
        Ok(Self { revision, boundary_ms })
    }
}

/// Keeps proxies and clients from taking the connection for dead.
pub(super) const HEARTBEAT: &str = ": hb\n\n";

/// Tells the client how soon to come back and, where it has nothing to fetch, how far it is; without waking its code.
pub(super) fn greeting(id: Option<EventId>, retry_ms: u64) -> String {
    let id = id.map_or(String::new(), |id| format!("id: {id}\n"));
    format!("{id}retry: {retry_ms}\n\n")
}

/// Asks the client to fetch all flags again.
pub(super) fn refetch(id: EventId, retry_ms: u64, swapped_at_ms: i64) -> String {
    let (etag, at) = (of_revision(id.revision), swapped_at_ms.max(id.boundary_ms).div_euclid(1000));
    let data = format!("{{\"type\":\"refetchEvaluation\",\"etag\":\"{etag}\",\"lastModified\":{at}}}");
    format!("id: {id}\nevent: message\nretry: {retry_ms}\ndata: {data}\n\n")
}

//! Counts not yet confirmed, under the identity of the process that counted them, in one file.

use std::collections::VecDeque;
use std::io;

use serde::{Deserialize, Serialize};
use shared::model::id::ProcessId;
use shared::wire::count::{Confirmation, CountBatch};
use shared::wire::edge::InheritedCounts;
use tracing::{error, warn};

use crate::count::Accumulator;
use crate::disk::{Folder, Kind};

const NAME: &str = "counts";
/// How many dead processes' counts are kept; more would take as many restarts while nothing
/// was ever confirmed.
const INHERITED_MAX: usize = 16;

/// The counts of one process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Identity {
    /// Who counted.
    pub process: ProcessId,
    /// Sequence of the next batch to close.
    pub next_sequence: u64,
    /// The batch in flight, never changed.
    pub closed: Option<CountBatch>,
    /// Everything newer.
    pub open: Accumulator,
}

impl Identity {
    fn new(process: ProcessId) -> Self {
        Self { process, next_sequence: 1, closed: None, open: Accumulator::default() }
    }

    /// Nothing to send.
    pub fn is_empty(&self) -> bool {
        self.closed.is_none() && self.open.is_empty()
    }

    /// Closes a batch unless one is in flight. Returns whether there is one now.
    pub fn close(&mut self) -> bool {
        if self.closed.is_none() {
            self.closed = self.open.close(self.process, self.next_sequence);
            if self.closed.is_some() {
                self.next_sequence += 1;
            }
        }
        self.closed.is_some()
    }

    /// Evaluations not yet confirmed, those of unknown flags included.
    pub fn unsent(&self) -> u64 {
        self.closed.as_ref().map_or(0, evaluations_in) + self.open.total()
    }
}

/// Own counts, and before them those that earlier processes could not send.
#[derive(Debug)]
pub struct Spool {
    /// Oldest first; sent before the own ones.
    pub inherited: VecDeque<Identity>,
    /// Of this process.
    pub own: Identity,
    /// Evaluations of processes too far back, which were let go of.
    pub lost_to_restarts: u64,
}

impl Spool {
    /// Takes over what lies in the folder. A damaged file is ignored by name; its counts are lost.
    pub fn open(folder: &Folder, process: ProcessId) -> Self {
        let payload = folder.read(NAME, Kind::Counts).unwrap_or_else(|error| {
            warn!(%error, "unsent counts are lost");
            None
        });
        Self::take_over(payload.as_deref(), process).unwrap_or_else(|error| {
            warn!(%error, path = %folder.file(NAME).display(), "unsent counts are lost: the file is ignored");
            Self::new(VecDeque::new(), process)
        })
    }

    /// Takes over what an earlier process wrote.
    pub fn take_over(payload: Option<&[u8]>, process: ProcessId) -> Result<Self, serde_json::Error> {
        let inherited = payload.map(serde_json::from_slice).transpose()?;
        Ok(Self::new(inherited.unwrap_or_default(), process))
    }

    fn new(mut inherited: VecDeque<Identity>, process: ProcessId) -> Self {
        inherited.retain(|identity| !identity.is_empty());
        let mut lost_to_restarts = 0;
        while inherited.len() > INHERITED_MAX
            && let Some(oldest) = inherited.pop_front()
        {
            // Whole: under another name its counts could be added twice, once from here and once from a copy of the
            // folder that keeps their name.
            let lost = oldest.unsent();
            lost_to_restarts += lost;
            error!(process.id = %oldest.process, lost, "too many restarts without a confirmation: counts are lost");
        }
        Self { inherited, own: Identity::new(process), lost_to_restarts }
    }

    /// The first who has something to send.
    pub fn first(&mut self) -> Option<&mut Identity> {
        self.inherited.retain(|identity| !identity.is_empty());
        match self.inherited.front_mut() {
            Some(oldest) => Some(oldest),
            None => Some(&mut self.own).filter(|own| !own.is_empty()),
        }
    }

    /// Drops the batch that a confirmation is about; whether it was the one in flight.
    pub fn confirm(&mut self, confirmation: Confirmation) -> bool {
        let Some(first) = self.first() else { return false };
        let is_it =
            |batch: &CountBatch| (batch.process, batch.sequence) == (confirmation.process, confirmation.sequence);
        let is_confirmed = first.closed.as_ref().is_some_and(is_it);
        if is_confirmed {
            first.closed = None;
        }
        is_confirmed
    }

    /// What earlier processes left and is not yet confirmed.
    pub fn inherited_counts(&self) -> Vec<InheritedCounts> {
        let waits = self.inherited.iter().filter(|identity| !identity.is_empty());
        waits.map(|identity| InheritedCounts { process: identity.process, unsent: identity.unsent() }).collect()
    }

    /// Batches that wait: those that are closed, and one for everything newer of each process.
    pub fn waiting(&self) -> u64 {
        let batches = |identity: &Identity| u64::from(identity.closed.is_some()) + u64::from(!identity.open.is_empty());
        self.all().map(batches).sum()
    }

    /// Batches that are closed and not yet confirmed.
    pub fn unacked(&self) -> u64 {
        self.all().filter(|identity| identity.closed.is_some()).count() as u64
    }

    /// Evaluations not yet confirmed, inherited ones included.
    pub fn unsent(&self) -> u64 {
        self.all().map(Identity::unsent).sum()
    }

    /// Nothing waits to be sent.
    pub fn is_empty(&self) -> bool {
        self.all().all(Identity::is_empty)
    }

    fn all(&self) -> impl Iterator<Item = &Identity> {
        self.inherited.iter().chain([&self.own])
    }

    /// The bytes to write.
    pub fn payload(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(&self.all().collect::<Vec<_>>())
    }

    /// Writes the file anew.
    pub fn write(folder: &Folder, payload: &[u8]) -> io::Result<()> {
        folder.write(NAME, Kind::Counts, payload)
    }
}

/// Evaluations that a batch tells of, those of unknown flags included.
pub(super) fn evaluations_in(batch: &CountBatch) -> u64 {
    let known = batch.evaluations.iter().map(|entry| entry.count).sum::<u64>();
    known + batch.unknown.iter().map(|entry| entry.count).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use shared::wire::count::Mode;
    use uuid::Uuid;

    use super::*;
    use crate::count::accumulator::EvaluationKey;

    fn count(identity: &mut Identity, count: u64) {
        let key = EvaluationKey {
            minute: 1,
            environment: Uuid::from_u128(1).into(),
            flag: Uuid::from_u128(2).into(),
            place: "off".into(),
            variant: None,
            reason: None,
            mode: Mode::Single,
        };
        identity.open.add(key, count);
    }

    #[test]
    fn a_successor_sends_what_it_finds_under_the_old_identity_first() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(parent.path()).expect("free");
        let (old, new): (ProcessId, ProcessId) = (Uuid::from_u128(7).into(), Uuid::from_u128(8).into());
        let mut spool = Spool::open(&folder, old);
        count(&mut spool.own, 3);
        assert!(spool.own.close());
        count(&mut spool.own, 4);
        Spool::write(&folder, &spool.payload().expect("JSON")).expect("written");

        let mut successor = Spool::open(&folder, new);
        count(&mut successor.own, 5);
        assert_eq!((successor.unacked(), successor.unsent()), (1, 12));
        let mut sent = Vec::new();
        while let Some(first) = successor.first() {
            assert!(first.close());
            let batch = first.closed.take().expect("a batch");
            sent.push((batch.process, batch.sequence, batch.evaluations[0].count));
        }
        assert_eq!(sent, [(old, 1, 3), (old, 2, 4), (new, 1, 5)]);
    }

    #[test]
    fn what_too_many_restarts_cost_is_told() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(parent.path()).expect("free");
        let mut spool = Spool::open(&folder, Uuid::from_u128(1).into());
        for process in 2..=19 {
            let mut identity = Identity::new(Uuid::from_u128(process).into());
            count(&mut identity, 2);
            assert!(identity.close());
            count(&mut identity, 1);
            spool.inherited.push_back(identity);
        }
        Spool::write(&folder, &spool.payload().expect("JSON")).expect("written");
        let successor = Spool::open(&folder, Uuid::from_u128(20).into());
        // All of the oldest two, and nothing of them under another name.
        assert_eq!((successor.inherited.len(), successor.lost_to_restarts), (INHERITED_MAX, 6));
        assert_eq!(successor.unsent(), 16 * 3);
        let left = successor.inherited_counts();
        assert_eq!(left.iter().map(|left| left.unsent).collect::<Vec<_>>(), [3; INHERITED_MAX]);
        assert_eq!(left[0].process, Uuid::from_u128(4).into());
    }

    #[test]
    fn only_the_batch_in_flight_can_be_confirmed() {
        let (process, other): (ProcessId, ProcessId) = (Uuid::from_u128(1).into(), Uuid::from_u128(2).into());
        let mut spool = Spool::take_over(None, process).expect("empty");
        let confirm = |spool: &mut Spool, process, sequence| spool.confirm(Confirmation { process, sequence });
        assert!(!confirm(&mut spool, process, 1));
        count(&mut spool.own, 3);
        assert!(!confirm(&mut spool, process, 1), "it is not closed yet");
        assert!(spool.own.close());
        count(&mut spool.own, 4);
        assert_eq!((spool.waiting(), spool.unacked()), (2, 1));
        assert!(!confirm(&mut spool, process, 2) && !confirm(&mut spool, other, 1));
        assert!(confirm(&mut spool, process, 1));
        assert!(!confirm(&mut spool, process, 1), "it is gone");
        assert_eq!((spool.waiting(), spool.unsent()), (1, 4));
    }

    /// As the version before wrote it: without reasons, unknown flags and experiments.
    #[test]
    fn a_spool_of_the_version_before_is_sent() {
        let spooled = r#"[{"process":"00000000-0000-0000-0000-000000000007","next_sequence":3,"closed":{"process":
            "00000000-0000-0000-0000-000000000007","sequence":2,"evaluations":[{"minute":29000000,"environment":
            "00000000-0000-0000-0000-000000000001","flag":"00000000-0000-0000-0000-000000000002","place":"off",
            "variant":"off","mode":"single","count":5}]},"open":{"evaluations":[{"minute":29000001,"environment":
            "00000000-0000-0000-0000-000000000001","flag":"00000000-0000-0000-0000-000000000002","place":
            "error GENERAL","mode":"bulk","count":4}],"keys":[{"minute":29000001,"environment":
            "00000000-0000-0000-0000-000000000001","key":"00000000-0000-0000-0000-000000000003","count":6}]}}]"#;
        let mut spool = Spool::take_over(Some(spooled.as_bytes()), Uuid::from_u128(8).into()).expect("readable");
        assert_eq!(spool.unsent(), 9);
        let process: ProcessId = Uuid::from_u128(7).into();
        assert!(spool.confirm(Confirmation { process, sequence: 2 }));
        let first = spool.first().expect("the rest");
        assert!(first.close());
        let batch = first.closed.take().expect("a batch");
        assert_eq!((batch.process, batch.sequence, batch.keys[0].count), (process, 3, 6));
        assert_eq!((batch.evaluations[0].reason, batch.evaluations[0].count), (None, 4));
    }
}

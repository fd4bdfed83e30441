//! Counts not yet acknowledged, under the identity of the process that counted them, in one file.

use std::collections::VecDeque;
use std::io;

use serde::{Deserialize, Serialize};
use shared::model::id::ProcessId;
use shared::wire::count::CountBatch;
use tracing::{error, warn};

use crate::count::Accumulator;
use crate::disk::{Folder, Kind};

const NAME: &str = "counts";
/// How many dead processes' counts are kept; more would take as many restarts while the stream never answered.
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

    /// Evaluations not yet acknowledged.
    pub fn unsent(&self) -> u64 {
        let closed = self.closed.iter().flat_map(|batch| &batch.evaluations);
        closed.map(|entry| entry.count).sum::<u64>() + self.open.total()
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
        let mut inherited: VecDeque<Identity> = match folder.read(NAME, Kind::Counts) {
            Ok(None) => VecDeque::new(),
            Ok(Some(payload)) => serde_json::from_slice(&payload).unwrap_or_else(|error| {
                warn!(%error, path = %folder.file(NAME).display(), "unsent counts are lost: the file is ignored");
                VecDeque::new()
            }),
            Err(error) => {
                warn!(%error, "unsent counts are lost");
                VecDeque::new()
            }
        };
        inherited.retain(|identity| !identity.is_empty());
        let mut lost_to_restarts = 0;
        while inherited.len() > INHERITED_MAX
            && let Some(oldest) = inherited.pop_front()
        {
            // What was never closed was never sent, so it may go out under any name.
            if let Some(next) = inherited.front_mut() {
                next.open.absorb(oldest.open);
                lost_to_restarts += next.open.shrink();
            }
            if let Some(batch) = oldest.closed {
                let lost: u64 = batch.evaluations.iter().map(|entry| entry.count).sum();
                lost_to_restarts += lost;
                error!(process.id = %oldest.process, lost, "too many restarts without an acknowledgement: counts are lost");
            }
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

    /// Batches in flight.
    pub fn unacked(&self) -> u64 {
        self.all().filter(|identity| identity.closed.is_some()).count() as u64
    }

    /// Evaluations not yet acknowledged, inherited ones included.
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
        // The batches in flight of the oldest two; what was open of them goes out under the next name.
        assert_eq!((successor.inherited.len(), successor.lost_to_restarts), (INHERITED_MAX, 4));
        assert_eq!(successor.unsent(), 18 * 3 - 4);
    }
}

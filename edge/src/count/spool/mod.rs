//! Counts not yet confirmed, under the identity of the process that counted them, in one file.

mod identity;

use std::collections::VecDeque;
use std::io;

use shared::model::id::ProcessId;
use shared::wire::count::{Confirmation, CountBatch};
use shared::wire::edge::InheritedCounts;
use tracing::{error, warn};

use crate::disk::{Folder, Kind};

pub use identity::Identity;

const NAME: &str = "counts";
/// How many dead processes' counts are kept; more would take as many restarts while nothing
/// was ever confirmed.
const INHERITED_MAX: usize = 16;

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
        let is_confirmed = first.closed.as_ref().is_some_and(|batch| batch.confirmation() == confirmation);
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

    /// Batches that wait: those that are closed, and one each for the rest of a range and for everything newer.
    pub fn waiting(&self) -> u64 {
        let unclosed = |identity: &Identity| identity.unclosed().filter(|counts| !counts.is_empty()).count() as u64;
        self.unacked() + self.all().map(unclosed).sum::<u64>()
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
mod tests;

//! The counts of one process, under names that nobody else can give to other counts.
//!
//! Each gathering has a number, and what was gathered once is named by the range of its gatherings. As copies of a spool
//! may be sent by several processes at once, a range that was sealed is never added to nor folded, and everybody cuts
//! it into the same parts: who holds the range sends the same batches. Who sealed sooner or later has a range that
//! overlaps, and whoever adds batches takes but one of the two.

use serde::{Deserialize, Serialize};
use shared::model::id::ProcessId;
use shared::wire::count::{Confirmation, CountBatch};

use crate::count::Accumulator;
use crate::count::spool::evaluations_in;

/// The counts of one process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Identity {
    /// Who counted.
    pub process: ProcessId,
    /// The number of the next gathering.
    pub next_sequence: u64,
    /// The part in flight, never changed.
    pub closed: Option<CountBatch>,
    /// What is left of the range that goes out in parts; never empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<Sealed>,
    /// The number of the first gathering in `open`; absent while there is none, and in what an older version spooled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open_first: Option<u64>,
    /// Everything newer, up to the gathering before the next.
    pub open: Accumulator,
}

/// The gatherings `first..=last`, without the parts that were closed.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Sealed {
    first: u64,
    last: u64,
    next_part: u32,
    rest: Accumulator,
}

impl Identity {
    pub(super) fn new(process: ProcessId) -> Self {
        let open = Accumulator::default();
        Self { process, next_sequence: 1, closed: None, sealed: None, open_first: None, open }
    }

    /// Nothing to send.
    pub fn is_empty(&self) -> bool {
        self.closed.is_none() && self.unclosed().all(Accumulator::is_empty)
    }

    /// Gives a number to what has just been gathered into `open`; to be called once for each gathering that brought
    /// something.
    pub fn number_gathering(&mut self) {
        self.open_first.get_or_insert(self.next_sequence);
        self.next_sequence += 1;
    }

    /// Closes the next part unless one is in flight, of `entries_max` entries at most. Returns whether there is one now.
    pub fn close(&mut self, entries_max: usize) -> bool {
        if self.closed.is_none() {
            self.seal();
            self.closed = self.next_part(entries_max);
        }
        self.closed.is_some()
    }

    /// Begins with everything that is open, unless a range is not yet sent to its end.
    fn seal(&mut self) {
        if self.sealed.is_some() || self.open.is_empty() {
            return;
        }
        if self.open_first.is_none() {
            // An older version gathered it, and would have given it the next sequence.
            self.number_gathering();
        }
        let first = self.open_first.take().unwrap_or(self.next_sequence);
        let rest = std::mem::take(&mut self.open);
        self.sealed = Some(Sealed { first, last: self.next_sequence - 1, next_part: 0, rest });
    }

    fn next_part(&mut self, entries_max: usize) -> Option<CountBatch> {
        let sealed = self.sealed.as_mut()?;
        let name = Confirmation { process: self.process, sequence: sealed.last, part: sealed.next_part };
        let batch = sealed.rest.close(name, sealed.first, entries_max);
        sealed.next_part += 1;
        if sealed.rest.is_empty() {
            self.sealed = None;
        }
        batch
    }

    /// What lies in no closed batch.
    pub fn unclosed(&self) -> impl Iterator<Item = &Accumulator> {
        self.sealed.iter().map(|sealed| &sealed.rest).chain([&self.open])
    }

    /// Evaluations not yet confirmed, those of unknown flags included.
    pub fn unsent(&self) -> u64 {
        self.closed.as_ref().map_or(0, evaluations_in) + self.unclosed().map(Accumulator::total).sum::<u64>()
    }
}

//! Never more than the truth, whatever happens on the way; never less than the truth without what was not on disk.
//!
//! Processes count, gather, fold, seal, close parts, spool, send, crash, are started again and have their folders copied; the
//! wire repeats, reorders and loses; an ingester adds the first content it sees of each (process, range, part), and refuses
//! what overlaps another range.

use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;
use shared::model::id::FlagId;
use shared::wire::count::{Confirmation, CountBatch, Mode};
use uuid::Uuid;

use crate::count::{Accumulator, EvaluationKey, Spool};

/// So few entries go into a batch that most ranges take several.
const ENTRIES_MAX: usize = 2;
/// So few entries stay open unfolded.
const FOLD_TO: usize = 8;

/// What can happen; the numbers choose among what there is.
#[derive(Clone, Debug)]
enum Step {
    /// A process counts.
    Count { process: usize, minute: i64, flag: u128, count: u64 },
    /// It gathers; the disk takes the spool, or does not.
    Gather { process: usize, writes: bool },
    /// It closes a part unless one is in flight, writes its spool, and publishes.
    Send { process: usize },
    /// The same, but it dies before it publishes.
    CloseAndDie { process: usize },
    /// It dies.
    Die { process: usize },
    /// A process is started on a folder without one.
    Start { folder: usize },
    /// A folder without a process is copied; both are used from then on.
    Copy { folder: usize },
    /// The folder of a running process is copied.
    CopyRunning { process: usize },
    /// The ingester gets some message, perhaps again, and its confirmation reaches a process, perhaps.
    Ingest { message: usize, reaches: Option<usize> },
}

fn step(copies_running: bool) -> impl Strategy<Value = Step> {
    let at = 0..8_usize;
    let counts = (at.clone(), 0..3_i64, 0..4_u128, 1..100_u64);
    prop_oneof![
        8 => counts.prop_map(|(process, minute, flag, count)| Step::Count { process, minute, flag, count }),
        6 => (at.clone(), proptest::bool::weighted(0.8)).prop_map(|(process, writes)| Step::Gather { process, writes }),
        8 => at.clone().prop_map(|process| Step::Send { process }),
        1 => at.clone().prop_map(|process| Step::CloseAndDie { process }),
        2 => at.clone().prop_map(|process| Step::Die { process }),
        3 => at.clone().prop_map(|folder| Step::Start { folder }),
        1 => at.clone().prop_map(|folder| Step::Copy { folder }),
        1 => at.clone().prop_map(move |at| {
            if copies_running { Step::CopyRunning { process: at } } else { Step::Copy { folder: at } }
        }),
        8 => (0..64_usize, proptest::option::of(at)).prop_map(|(message, reaches)| Step::Ingest { message, reaches }),
    ]
}

#[derive(Debug)]
struct Process {
    folder: usize,
    spool: Spool,
    /// Counted and not yet gathered.
    cells: Accumulator,
    /// Gathered since the spool was written.
    unwritten: u64,
}

/// Evaluations by flag.
type Totals = BTreeMap<FlagId, u64>;

/// Everything there is.
#[derive(Debug, Default)]
struct World {
    /// The spool file of each, as it was written last.
    folders: Vec<Option<Vec<u8>>>,
    processes: Vec<Process>,
    ids: u128,
    wire: Vec<CountBatch>,
    added: HashMap<Confirmation, CountBatch>,
    truth: Totals,
    /// Counted and not on disk when a process died, or let go of after too many restarts.
    lost: u64,
}

impl World {
    /// Two folders with a process each; the second may begin as a copy of the first, which had so many processes before
    /// that were never confirmed anything.
    fn new(ancestors: usize, is_copied: bool) -> Self {
        let mut world = Self { folders: vec![None], ..Self::default() };
        for _ in 0..ancestors {
            world.start(0);
            for flag in 0..3 {
                world.take(&Step::Count { process: 0, minute: 0, flag, count: 1 });
            }
            world.take(&Step::Gather { process: 0, writes: true });
            // The spool has batches of earlier processes to send first, so what this one counted stays open.
            world.take(&Step::CloseAndDie { process: 0 });
        }
        world.folders.push(world.folders[0].clone().filter(|_| is_copied));
        world.start(0);
        world.start(1);
        world
    }

    fn start(&mut self, folder: usize) {
        let folder = folder % self.folders.len();
        if self.processes.iter().any(|process| process.folder == folder) {
            return;
        }
        self.ids += 1;
        let spool = Spool::take_over(self.folders[folder].as_deref(), Uuid::from_u128(self.ids).into());
        let spool = spool.expect("readable");
        self.lost += spool.lost_to_restarts;
        self.processes.push(Process { folder, spool, cells: Accumulator::default(), unwritten: 0 });
    }

    fn process(&mut self, at: usize) -> Option<&mut Process> {
        let len = self.processes.len().max(1);
        self.processes.get_mut(at % len)
    }

    fn gather(&mut self, at: usize) {
        let Some(Process { spool, cells, unwritten, .. }) = self.process(at) else { return };
        if !cells.is_empty() {
            *unwritten += cells.total();
            spool.own.open.append(cells);
            spool.own.number_gathering();
            spool.own.open.fold(FOLD_TO);
        }
    }

    fn write(&mut self, at: usize) {
        let Some(process) = self.process(at) else { return };
        process.unwritten = 0;
        let (folder, payload) = (process.folder, process.spool.payload().expect("JSON"));
        self.folders[folder] = Some(payload);
    }

    /// Closes and writes; returns what may be published then.
    fn close(&mut self, at: usize) -> Option<CountBatch> {
        let first = self.process(at)?.spool.first()?;
        first.close(ENTRIES_MAX);
        let batch = first.closed.clone();
        self.write(at);
        batch
    }

    fn die(&mut self, at: usize) {
        if !self.processes.is_empty() {
            let gone = self.processes.swap_remove(at % self.processes.len());
            self.lost += gone.unwritten + gone.cells.total();
        }
    }

    /// Adds a batch unless its name was added before or its range overlaps another one, and says so to a process.
    fn ingest(&mut self, batch: &CountBatch, reaches: Option<usize>) {
        let of_process = self.added.values().filter(|added| added.process == batch.process);
        let overlaps = of_process.filter(|added| added.first() <= batch.sequence && batch.first() <= added.sequence);
        let mut others = overlaps.filter(|added| (added.first(), added.sequence) != (batch.first(), batch.sequence));
        if others.next().is_none() {
            self.added.entry(batch.confirmation()).or_insert_with(|| batch.clone());
        }
        if let Some(reached) = reaches.and_then(|at| self.process(at)) {
            reached.spool.confirm(batch.confirmation());
        }
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Count { process, minute, flag, count } => {
                let Some(process) = self.process(process) else { return };
                let (environment, flag) = (Uuid::from_u128(1).into(), Uuid::from_u128(flag).into());
                let (place, mode) = ("default".into(), Mode::Single);
                let key = EvaluationKey { minute, environment, flag, place, variant: None, reason: None, mode };
                process.cells.add(key, count);
                *self.truth.entry(flag).or_default() += count;
            }
            Step::Gather { process, writes } => {
                self.gather(process);
                if writes {
                    self.write(process);
                }
            }
            Step::Send { process } => {
                let batch = self.close(process);
                self.wire.extend(batch);
            }
            Step::CloseAndDie { process } => {
                self.close(process);
                self.die(process);
            }
            Step::Die { process } => self.die(process),
            Step::Start { folder } => self.start(folder),
            Step::Copy { folder } => {
                let folder = folder % self.folders.len();
                if self.folders.len() < 6 && self.processes.iter().all(|process| process.folder != folder) {
                    self.folders.push(self.folders[folder].clone());
                }
            }
            Step::CopyRunning { process } => {
                if self.folders.len() < 6
                    && let Some(folder) = self.process(process).map(|process| process.folder)
                {
                    self.folders.push(self.folders[folder].clone());
                }
            }
            Step::Ingest { message, reaches } => {
                if let Some(batch) = self.wire.get(message % self.wire.len().max(1)).cloned() {
                    self.ingest(&batch, reaches);
                }
            }
        }
    }

    fn added(&self) -> Totals {
        let mut totals = Totals::new();
        for entry in self.added.values().flat_map(|batch| &batch.evaluations) {
            *totals.entry(entry.flag).or_default() += entry.count;
        }
        totals
    }

    /// Nothing was added that was not counted.
    fn is_true(&self) -> bool {
        self.added().iter().all(|(flag, added)| self.truth.get(flag).is_some_and(|truth| added <= truth))
    }

    /// The counts of one range and part are the same, whoever sends them.
    fn names_are_unique(&self) -> bool {
        let mut contents = HashMap::new();
        self.wire.iter().all(|batch| *contents.entry(batch.confirmation()).or_insert(batch) == batch)
    }

    /// Everything is well again: every folder has a process, and all that waits is sent and confirmed.
    fn settle(&mut self) {
        for folder in 0..self.folders.len() {
            self.start(folder);
        }
        for at in 0..self.processes.len() {
            self.gather(at);
            while let Some(batch) = self.close(at) {
                self.ingest(&batch, Some(at));
                self.wire.push(batch);
            }
            assert!(self.processes[at].spool.is_empty());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn what_is_added_is_the_truth_without_what_was_not_on_disk(
        ancestors in prop_oneof![Just(0), 13..19_usize],
        is_copied in any::<bool>(),
        steps in proptest::collection::vec(step(false), 1..120),
    ) {
        let mut world = World::new(ancestors, is_copied);
        for step in &steps {
            world.take(step);
            prop_assert!(world.is_true());
        }
        world.settle();
        prop_assert!(world.is_true() && world.names_are_unique());
        let (added, truth) = (world.added().values().sum::<u64>(), world.truth.values().sum::<u64>());
        prop_assert!(added + world.lost >= truth, "{} {} {}", added, world.lost, truth);
    }

    /// Of a folder that is copied while its process goes on, both send under one name for a while, cut at different
    /// times. What comes second is refused, and with it what the process counted meanwhile; but nothing is invented.
    #[test]
    fn a_copy_of_a_running_edge_invents_nothing(steps in proptest::collection::vec(step(true), 1..120)) {
        let mut world = World::new(0, false);
        for step in &steps {
            world.take(step);
            prop_assert!(world.is_true());
        }
        world.settle();
        prop_assert!(world.is_true() && world.names_are_unique());
    }
}

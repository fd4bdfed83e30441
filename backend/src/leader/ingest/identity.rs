//! Which batches are new: none is added twice, and no count is added in two ranges.
//!
//! The ranges that were added of a process are the same or apart, so that one lookup finds what overlaps. All of this
//! happens under the lock of ingest; what a version before adds meanwhile meets the primary key.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use shared::model::id::ProcessId;
use shared::wire::count::CountBatch;
use time::OffsetDateTime;
use tokio_postgres::Transaction;
use uuid::Uuid;

const KNOW_PROCESSES: &str = "
insert into count_processes (process, received, is_complete, first_at, last_at)
select sent.process, 0, not exists (select from count_batches where count_batches.process = sent.process), $2, $2
from unnest($1::uuid[]) as sent (process)
order by sent.process
on conflict (process) do nothing";
const LOCK_PROCESSES: &str = "
select process from count_processes where process = any($1::uuid[]) order by process for update";
/// A range overlaps one that ends in it, or the first of those that end behind it. A row without a first sequence comes
/// from a version before, which does not know ranges: it may stand for any range with its end.
const JUDGE: &str = "
select
    sent.sequence <= forgotten_through
        or exists (
            select from count_batches as added
            where added.process = sent.process and added.sequence = sent.sequence and added.part = sent.part
        ),
    sent.first <= forgotten_through
        or exists (
            select from count_batches as added
            where added.process = sent.process
                and added.sequence between sent.first and sent.sequence
                and (added.sequence < sent.sequence or added.first_sequence <> sent.first)
        )
        or sent.sequence >= (
            select coalesce(added.first_sequence, added.sequence)
            from count_batches as added
            where added.process = sent.process and added.sequence > sent.sequence
            order by added.sequence, coalesce(added.first_sequence, added.sequence)
            limit 1
        )
from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::integer[]) with ordinality
    as sent (process, first, sequence, part, place)
join count_processes using (process)
order by sent.place";
const IDENTIFY: &str = "
insert into count_batches (process, first_sequence, sequence, part, received_at)
select process, first, sequence, part, $5
from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::integer[]) as sent (process, first, sequence, part)
order by process, sequence, part
on conflict (process, sequence, part) do nothing
returning process, sequence, part";
const RECEIVE: &str = "
update count_processes
set received = received + sent.added, last_at = $3
from unnest($1::uuid[], $2::bigint[]) as sent (process, added)
where count_processes.process = sent.process";

/// What becomes of batches.
pub(super) struct Identified<'a> {
    /// To be added.
    pub(super) new: Vec<&'a CountBatch>,
    /// How many were added before.
    pub(super) repeated: u64,
    /// Overlap another range of their process.
    pub(super) refused: Vec<&'a CountBatch>,
}

/// Names of batches, column by column.
#[derive(Default)]
struct Names {
    processes: Vec<Uuid>,
    firsts: Vec<i64>,
    sequences: Vec<i64>,
    parts: Vec<i32>,
}

impl<'a> FromIterator<&'a CountBatch> for Names {
    fn from_iter<T: IntoIterator<Item = &'a CountBatch>>(batches: T) -> Self {
        let mut names = Self::default();
        for batch in batches {
            let (process, sequence, part) = name(batch);
            names.processes.push(process);
            names.firsts.push(i64::try_from(batch.first()).unwrap_or(i64::MAX));
            names.sequences.push(sequence);
            names.parts.push(part);
        }
        names
    }
}

fn name(batch: &CountBatch) -> (Uuid, i64, i32) {
    let sequence = i64::try_from(batch.sequence).unwrap_or(i64::MAX);
    (batch.process.uuid(), sequence, i32::try_from(batch.part).unwrap_or(i32::MAX))
}

/// Writes down the names and totals of the batches that are new.
pub(super) async fn identify<'a>(
    tx: &Transaction<'_>,
    batches: &'a [CountBatch],
    now: OffsetDateTime,
) -> Result<Identified<'a>, tokio_postgres::Error> {
    let processes: BTreeSet<Uuid> = batches.iter().map(|batch| batch.process.uuid()).collect();
    let processes: Vec<Uuid> = processes.into_iter().collect();
    tx.execute(KNOW_PROCESSES, &[&processes, &now]).await?;
    tx.query(LOCK_PROCESSES, &[&processes]).await?;
    let Names { processes, firsts, sequences, parts } = batches.iter().collect();
    let judged = tx.query(JUDGE, &[&processes, &firsts, &sequences, &parts]).await?;
    let judged = judged.iter().map(|row| (row.get(0), row.get::<_, Option<bool>>(1).unwrap_or_default()));
    let mut identified = choose(batches, judged);

    let Names { processes, firsts, sequences, parts } = identified.new.iter().copied().collect();
    let rows = tx.query(IDENTIFY, &[&processes, &firsts, &sequences, &parts, &now]).await?;
    let fresh: HashSet<(Uuid, i64, i32)> = rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    let chosen = identified.new.len();
    identified.new.retain(|batch| fresh.contains(&name(batch)));
    identified.repeated += (chosen - identified.new.len()) as u64;
    receive(tx, &identified.new, now).await?;
    Ok(identified)
}

/// Goes through batches and whether each is known and overlaps what was added, in one order; the same goes for those
/// among them: of what excludes each other, the first counts.
fn choose(batches: &[CountBatch], judged: impl Iterator<Item = (bool, bool)>) -> Identified<'_> {
    let mut identified = Identified { new: Vec::new(), repeated: 0, refused: Vec::new() };
    let mut names = HashSet::new();
    let mut ranges: BTreeMap<ProcessId, BTreeMap<u64, u64>> = BTreeMap::new();
    for (batch, (is_known, overlaps)) in batches.iter().zip(judged) {
        let (first, last) = (batch.first(), batch.sequence);
        let of_process = ranges.entry(batch.process).or_default();
        // They are apart, so that none before the last of those that begin in time reaches further.
        let nearest = of_process.range(..=last).next_back();
        let meets_another = nearest.is_some_and(|(begin, end)| *end >= first && (*begin, *end) != (first, last));
        if is_known || names.contains(&batch.confirmation()) {
            identified.repeated += 1;
        } else if overlaps || meets_another {
            identified.refused.push(batch);
        } else {
            names.insert(batch.confirmation());
            of_process.insert(first, last);
            identified.new.push(batch);
        }
    }
    identified
}

async fn receive(tx: &Transaction<'_>, new: &[&CountBatch], now: OffsetDateTime) -> Result<(), tokio_postgres::Error> {
    let mut received: BTreeMap<Uuid, i64> = BTreeMap::new();
    for batch in new {
        let evaluations = batch.evaluations.iter().map(|counted| counted.count);
        let total: u64 = evaluations.chain(batch.unknown.iter().map(|counted| counted.count)).sum();
        let sum = received.entry(batch.process.uuid()).or_default();
        *sum = sum.saturating_add_unsigned(total);
    }
    let (processes, totals): (Vec<Uuid>, Vec<i64>) = received.into_iter().unzip();
    tx.execute(RECEIVE, &[&processes, &totals, &now]).await?;
    Ok(())
}

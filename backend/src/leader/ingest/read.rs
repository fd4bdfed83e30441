//! A batch out of its bytes, within every limit.

use shared::wire::count::{BATCH_BYTES_MAX, Confirmation, CountBatch, ENTRIES_MAX};

/// The most evaluations, requests or events that one batch is believed; sums of many stay within 64 bits.
const COUNT_MAX: u64 = 1 << 50;
/// The greatest number of a part; edges bound what they keep far below so many batches.
const PART_MAX: u32 = 100_000;
/// The longest `place` or variant that is believed, in bytes.
const TEXT_BYTES_MAX: usize = 200;

/// A batch that cannot be added.
#[derive(Debug)]
pub(super) struct Unreadable {
    /// Why.
    pub(super) reason: String,
    /// Which it is, when that much can be read.
    pub(super) identity: Option<Confirmation>,
}

/// Reads and checks a batch.
pub(super) fn read(payload: &[u8]) -> Result<CountBatch, Unreadable> {
    if payload.len() > BATCH_BYTES_MAX {
        let reason = format!("{} bytes; at most {BATCH_BYTES_MAX} are allowed", payload.len());
        return Err(Unreadable { reason, identity: identity(payload) });
    }
    serde_json::from_slice::<CountBatch>(payload)
        .map_err(|error| error.to_string())
        .and_then(|batch| check(&batch).map(|()| batch))
        .map_err(|reason| Unreadable { reason, identity: identity(payload) })
}

/// How many entries a batch has; each unit of an exposure or event is one.
pub(super) fn entries(batch: &CountBatch) -> usize {
    let exposures: usize = batch.exposures.iter().map(|exposed| exposed.units.len()).sum();
    let events: usize = batch.events.iter().map(|event| event.units.len()).sum();
    batch.evaluations.len() + batch.keys.len() + batch.unknown.len() + exposures + events
}

/// A batch has the fields of its confirmation.
fn identity(payload: &[u8]) -> Option<Confirmation> {
    serde_json::from_slice(payload).ok()
}

fn check(batch: &CountBatch) -> Result<(), String> {
    if !(1..=i64::MAX as u64).contains(&batch.sequence) {
        return Err(format!("the sequence {}; it counts up from 1", batch.sequence));
    }
    if !(1..=batch.sequence).contains(&batch.first()) {
        let (first, last) = (batch.first(), batch.sequence);
        return Err(format!("the range {first} to {last}; it begins at 1 or later, and not behind its end"));
    }
    if batch.part > PART_MAX {
        return Err(format!("the part {}; at most {PART_MAX} are allowed", batch.part));
    }
    let entries = entries(batch);
    if entries > ENTRIES_MAX {
        return Err(format!("{entries} entries; at most {ENTRIES_MAX} are allowed"));
    }
    let evaluations = batch.evaluations.iter().map(|counted| counted.count);
    let requests = batch.keys.iter().map(|counted| counted.count);
    let unknown = batch.unknown.iter().map(|counted| counted.count);
    let events = batch.events.iter().flat_map(|event| event.units.iter().map(|(_, count, _)| *count));
    let total = evaluations.chain(requests).chain(unknown).chain(events).try_fold(0_u64, u64::checked_add);
    if total.is_none_or(|total| total > COUNT_MAX) {
        return Err(format!("counts beyond {COUNT_MAX}, which nobody can have counted"));
    }
    let is_wrong = |text: &str| text.len() > TEXT_BYTES_MAX || text.contains('\0');
    let evaluations =
        batch.evaluations.iter().any(|e| is_wrong(&e.place) || e.variant.as_deref().is_some_and(is_wrong));
    if evaluations || batch.exposures.iter().any(|exposed| is_wrong(&exposed.place)) {
        return Err(format!("a place or variant longer than {TEXT_BYTES_MAX} bytes, or with a zero byte"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROCESS: &str = "0192f0c1-2345-7000-8000-000000000001";

    fn batch(evaluations: &str) -> Vec<u8> {
        format!(r#"{{"process":"{PROCESS}","sequence":3,"evaluations":[{evaluations}]}}"#).into_bytes()
    }

    fn entry(place: &str, count: u64) -> String {
        format!(
            r#"{{"minute":1,"environment":"{PROCESS}","flag":"{PROCESS}","place":"{place}","mode":"single","count":{count}}}"#
        )
    }

    #[test]
    fn what_cannot_be_read_still_says_which_batch_it_is() {
        let many = vec![entry("off", 1); ENTRIES_MAX + 1].join(",");
        let two = [entry("off", 1 << 49), entry("off", (1 << 49) + 1)].join(",");
        for (payload, reason) in [
            (batch("7"), "invalid type"),
            (batch(&many), "bytes; at most"),
            (batch(&two), "counts beyond"),
            (batch(&entry(&"x".repeat(201), 1)), "longer than 200"),
            (batch(&entry("a\\u0000", 1)), "zero byte"),
        ] {
            let refused = read(&payload).expect_err(reason);
            assert!(refused.reason.contains(reason), "{}", refused.reason);
            assert_eq!(refused.identity.map(|identity| identity.sequence), Some(3), "{reason}");
        }
        for (range, reason) in [
            (r#""first":4"#, "the range 4 to 3"),
            (r#""first":0"#, "the range 0 to 3"),
            (r#""part":100001"#, "the part 100001"),
        ] {
            let payload = format!(r#"{{"process":"{PROCESS}",{range},"sequence":3,"evaluations":[]}}"#);
            let refused = read(payload.as_bytes()).expect_err(reason);
            assert!(refused.reason.contains(reason), "{}", refused.reason);
        }
        assert!(read(b"{").expect_err("not JSON").identity.is_none());
        assert_eq!(read(&batch(&entry("off", 1 << 50))).expect("the most").evaluations.len(), 1);
    }
}

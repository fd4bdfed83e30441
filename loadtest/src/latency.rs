//! Durations of very many requests in little memory.

use std::time::Duration;

/// Buckets per doubling: a quantile is off by at most 1.6 %.
const STEPS: u64 = 64;
/// Doublings from 64 µs on; the last bucket takes all above 19 h.
const DOUBLINGS: u64 = 30;

/// How many requests took how long.
#[derive(Clone, Debug)]
pub(crate) struct Latency {
    counts: Vec<u64>,
}

impl Latency {
    /// Nothing measured yet.
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; bucket(u64::MAX) + 1] }
    }

    /// Adds one request.
    pub(crate) fn add(&mut self, duration: Duration) {
        self.counts[bucket(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))] += 1;
    }

    /// Adds what somebody else measured.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, more)| *own += more);
    }

    /// How many requests were measured.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// What `share` of the requests (0 to 1) did not exceed, in milliseconds.
    pub(crate) fn quantile_ms(&self, share: f64) -> f64 {
        let wanted = (self.count() as f64 * share).ceil() as u64;
        let mut seen = 0;
        let index = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        upper_us(index.unwrap_or(0)) as f64 / 1000.0
    }
}

/// Linear up to `STEPS` µs, then `STEPS` buckets for each doubling.
fn bucket(us: u64) -> usize {
    if us < STEPS {
        return us as usize;
    }
    let doubling = u64::from((us / STEPS).ilog2()).min(DOUBLINGS - 1);
    let step = ((us >> doubling) - STEPS).min(STEPS - 1);
    (STEPS * (doubling + 1) + step) as usize
}

/// The longest duration a bucket stands for.
fn upper_us(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < STEPS {
        return bucket;
    }
    let (doubling, step) = (bucket / STEPS - 1, bucket % STEPS);
    ((STEPS + step + 1) << doubling) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_lies_in_a_bucket_close_above_it() {
        for us in (0..100_000).chain([1_000_000, 59_999_999]) {
            let upper = upper_us(bucket(us));
            assert!(upper >= us && upper - us <= us / STEPS, "{us} µs in a bucket up to {upper} µs");
        }
    }

    #[test]
    fn quantiles_are_those_of_the_durations() {
        let mut latency = Latency::new();
        (1..=100).for_each(|ms| latency.add(Duration::from_millis(ms)));
        assert_eq!(latency.count(), 100);
        for (share, ms) in [(0.5, 50.0), (0.95, 95.0), (0.99, 99.0), (1.0, 100.0)] {
            let found = latency.quantile_ms(share);
            assert!((ms..ms * 1.02).contains(&found), "{found} for {ms}");
        }
        assert_eq!(Latency::new().quantile_ms(0.5), 0.0);
    }
}

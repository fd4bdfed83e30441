//! Histograms of durations: two relaxed additions each.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::metrics::text::Text;

/// Upper bounds in nanoseconds for what takes microseconds, 1 µs to 100 ms.
pub(super) const FAST: [u64; 13] = [
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    10_000_000,
    100_000_000,
];

/// Upper bounds in nanoseconds for what takes milliseconds, 0.5 ms to 5 s.
pub(super) const SLOW: [u64; 12] = [
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    5_000_000_000,
];

/// A histogram of durations. How many there are is the sum of its buckets, so that adding touches two cells only.
#[derive(Debug)]
pub struct Histogram<const N: usize> {
    bounds_ns: &'static [u64; N],
    buckets: [AtomicU64; N],
    above: AtomicU64,
    sum_ns: AtomicU64,
}

impl<const N: usize> Histogram<N> {
    pub(super) fn new(bounds_ns: &'static [u64; N]) -> Self {
        let buckets = [(); N].map(|()| AtomicU64::default());
        Self { bounds_ns, buckets, above: AtomicU64::default(), sum_ns: AtomicU64::default() }
    }

    /// Adds one duration.
    #[inline]
    pub fn add(&self, duration: Duration) {
        // Saturates after 584 years.
        let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let at = self.bounds_ns.iter().position(|bound| ns <= *bound);
        at.map_or(&self.above, |at| &self.buckets[at]).fetch_add(1, Ordering::Relaxed);
        self.sum_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// Writes all its lines; `labels` come before the bound.
    pub(super) fn write(&self, out: &mut Text, name: &str, labels: &[(&str, &str)]) {
        let bucket = format!("{name}_bucket");
        let mut below = 0;
        let mut line = |bound: &str, count: u64| {
            let labels: Vec<_> = labels.iter().copied().chain([("le", bound)]).collect();
            out.sample(&bucket, &labels, count);
        };
        for (bound, cell) in self.bounds_ns.iter().zip(&self.buckets) {
            below += cell.load(Ordering::Relaxed);
            line(&seconds(*bound).to_string(), below);
        }
        let count = below + self.above.load(Ordering::Relaxed);
        line("+Inf", count);
        out.sample(&format!("{name}_sum"), labels, seconds(self.sum_ns.load(Ordering::Relaxed)));
        out.sample(&format!("{name}_count"), labels, count);
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_in_the_bucket_of_its_bound_and_in_all_above() {
        let histogram = Histogram::new(&FAST);
        for ns in [1, 1_000, 1_001, 2_500, 300_000, 100_000_001] {
            histogram.add(Duration::from_nanos(ns));
        }
        let mut out = Text::default();
        histogram.write(&mut out, "t", &[("mode", "single")]);
        let text = out.finish();
        for line in [
            "t_bucket{mode=\"single\",le=\"0.000001\"} 2",
            "t_bucket{mode=\"single\",le=\"0.0000025\"} 4",
            "t_bucket{mode=\"single\",le=\"0.00025\"} 4",
            "t_bucket{mode=\"single\",le=\"0.0005\"} 5",
            "t_bucket{mode=\"single\",le=\"0.1\"} 5",
            "t_bucket{mode=\"single\",le=\"+Inf\"} 6",
            "t_sum{mode=\"single\"} 0.100304503",
            "t_count{mode=\"single\"} 6",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}

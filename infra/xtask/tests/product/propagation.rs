//! From commit to answer.

use std::time::{Duration, Instant};

use xtask::stack::Options;

use crate::support::{Product, report};

const CHANGES: u64 = 200;
/// The one bound that decides: an answer comes, and it is the right one.
const BOUND: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn every_one_of_200_changes_is_answered_by_both_edges() {
    let product = Product::start(&Options::default()).await;
    // Approvals would only blur what is measured.
    product.unprotect().await;
    product.create_flag("hot").await;
    product.wait_for_variant("hot", "v0").await;
    let mut times = Vec::new();
    for change in 1..=CHANGES {
        let variant = format!("v{}", change % 2);
        let saved = product.serve("hot", &variant, change).await;
        // The answer of the save comes after its commit, so the time shown is at most this much too short.
        let since = Instant::now();
        let revision = saved["revision"].to_string();
        for edge in 0..2 {
            loop {
                let answer = product.evaluate(edge, "hot", "u1").await.expect("an answer");
                assert_eq!(answer.status, 200, "{answer:?}");
                if answer.body["metadata"]["version"] == revision {
                    assert_eq!(answer.body["value"], variant, "{answer:?}");
                    break;
                }
                assert!(since.elapsed() < BOUND, "{answer:?}\n{}", product.stack.logs());
            }
        }
        times.push(since.elapsed());
    }
    times.sort_unstable();
    let at = |share: usize| times[(times.len() * share).div_ceil(100) - 1];
    let (half, most, all) = (at(50), at(99), at(100));
    report(&format!("commit to answer on both edges, {CHANGES} changes: p50 {half:?}, p99 {most:?}, max {all:?}"));
}

//! Everything at once, for half an hour: load from ten million users, changes without a pause, and a NATS that is
//! restarted every minute. `cargo xtask soak` runs it; `FLUXGATE_SOAK_MINUTES` says for how long.

#[path = "../support/connection.rs"]
mod connection;
mod load;
mod storm;
mod verify;

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::block_in_place;
use xtask::stack::{Options, Stack};

use load::{Load, Plan};
use storm::{Admin, Storm};

const FLAGS: usize = 40;
/// How many answers are kept and decided again at the end.
const SAMPLES: u64 = 100_000;
const NATS_RESTART: Duration = Duration::from_secs(60);
const MEMORY_LOOK: Duration = Duration::from_secs(5);
/// How fast the memory of an edge may grow, in KiB a minute: half an hour of it would be 3 MiB.
const SLOPE_MAX: f64 = 100.0;
/// How long the last counts may take to reach PostgreSQL.
const COUNTS_LIMIT: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes half an hour: cargo xtask soak"]
async fn nothing_fails_grows_or_is_lost_while_everything_happens_at_once() {
    let minutes: u64 = std::env::var("FLUXGATE_SOAK_MINUTES").ok().and_then(|text| text.parse().ok()).unwrap_or(30);
    let lasts = Duration::from_secs(minutes * 60);
    let mut stack = block_in_place(|| Stack::start(&Options::default())).expect("a running product");
    let admin = Arc::new(Admin::sign_in(&stack).await);
    let storm = Storm::prepare(&admin, FLAGS).await;
    let load = Arc::new(Load::new(&stack, FLAGS));
    block_in_place(|| std::thread::sleep(Duration::from_secs(2)));

    let sustained = load.run(Plan { per_second: None, lasts: Duration::from_secs(10), keep_every: 0 }).await;
    let rate = sustained.asked as f64 / 10.0 / 2.0;
    say(&format!("{:.0} evaluations a second at most; going on with half of that for {minutes} minutes", rate * 2.0));

    let storming = tokio::spawn(Arc::clone(&storm).rage(Arc::clone(&admin), lasts));
    let keep_every = ((rate * lasts.as_secs_f64()) as u64 / SAMPLES).max(1);
    let plan = Plan { per_second: Some(rate), lasts, keep_every };
    let running = tokio::spawn({
        let load = Arc::clone(&load);
        async move { load.run(plan).await }
    });
    let memory = disturb(&mut stack, &admin, lasts).await;
    let result = running.await.expect("the load ends");
    let changes = storming.await.expect("every change was saved");

    say(&format!("{} evaluations, {} failed; {changes} changes", result.asked, result.failures.len()));
    say(&format!("slowest answer {:?}, {} of them later than 50 ms", result.slowest, result.late));
    assert!(result.failures.is_empty(), "{:?}", &result.failures[..result.failures.len().min(10)]);
    for (edge, looks) in memory.iter().enumerate() {
        let (slope, last) = (slope(looks), looks.last().expect("looks").1);
        say(&format!("edge {}: {last:.0} KiB at the end, {slope:+.1} KiB a minute", edge + 1));
        assert!(slope < SLOPE_MAX, "edge {} grows by {slope:.1} KiB a minute", edge + 1);
    }
    let (checked, wrong) = verify::answers(&storm, &result.samples);
    say(&format!("{checked} answers decided again at their revision, {} differ", wrong.len()));
    assert!(wrong.is_empty(), "{:?}", &wrong[..wrong.len().min(10)]);
    wait_for_counts(&admin, &load).await;
}

/// Restarts NATS every minute and looks at the memory of the edges, by minutes since the begin.
async fn disturb(stack: &mut Stack, admin: &Admin, lasts: Duration) -> Vec<Vec<(f64, f64)>> {
    let began = Instant::now();
    let mut memory = vec![Vec::new(); stack.edges.len()];
    let mut restart_at = NATS_RESTART;
    while began.elapsed() < lasts {
        tokio::time::sleep(MEMORY_LOOK).await;
        for (edge, looks) in stack.edges.iter().zip(&mut memory) {
            looks.push((began.elapsed().as_secs_f64() / 60.0, admin.memory_kib(edge.url()).await));
        }
        if began.elapsed() >= restart_at {
            block_in_place(|| stack.nats.restart()).expect("NATS restarts");
            restart_at += NATS_RESTART;
        }
    }
    memory
}

/// Growth by least squares, in KiB a minute, once the first third has warmed everything up.
fn slope(looks: &[(f64, f64)]) -> f64 {
    let warm = &looks[looks.len() / 3..];
    let count = warm.len() as f64;
    let (mean_x, mean_y) =
        (warm.iter().map(|p| p.0).sum::<f64>() / count, warm.iter().map(|p| p.1).sum::<f64>() / count);
    let covariance: f64 = warm.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    covariance / warm.iter().map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>()
}

/// Waits until PostgreSQL holds exactly as many evaluations of each flag as were answered.
async fn wait_for_counts(admin: &Admin, load: &Load) {
    let end = Instant::now() + COUNTS_LIMIT;
    for flag in 0..FLAGS {
        let answered = load.answered(flag);
        loop {
            let counted = admin.counted(&storm::key(flag)).await;
            if counted == answered {
                break;
            }
            assert!(
                counted < answered && Instant::now() < end,
                "{}: {counted} counted, {answered} answered",
                storm::key(flag)
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
    say(&format!(
        "{} evaluations in PostgreSQL, as many as were answered",
        (0..FLAGS).map(|flag| load.answered(flag)).sum::<u64>()
    ));
}

/// Says a figure also when the test passes.
fn say(figure: &str) {
    writeln!(std::io::stderr(), "{figure}").expect("a terminal or a log");
}

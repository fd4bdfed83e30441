//! Counts are exact whatever is stopped, restarted, wiped or replaced under load, and after a hard kill the ledger names
//! what is missing. `cargo xtask test` runs it short; with `FLUXGATE_CHAOS=long`, as `cargo xtask soak` does, it asks
//! 20,000 times a second and leaves the backends away for five minutes.

mod admin;
#[path = "../support/connection.rs"]
mod connection;
mod load;

use std::io::Write;
use std::time::{Duration, Instant};

use tokio::task::block_in_place;
use tokio::time::sleep;
use xtask::stack::{Options, Service, Stack};

use admin::Admin;
use load::{CONNECTIONS, Load};

const EXACT: &str = "chaos-exact";
const HARD: &str = "chaos-hard";
/// How long the last counts may take to reach PostgreSQL.
const COUNTS_LIMIT: Duration = Duration::from_secs(120);
/// What an edge may hold that is not on its disk: gathered every 5 s, and a slow disk.
const FLUSH: Duration = Duration::from_secs(8);

/// How hard, and how long.
struct Plan {
    per_second: f64,
    /// Load between two disasters.
    calm: Duration,
    /// How long nobody takes counts.
    outage: Duration,
}

impl Plan {
    fn chosen() -> Self {
        if std::env::var("FLUXGATE_CHAOS").is_ok_and(|length| length == "long") {
            Self { per_second: 20_000.0, calm: Duration::from_secs(20), outage: Duration::from_secs(300) }
        } else {
            Self { per_second: 1_000.0, calm: Duration::from_secs(2), outage: Duration::from_secs(8) }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_evaluation_is_counted_whatever_is_stopped_wiped_or_killed() {
    let plan = Plan::chosen();
    let options = Options { edges: 1, own_postgres: true, ..Options::default() };
    let mut stack = block_in_place(|| Stack::start(&options)).expect("a running product");
    let mut second = block_in_place(|| stack.another_backend()).expect("a second backend");
    block_in_place(|| second.start()).expect("it starts");
    let admin = Admin::sign_in(&stack).await;
    for flag in [EXACT, HARD] {
        admin.create_flag(flag).await;
        admin.wait_until_known(&stack, flag).await;
    }
    let before = admin.counted(EXACT).await;

    let load = begin(&stack, EXACT, &plan);
    disasters(&mut stack, &mut second, &plan).await;
    let answered = load.end().await;
    wait_for_exactly(&admin, &stack, EXACT, before, answered).await;
    say(&format!("{answered} evaluations answered and counted, through every disaster but a hard kill"));

    kill_hard(&mut stack, &admin, &plan).await;
}

fn begin(stack: &Stack, flag: &'static str, plan: &Plan) -> Load {
    Load::start(stack.edges[0].url(), &stack.demo.sdk_keys["production"], flag, plan.per_second)
}

/// All that may happen to a counted evaluation on its way, one after the other.
async fn disasters(stack: &mut Stack, second: &mut Service, plan: &Plan) {
    sleep(plan.calm).await;
    block_in_place(|| stack.nats.restart()).expect("NATS restarts");
    sleep(plan.calm).await;
    block_in_place(|| wipe(&mut stack.nats)).expect("NATS comes back empty");
    sleep(plan.calm).await;
    let postgres = stack.postgres.as_mut().expect("its own PostgreSQL");
    block_in_place(|| postgres.restart()).expect("PostgreSQL restarts");
    sleep(plan.calm).await;
    // The one that leads is killed and the other takes over; then the other way round.
    block_in_place(|| stack.backend.kill()).expect("a crash of one backend");
    sleep(plan.calm).await;
    block_in_place(|| stack.backend.start().and_then(|()| second.kill())).expect("a crash of the other");
    sleep(plan.calm).await;
    block_in_place(|| stack.edges[0].restart()).expect("the edge stops and starts");
    sleep(plan.calm).await;
    // Nobody takes counts; meanwhile what the stream holds is lost, and the edge's successor inherits what is left.
    block_in_place(|| stack.backend.kill()).expect("no backend is left");
    sleep(plan.outage / 2).await;
    block_in_place(|| wipe(&mut stack.nats).and_then(|()| stack.edges[0].restart())).expect("NATS and edge restart");
    sleep(plan.outage / 2).await;
    block_in_place(|| stack.backend.start().and_then(|()| second.start())).expect("the backends come back");
    sleep(plan.calm).await;
}

fn wipe(nats: &mut Service) -> xtask::Result<()> {
    nats.stop()?;
    nats.delete_data()?;
    nats.start()
}

/// What was answered is counted but for what lay in memory alone, and the ledger says how much that was at most.
async fn kill_hard(stack: &mut Stack, admin: &Admin, plan: &Plan) {
    let load = begin(stack, HARD, plan);
    // Two gatherings and their heartbeats, so that there is something to compare.
    sleep(plan.calm.max(Duration::from_secs(12))).await;
    block_in_place(|| stack.edges[0].kill().and_then(|()| stack.edges[0].start())).expect("a crash of the edge");
    sleep(plan.calm).await;
    let answered = load.end().await;
    let lost_max = admin.wait_for_loss(COUNTS_LIMIT, stack).await;
    // The successor's own counts come in by themselves; nothing else can add to the sum once it stands still.
    let counted = admin.wait_until_still(HARD).await;
    say(&format!("{answered} evaluations answered, {counted} counted after a hard kill; the ledger names {lost_max}"));
    let bound = (plan.per_second * FLUSH.as_secs_f64()) as u64 + CONNECTIONS;
    assert!(counted <= answered + CONNECTIONS, "more was counted than can have been answered");
    assert!(counted + bound >= answered, "more is missing than one gathering");
    assert!(counted + lost_max >= answered, "more is missing than the ledger names");
}

async fn wait_for_exactly(admin: &Admin, stack: &Stack, flag: &str, before: u64, answered: u64) {
    let end = Instant::now() + COUNTS_LIMIT;
    loop {
        let counted = admin.counted(flag).await - before;
        if counted == answered {
            return;
        }
        assert!(
            counted < answered && Instant::now() < end,
            "{flag}: {counted} counted of {answered}\n{}",
            stack.logs()
        );
        sleep(Duration::from_millis(200)).await;
    }
}

/// Says a figure also when the test passes.
fn say(figure: &str) {
    writeln!(std::io::stderr(), "{figure}").expect("a terminal or a log");
}

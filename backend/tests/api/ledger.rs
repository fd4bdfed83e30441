//! What edges counted and did not arrive, from heartbeats to the ledger, and the history of the fleet.

use std::time::{Duration, Instant};

use backend::leader::{ledger, sample};
use serde_json::json;
use shared::model::id::ProcessId;
use shared::wire::edge::{
    EnvironmentRevision, GOODBYE_SUBJECT, Goodbye, HEARTBEAT_SUBJECT, Heartbeat, InheritedCounts, RECEIPT_SUBJECT,
    Receipt,
};
use time::OffsetDateTime;

use crate::flag::boolean;
use crate::ingest::{connect, number, run, texts};
use crate::support::{App, Nats, new_id};

fn heartbeat(process: ProcessId, counted: u64) -> Heartbeat {
    Heartbeat {
        process,
        name: "edge-3".into(),
        version: "0.1.0".into(),
        predecessors: Vec::new(),
        environments: Vec::new(),
        unreadable: Vec::new(),
        memory_bytes: 1,
        counted,
        unsent: 0,
        lost: 0,
        inherited: Vec::new(),
    }
}

async fn say(client: &async_nats::Client, subject: &'static str, what: &impl serde::Serialize) {
    let payload = serde_json::to_vec(what).expect("JSON");
    client.publish(subject, payload.into()).await.expect("said");
    client.flush().await.expect("said");
}

async fn wait_for(app: &App, query: &str, expected: &[&str]) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let found = texts(&app.state.pool, query).await;
        if found == expected {
            return;
        }
        assert!(Instant::now() < deadline, "{found:?}, not {expected:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_killed_edge_is_in_the_ledger_until_its_successor_brought_what_it_left() {
    let nats = Nats::start_one();
    let app = App::start_leading(&nats.url()).await;
    let client = async_nats::connect(nats.url()).await.expect("NATS");
    let (old, new, polite) = (ProcessId::from(new_id()), ProcessId::from(new_id()), ProcessId::from(new_id()));
    wait_until_heard(&app, &client).await;
    say(&client, HEARTBEAT_SUBJECT, &heartbeat(old, 1_000)).await;
    say(&client, HEARTBEAT_SUBJECT, &heartbeat(old, 1_100)).await;
    say(&client, HEARTBEAT_SUBJECT, &heartbeat(polite, 50)).await;
    say(&client, GOODBYE_SUBJECT, &Goodbye { process: polite, counted: Some(70) }).await;
    let inherited = vec![InheritedCounts { process: old, unsent: 80 }];
    say(&client, HEARTBEAT_SUBJECT, &Heartbeat { predecessors: vec![old], inherited, ..heartbeat(new, 0) }).await;
    let left = "select departure || ' ' || coalesce(goodbye_counted, -1) || ' ' || counted_per_second_max || ' ' || (heartbeat ->> 'counted')
                from edges where gone_at is not null order by 1";
    wait_for(&app, left, &["goodbye 70 0 50", "replaced -1 50 1100"]).await;

    let since = app.state.clock.now() - time::Duration::HOUR;
    let received = |process: ProcessId, received: i64| {
        format!(
            "insert into count_processes (process, received, first_at, last_at) values ('{process}', {received}, now(), now())
             on conflict (process) do update set received = excluded.received"
        )
    };
    let pool = &app.state.pool;
    let mut upkeep = connect(&app).await;
    let losses =
        "select cause || ' ' || lost_max || ' ' || is_final || ' ' || (from_at <= to_at) from count_losses order by 1";
    run(pool, &[received(old, 1_000), received(polite, 70)].join(";")).await;
    let total = ledger::pass(&mut upkeep, app.state.clock.now(), since).await.expect("a pass");
    assert_eq!(texts(pool, losses).await, ["killed 550 false true"], "100 missing, 50 a second for 9 s");
    assert_eq!(total, 550);

    run(pool, &received(old, 1_080)).await;
    say(&client, HEARTBEAT_SUBJECT, &Heartbeat { predecessors: vec![old], ..heartbeat(new, 10) }).await;
    wait_for(&app, "select heartbeat ->> 'counted' from edges where gone_at is null and name = 'edge-3'", &["10"])
        .await;
    ledger::pass(&mut upkeep, app.state.clock.now(), since).await.expect("a pass");
    assert_eq!(texts(pool, losses).await, ["killed 470 true true"], "what came later makes it smaller");

    // Silent, then dismissed, then heard again, having let go of some.
    let later = app.state.clock.now() + time::Duration::minutes(2);
    run(pool, &received(new, 4)).await;
    ledger::pass(&mut upkeep, later, since).await.expect("a pass");
    assert_eq!(texts(pool, losses).await.len(), 2);
    assert_eq!(number(pool, "select count(*) from count_losses where cause = 'silent' and not is_final").await, 1);
    let ana = app.ana().await;
    // It was heard a moment ago, by this test's own clock; one that is not silent cannot be dismissed.
    assert_eq!(ana.delete(&format!("/edges/{new}")).await.expect(422).fields(), ["process"]);
    app.state.live.forget(new);
    assert_eq!(ana.delete(&format!("/edges/{new}")).await.status / 100, 2);
    ledger::pass(&mut upkeep, later, since).await.expect("a pass");
    assert_eq!(number(pool, "select count(*) from count_losses where cause = 'silent' and is_final").await, 1);
    say(&client, HEARTBEAT_SUBJECT, &Heartbeat { predecessors: vec![old], lost: 5, ..heartbeat(new, 11) }).await;
    wait_for(&app, "select heartbeat ->> 'counted' from edges where gone_at is null and name = 'edge-3'", &["11"])
        .await;
    ledger::pass(&mut upkeep, app.state.clock.now(), since).await.expect("a pass");
    assert_eq!(texts(pool, losses).await, ["killed 470 true true", "let_go 5 true true"]);
}

/// The backend listens once it knows an edge that says something again and again.
async fn wait_until_heard(app: &App, client: &async_nats::Client) {
    let first = new_id().into();
    let deadline = Instant::now() + Duration::from_secs(20);
    while app.state.live.silent(app.state.clock.now() + time::Duration::HOUR) == 0 {
        assert!(Instant::now() < deadline, "nobody listens to edges");
        say(client, HEARTBEAT_SUBJECT, &Heartbeat { name: "first".into(), ..heartbeat(first, 0) }).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn every_edge_has_a_sample_of_each_minute_in_which_it_was_heard() {
    let nats = Nats::start_one();
    let app = App::start_leading(&nats.url()).await;
    let client = async_nats::connect(nats.url()).await.expect("NATS");
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    let environment = app.environment("production").await;
    let revision = number(&app.state.pool, "select max(revision) from state").await.cast_unsigned();
    wait_until_heard(&app, &client).await;
    let process = ProcessId::from(new_id());
    let environments = vec![EnvironmentRevision { environment, revision: revision - 1 }];
    say(&client, HEARTBEAT_SUBJECT, &Heartbeat { unsent: 4, environments, memory_bytes: 32, ..heartbeat(process, 9) })
        .await;
    let receipt = Receipt { process, name: "edge-3".into(), environment, revision: revision - 1 };
    say(&client, RECEIPT_SUBJECT, &receipt).await;
    let deadline = Instant::now() + Duration::from_secs(20);
    while app.state.live.samples(&[].into(), app.state.clock.now()).len() < 2 {
        assert!(Instant::now() < deadline, "the edge is not heard");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let upkeep = connect(&app).await;
    let minute = |at: OffsetDateTime| at.replace_second(0).and_then(|at| at.replace_nanosecond(0)).expect("a minute");
    for _ in 0..2 {
        sample::take(&app.state, &upkeep, minute(app.state.clock.now())).await.expect("a sample");
    }
    let samples = "select memory_bytes || ' ' || counted || ' ' || unsent || ' ' || (revisions_behind >= 1) from edge_samples where edge_name = 'edge-3'";
    assert_eq!(texts(&app.state.pool, samples).await, ["32 9 4 true"]);
    app.state.clock.advance(time::Duration::minutes(3));
    sample::take(&app.state, &upkeep, minute(app.state.clock.now())).await.expect("a sample");
    assert_eq!(texts(&app.state.pool, samples).await.len(), 1, "silence is a gap, not a row");
    assert_eq!(
        json!(number(&app.state.pool, "select count(*) from count_losses where cause = 'killed'").await),
        json!(0)
    );
}

//! Through the stream: what cannot be added is out of the way, everything is confirmed, and a database that is gone costs
//! nothing but time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use futures::StreamExt;
use serde_json::{Value, json};
use shared::model::id::{EnvironmentId, FlagId, ProcessId};
use shared::wire::count::{CONFIRM_HEADER, Confirmation, CountBatch};

use crate::ingest::{batch, evaluated, minute_of, number, run, texts};
use crate::support::{App, Nats, new_id};

/// Sends batches as an edge does and hears what is confirmed.
struct Edge {
    client: async_nats::Client,
    inbox: async_nats::Subscriber,
}

const INBOX: &str = "_INBOX_edge.test";

impl Edge {
    async fn start(nats: &Nats) -> Self {
        let client = async_nats::connect(nats.url()).await.expect("NATS");
        let inbox = client.subscribe(INBOX).await.expect("an inbox");
        Self { client, inbox }
    }

    async fn send(&self, payload: impl Into<Vec<u8>>, confirm: &str) {
        let context = async_nats::jetstream::new(self.client.clone());
        let payload: Vec<u8> = payload.into();
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let mut headers = HeaderMap::new();
            headers.insert(CONFIRM_HEADER, confirm);
            // The stream is made by the leader, which may still be starting.
            let sent = context.publish_with_headers("fluxgate.count.test", headers, payload.clone().into()).await;
            if let Ok(ack) = sent
                && ack.await.is_ok()
            {
                return;
            }
            assert!(Instant::now() < deadline, "no stream takes counts");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn confirmed(&mut self) -> u64 {
        let message = tokio::time::timeout(Duration::from_secs(40), self.inbox.next()).await;
        let message = message.expect("a confirmation in time").expect("an open inbox");
        serde_json::from_slice::<Confirmation>(&message.payload).expect("a confirmation").sequence
    }
}

async fn metrics(app: &App) -> BTreeMap<String, f64> {
    let text = reqwest::get(format!("http://{}/metrics", app.address)).await.expect("an answer");
    assert_eq!(text.status(), 200);
    assert!(text.headers()["content-type"].to_str().expect("text").starts_with("application/openmetrics-text"));
    let text = text.text().await.expect("a text");
    let lines = text.lines().map(|line| Ok(line.to_owned()));
    let scraped = prometheus_parse::Scrape::parse(lines).expect("metrics that can be read");
    let values = scraped.samples.into_iter().filter_map(|sample| match sample.value {
        prometheus_parse::Value::Counter(value)
        | prometheus_parse::Value::Gauge(value)
        | prometheus_parse::Value::Untyped(value) => Some((sample.metric, value)),
        _ => None,
    });
    values.collect()
}

#[tokio::test]
async fn what_cannot_be_added_is_set_aside_and_everything_is_confirmed() {
    let nats = Nats::start_one();
    let mut edge = Edge::start(&nats).await;
    let app = App::start_leading(&nats.url()).await;
    let pool = &app.state.pool;
    let (environment, flag, full) = (EnvironmentId::from(new_id()), FlagId::from(new_id()), FlagId::from(new_id()));
    let (process, minute) = (ProcessId::from(new_id()), minute_of(app.state.clock.now()));
    let sent = |sequence, flag, count| {
        let evaluations = vec![evaluated(environment, flag, minute, count)];
        serde_json::to_string(&CountBatch { evaluations, ..batch(process, sequence) }).expect("a batch")
    };
    edge.send(sent(1, full, 1), INBOX).await;
    assert_eq!(edge.confirmed().await, 1);
    // Nothing more fits into this one: a data error of the database's own.
    run(pool, &format!("update minute_counts set count = 9223372036854775807 from evaluation_series where id = series and flag_id = '{full}'")).await;

    let mut unreadable: Value = serde_json::from_str(&sent(5, flag, 1)).expect("JSON");
    unreadable["evaluations"] = json!([{ "minute": "now" }]);
    for payload in
        [sent(2, flag, 10), sent(3, full, 1), "not a batch".into(), unreadable.to_string(), sent(4, flag, 20)]
    {
        edge.send(payload, INBOX).await;
    }
    edge.send(sent(2, flag, 10), INBOX).await;
    let mut confirmed = Vec::new();
    for _ in 0..5 {
        confirmed.push(edge.confirmed().await);
    }
    confirmed.sort_unstable();
    assert_eq!(confirmed, [2, 2, 3, 4, 5]);
    let sum = format!("select count from minute_counts join evaluation_series on id = series where flag_id = '{flag}'");
    assert_eq!(number(pool, &sum).await, 30);
    let aside = "select coalesce(sequence::text, '?') || ' ' || left(reason, 9) || ' ' || (length(payload) > 5) from set_aside_batches order by 1";
    assert_eq!(texts(pool, aside).await, ["3 db error: true", "5 invalid t true", "? expected  true"]);

    // Where no edge listens nothing is said, and the batch counts all the same.
    edge.send(sent(6, flag, 100), "$KV.fluxgate_state.x").await;
    edge.send(sent(7, flag, 1), INBOX).await;
    assert_eq!(edge.confirmed().await, 7);
    assert_eq!(number(pool, &sum).await, 131);

    edge.send(
        serde_json::to_string(&CountBatch {
            evaluations: vec![evaluated(environment, flag, 17, 5)],
            ..batch(process, 8)
        })
        .expect("a batch"),
        INBOX,
    )
    .await;
    assert_eq!(edge.confirmed().await, 8);
    let range =
        CountBatch { first: Some(8), evaluations: vec![evaluated(environment, flag, minute, 1)], ..batch(process, 9) };
    edge.send(serde_json::to_string(&range).expect("a batch"), INBOX).await;
    assert_eq!(edge.confirmed().await, 9);
    assert_eq!(
        number(pool, &format!("select count(*) from count_batches where process = '{process}' and sequence = 9")).await,
        0
    );
    let figures = metrics(&app).await;
    for (name, expected) in [
        ("build_info", 1.0),
        ("leading", 1.0),
        ("batches_added_total", 6.0),
        ("batches_repeated_total", 1.0),
        ("batches_refused_total", 1.0),
        ("batches_set_aside_total", 3.0),
        ("entries_added_total", 6.0),
        ("clock_wrong_total", 5.0),
        ("evaluations_lost_max", 0.0),
    ] {
        assert_eq!(figures.get(&format!("fluxgate_backend_{name}")), Some(&expected), "{name} in {figures:?}");
    }
    let lag = figures["fluxgate_backend_analytics_ingest_lag_seconds"];
    assert!((0.0..20.0).contains(&lag), "{lag}");
}

#[tokio::test]
async fn the_oldest_batches_set_aside_go_when_there_are_too_many() {
    let nats = Nats::start_one();
    let mut edge = Edge::start(&nats).await;
    let app = App::start_leading(&nats.url()).await;
    run(
        &app.state.pool,
        "insert into set_aside_batches (subject, reason, payload, at)
         select 'old', '', '', now() - interval '1 day' + at * interval '1 second' from generate_series(1, 1000) as at",
    )
    .await;
    let process = new_id();
    edge.send(json!({ "process": process, "sequence": 9, "evaluations": 7 }).to_string(), INBOX).await;
    assert_eq!(edge.confirmed().await, 9);
    assert_eq!(number(&app.state.pool, "select count(*) from set_aside_batches").await, 1_000);
    let newest = "select count(*) from set_aside_batches where sequence = 9";
    assert_eq!(number(&app.state.pool, newest).await, 1);
}

#[tokio::test]
async fn a_database_that_is_gone_sets_nothing_aside_and_loses_nothing() {
    let nats = Nats::start_one();
    let mut edge = Edge::start(&nats).await;
    let app = App::start_leading(&nats.url()).await;
    let (environment, flag) = (new_id().into(), new_id().into());
    let (process, minute) = (new_id().into(), minute_of(app.state.clock.now()));
    for sequence in 1..=20 {
        let evaluations = vec![evaluated(environment, flag, minute, 1)];
        let payload = serde_json::to_string(&CountBatch { evaluations, ..batch(process, sequence) });
        edge.send(payload.expect("a batch"), INBOX).await;
        if sequence % 5 == 0 {
            run(
                &app.state.pool,
                "select pg_terminate_backend(pid) from pg_stat_activity
                 where datname = current_database() and application_name = 'fluxgate-leader'
                     and query !~ '^(listen|select 1)'",
            )
            .await;
        }
    }
    let mut confirmed = std::collections::BTreeSet::new();
    while confirmed.len() < 20 {
        confirmed.insert(edge.confirmed().await);
    }
    let sum = "select count from minute_counts join evaluation_series on id = series";
    assert_eq!(number(&app.state.pool, sum).await, 20);
    assert_eq!(number(&app.state.pool, "select count(*) from set_aside_batches").await, 0);
}

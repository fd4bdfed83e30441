//! Edges that are late, silent and back, each said once.

use backend::leader::webhook::edge::Watch;
use serde_json::json;
use shared::model::id::ProcessId;
use shared::wire::edge::{EnvironmentRevision, Heartbeat};
use time::Duration;

use super::{flag, kinds, make, pass, start};
use crate::support::{App, Receiver, new_id};

/// What an edge says that has everything but, in production, nothing above a revision.
async fn says(app: &App, process: ProcessId, most: u64) {
    let mut db = app.state.pool.acquire().await.expect("a connection");
    let newest = backend::store::state::list_revisions(&mut db).await.expect("revisions");
    let environments = newest
        .into_iter()
        .map(|(environment, revision)| EnvironmentRevision { environment, revision: revision.min(most) })
        .collect();
    let heartbeat = Heartbeat {
        process,
        name: "edge-3".into(),
        version: "0.1.0".into(),
        predecessors: Vec::new(),
        environments,
        unreadable: Vec::new(),
        memory_bytes: 1,
        counted: 0,
        unsent: 0,
        lost: 0,
        inherited: Vec::new(),
    };
    app.state.live.heard(heartbeat, app.state.clock.now());
}

#[tokio::test]
async fn each_spell_of_an_edge_is_told_once_and_so_is_its_end() {
    let (app, ana, sender) = start().await;
    let mut receiver = Receiver::start().await;
    make(&ana, &receiver, json!({ "event_types": ["edge.late", "edge.silent", "edge.back"] })).await;
    flag(&ana, "checkout").await;
    let edge = ProcessId::from(new_id());
    let mut watch = Watch::new(app.state.clock.now());
    let mut told = async |app: &App, watch: &mut Watch| {
        watch.look(&app.state).await.expect("a look");
        watch.look(&app.state).await.expect("a look");
        pass(app, &sender).await;
        let received = receiver.received();
        let kinds: Vec<String> = kinds(&received).into_iter().map(str::to_owned).collect();
        (kinds, received.into_iter().next().map(|received| received.body["data"].clone()))
    };
    app.state.clock.advance(Duration::minutes(1));
    says(&app, edge, 0).await;
    assert!(told(&app, &mut watch).await.0.is_empty());
    app.state.clock.advance(Duration::seconds(11));
    says(&app, edge, 0).await;
    let (kinds, data) = told(&app, &mut watch).await;
    assert_eq!(kinds, ["edge.late"]);
    let data = data.expect("data");
    assert_eq!((&data["edge"], &data["process"], &data["project"]), (&json!("edge-3"), &json!(edge), &json!("shop")));
    // Another leader knows that it was said.
    let mut other = Watch::new(app.state.clock.now());
    app.state.clock.advance(Duration::seconds(11));
    says(&app, edge, 0).await;
    assert!(told(&app, &mut other).await.0.is_empty());
    app.state.clock.advance(Duration::seconds(31));
    assert_eq!(told(&app, &mut watch).await.0, ["edge.silent"]);
    says(&app, edge, u64::MAX).await;
    let (kinds, data) = told(&app, &mut watch).await;
    assert_eq!(
        (kinds.as_slice(), &data.expect("data")["was"]),
        (["edge.back".to_owned()].as_slice(), &json!("silent"))
    );
    assert!(told(&app, &mut watch).await.0.is_empty());
}

#[tokio::test]
async fn an_edge_that_goes_on_is_not_late_and_one_that_left_is_not_back() {
    let (app, ana, sender) = start().await;
    let mut receiver = Receiver::start().await;
    make(&ana, &receiver, json!({ "event_types": ["edge.late", "edge.silent", "edge.back"] })).await;
    let edge = ProcessId::from(new_id());
    let mut watch = Watch::new(app.state.clock.now());
    flag(&ana, "first").await;
    for n in 0..4 {
        // It has what was newest at the last look, while more is written all the time.
        says(&app, edge, u64::MAX).await;
        flag(&ana, &format!("flag-{n}")).await;
        app.state.clock.advance(Duration::seconds(9));
        watch.look(&app.state).await.expect("a look");
    }
    app.state.clock.advance(Duration::seconds(40));
    watch.look(&app.state).await.expect("a look");
    app.state.live.forget(edge);
    watch.look(&app.state).await.expect("a look");
    pass(&app, &sender).await;
    assert_eq!(kinds(&receiver.received()), ["edge.silent"]);
    let left: i64 =
        sqlx::query_scalar("select count(*) from edge_spells").fetch_one(&app.state.pool).await.expect("a count");
    assert_eq!(left, 0);
}

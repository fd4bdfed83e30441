//! Edges that start from a file.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use reqwest::StatusCode;
use serde_json::json;
use shared::model::id::EnvironmentId;
use shared::wire::state::Entity;
use tempfile::TempDir;
use uuid::Uuid;

use crate::support::bundle::Draft;
use crate::support::edge::{Edge, command, refusal};
use crate::support::publisher::{SERVER_KEY, boolean, environment, flag_id, text};
use crate::support::{World, wait_for};

/// Nobody listens there.
const NO_NATS: &str = "nats://127.0.0.1:1";

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// The command with a bundle; `nats` is where the feed would come from.
fn with_bundle(nats: &str, folder: &Path, draft: &Draft) -> Command {
    let mut command = command(nats, folder);
    command.arg("--bundle").arg(draft.write(folder));
    command
}

/// An edge without NATS that starts with what lies in its folder and with a bundle.
fn alone(folder: TempDir, draft: &Draft) -> Edge {
    Edge::run(with_bundle(NO_NATS, folder.path(), draft), folder)
}

#[tokio::test]
async fn a_bundle_is_answered_from_at_once_and_marked_stale_and_outlives_the_next_start() {
    let draft = Draft::of(7, &[boolean("checkout", true)]).key(6, "fg_srv_old", json!({"revoked": true}));
    let edge = alone(folder(), &draft);
    let (status, body) = edge.evaluate("checkout").await;
    assert_eq!((status, &body["value"]), (StatusCode::OK, &json!(true)));
    assert_eq!(body["metadata"], json!({"flagSetId": "shop/production", "version": "7", "stale": true}));
    let (status, body) = edge.readiness().await;
    assert_eq!((status, &body["stale"]), (StatusCode::SERVICE_UNAVAILABLE, &json!(true)));
    assert_eq!(edge.evaluate_as("fg_srv_old", "checkout").await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(edge.evaluate_as("fg_srv_new", "checkout").await.0, StatusCode::SERVICE_UNAVAILABLE);

    let folder = edge.stop().await;
    let edge = Edge::run(command(NO_NATS, folder.path()), folder);
    assert_eq!(edge.evaluate("checkout").await.1["metadata"]["version"], json!("7"));
    assert_eq!(edge.evaluate_as("fg_srv_old", "checkout").await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn of_disk_and_bundle_the_newer_answers_in_each_environment() {
    let staging: EnvironmentId = Uuid::from_u128(0xe2).into();
    let both = |production: u64, staging_revision: u64, name: &str| {
        Draft::of(production, &[text("from", name), text(name, "only there")])
            .environment(staging, "staging", staging_revision)
            .key_in(staging, staging_revision, "fg_srv_staging", json!({}))
            .flags(staging, staging_revision, &[text("from", name), text(name, "only there")])
    };
    let folder = alone(folder(), &both(5, 5, "disk")).stop().await;
    let edge = alone(folder, &both(9, 3, "bundle"));
    let says = async |key: &str, flag: &str| edge.evaluate_as(key, flag).await.1;
    let production = says(SERVER_KEY, "from").await;
    assert_eq!((&production["value"], &production["metadata"]["version"]), (&json!("bundle"), &json!("9")));
    let staging = says("fg_srv_staging", "from").await;
    assert_eq!((&staging["value"], &staging["metadata"]["version"]), (&json!("disk"), &json!("5")));
    // Each is taken whole.
    assert_eq!(says(SERVER_KEY, "disk").await["errorCode"], json!("FLAG_NOT_FOUND"));
    assert_eq!(says("fg_srv_staging", "bundle").await["errorCode"], json!("FLAG_NOT_FOUND"));
}

#[tokio::test]
async fn a_newer_bundle_that_cannot_be_read_in_part_leaves_what_the_disk_could() {
    let folder = alone(folder(), &Draft::of(5, &[boolean("checkout", true)])).stop().await;
    let put = |killed: bool| {
        let envelope = json!({"format": 9, "revision": 9, "killed": killed, "body": {"flag": {"key": "checkout"}}});
        Draft::of(9, &[]).value(environment(), Entity::Flag(flag_id("checkout")), envelope)
    };
    let edge = alone(folder, &put(false));
    let (status, body) = edge.evaluate("checkout").await;
    assert_eq!((status, &body["value"]), (StatusCode::OK, &json!(true)));
    assert_eq!(body["metadata"]["version"], json!("9"));
    // Without a disk there is nothing to keep.
    let edge = alone(tempfile::tempdir().expect("a folder"), &put(false));
    assert_eq!(edge.evaluate("checkout").await.1["errorCode"], json!("GENERAL"));
    let edge = alone(tempfile::tempdir().expect("a folder"), &put(true));
    assert_eq!(edge.evaluate("checkout").await.1["reason"], json!("DISABLED"));
}

#[tokio::test]
async fn a_key_that_either_of_disk_and_bundle_knows_as_refused_stays_refused() {
    let flags = [boolean("checkout", true)];
    let disk = Draft::of(5, &flags)
        .key(5, "fg_srv_a", json!({"revoked": true}))
        .deleted_key(5, "fg_srv_b")
        .key(5, "fg_srv_c", json!({}))
        .key(5, "fg_srv_d", json!({}));
    let are_refused = async |edge: &Edge, keys: &[&str]| {
        for key in keys {
            assert_eq!(edge.evaluate_as(key, "checkout").await.0, StatusCode::UNAUTHORIZED, "{key}");
        }
        assert_eq!(edge.evaluate("checkout").await.0, StatusCode::OK);
    };
    // A bundle from after the disk, which forgot what was refused, as after restoring a backup.
    let newer = ["fg_srv_a", "fg_srv_b", "fg_srv_c", "fg_srv_d"]
        .iter()
        .fold(Draft::of(9, &flags), |draft, key| draft.key(9, key, json!({})));
    let folder = alone(folder(), &disk).stop().await;
    let edge = alone(folder, &newer);
    are_refused(&edge, &["fg_srv_a", "fg_srv_b"]).await;
    assert_eq!(edge.evaluate("checkout").await.1["metadata"]["version"], json!("9"));
    assert_eq!(edge.evaluate_as("fg_srv_c", "checkout").await.0, StatusCode::OK);

    // A bundle from before the disk.
    let folder = edge.stop().await;
    let older = Draft::of(3, &flags).key(3, "fg_srv_c", json!({"revoked": true})).deleted_key(3, "fg_srv_d");
    let edge = alone(folder, &older);
    let all = ["fg_srv_a", "fg_srv_b", "fg_srv_c", "fg_srv_d"];
    are_refused(&edge, &all).await;
    assert_eq!(edge.evaluate("checkout").await.1["metadata"]["version"], json!("9"));
    // Both are remembered without either bundle.
    let folder = edge.stop().await;
    let edge = Edge::run(command(NO_NATS, folder.path()), folder);
    are_refused(&edge, &all).await;
}

#[tokio::test]
async fn the_live_feed_replaces_a_bundle_unless_that_is_newer() {
    let world = World::new().await;
    world.publisher.put_all(7, &[boolean("checkout", false)]).await;
    let older = Draft::of(3, &[boolean("checkout", true), text("gone", "gone")]);
    let folder = folder();
    let edge = Edge::run(with_bundle(world.publisher.url(), folder.path(), &older), folder);
    edge.wait_until_ready().await;
    let (_, body) = edge.evaluate("checkout").await;
    assert_eq!((&body["value"], &body["metadata"]["version"]), (&json!(false), &json!("7")));
    assert_eq!(edge.evaluate("gone").await.0, StatusCode::NOT_FOUND);

    let folder = edge.stop().await;
    let newer = Draft::of(9, &[boolean("checkout", true)]);
    let edge = Edge::run(with_bundle(world.publisher.url(), folder.path(), &newer), folder);
    // The bucket was read, and is older.
    wait_for("the bucket is read", async || (edge.metric("fluxgate_edge_feed_live").await == 1.0).then_some(())).await;
    let (_, body) = edge.evaluate("checkout").await;
    assert_eq!((&body["value"], &body["metadata"]["stale"]), (&json!(true), &json!(true)));
    assert_eq!(edge.readiness().await.0, StatusCode::SERVICE_UNAVAILABLE);
    world.publisher.change(10, &[boolean("checkout", false)]).await;
    edge.wait_for_value("checkout", json!(false)).await;
    edge.wait_until_ready().await;
}

#[tokio::test]
async fn an_offline_edge_answers_from_its_bundle_alone_and_touches_nothing_else() {
    let nats = TcpListener::bind("127.0.0.1:0").expect("a port");
    nats.set_nonblocking(true).expect("a listener");
    let url = format!("nats://{}", nats.local_addr().expect("an address"));
    let folder = folder();
    let draft = Draft::of(7, &[boolean("checkout", true)]).key(6, "fg_srv_old", json!({"revoked": true}));
    let mut offline = with_bundle(&url, folder.path(), &draft);
    offline.arg("--offline");
    let edge = Edge::run(offline, folder);
    let (status, body) = edge.evaluate("checkout").await;
    assert_eq!((status, &body["value"]), (StatusCode::OK, &json!(true)));
    assert_eq!(body["metadata"], json!({"flagSetId": "shop/production", "version": "7"}));
    let single = edge.http.post(format!("{}/ofrep/v1/evaluate/flags/checkout", edge.address)).bearer_auth(SERVER_KEY);
    assert_eq!(single.send().await.expect("an answer").status(), StatusCode::OK);
    let bulk = edge.http.post(format!("{}/ofrep/v1/evaluate/flags", edge.address)).bearer_auth(SERVER_KEY);
    let bulk: serde_json::Value = bulk.send().await.expect("an answer").json().await.expect("JSON");
    assert_eq!((&bulk["flags"][0]["value"], &bulk["metadata"].get("stale")), (&json!(true), &None));
    for key in ["fg_srv_new", "fg_srv_old"] {
        assert_eq!(edge.evaluate_as(key, "checkout").await.0, StatusCode::UNAUTHORIZED, "{key}");
    }
    let event = r#"{"eventName":"seen","context":{"targetingKey":"u1"}}"#;
    let event = edge.http.post(format!("{}/track", edge.address)).bearer_auth(SERVER_KEY).body(event);
    assert_eq!(event.send().await.expect("an answer").status(), StatusCode::NO_CONTENT);
    let (status, body) = edge.readiness().await;
    let shop = json!({"name": "shop/production", "revision": 7, "stale": false});
    assert_eq!((status, body), (StatusCode::OK, json!({"ready": true, "stale": false, "environments": [shop]})));
    for (name, value) in [
        ("nats_connected", 0.0),
        ("feed_live", 0.0),
        ("snapshot_revision{environment=\"shop/production\"}", 7.0),
        ("snapshot_stale{environment=\"shop/production\"}", 0.0),
        ("evaluations_total{environment=\"shop/production\",reason=\"STATIC\"}", 3.0),
        ("analytics_unsent", 0.0),
        ("events_ignored_total", 1.0),
    ] {
        assert_eq!(edge.metric(&format!("fluxgate_edge_{name}")).await, value, "{name}");
    }
    let folder = edge.stop().await;
    let log = fs::read_to_string(folder.path().join("edge.log")).expect("a log");
    assert!(log.contains("stopped"), "{log}");
    assert!(!folder.path().join("data").exists(), "an offline edge writes nothing");
    let knock = nats.accept().expect_err("an offline edge does not connect");
    assert_eq!(knock.kind(), std::io::ErrorKind::WouldBlock);
}

#[tokio::test]
async fn the_setting_and_the_flag_name_the_same_bundle_and_the_flag_wins() {
    let (setting, flag) = (folder(), folder());
    let draft = |name: &str| Draft::of(7, &[text("from", name)]);
    let offline = |folder: &Path| {
        let mut command = command(NO_NATS, folder);
        let path = draft("setting").write(setting.path());
        command.env("EDGE_STORAGE__BUNDLE", path).env("EDGE_NATS__OFFLINE", "true");
        command
    };
    let edge = Edge::run(offline(flag.path()), folder());
    assert_eq!(edge.value("from").await, json!("setting"));
    let mut flagged = offline(flag.path());
    flagged.arg("--bundle").arg(draft("flag").write(flag.path()));
    let edge = Edge::run(flagged, folder());
    assert_eq!(edge.value("from").await, json!("flag"));
}

#[tokio::test]
async fn a_bundle_that_cannot_be_used_stops_the_start_with_file_place_and_reason() {
    let folder = folder();
    let path = folder.path().join("bundle.json");
    let good = Draft::of(7, &[boolean("checkout", true)]).text();
    let cases = [
        (good[..good.len() / 2].to_owned(), "line 3 column"),
        (good.replacen("\"format\":1", "\"format\":2", 1), "its format is 2"),
        ("{\"kind\":\"fluxgate-edge-state\",\"format\":1}\n".into(), "its kind is \"fluxgate-edge-state\""),
        (good.replacen("\"revision\":7", "\"revision\":-7", 1), "line 2 column"),
        (
            good.replacen(".environment\"", ".environments\"", 1),
            &format!("'{}.environments' is not a key", environment()),
        ),
    ];
    let start = |arguments: &[&str]| {
        let mut command = command(NO_NATS, folder.path());
        refusal(command.args(arguments))
    };
    let name = path.to_str().expect("a path of text");
    for (text, reason) in cases {
        fs::write(&path, text).expect("a file");
        for arguments in [&["--bundle", name][..], &["--bundle", name, "--offline"]] {
            let said = start(arguments);
            assert!(said.contains(name) && said.contains(reason), "{reason}: {said}");
        }
    }
    fs::remove_file(&path).expect("removed");
    let said = start(&["--bundle", name]);
    assert!(said.contains(name) && said.contains("No such file"), "{said}");
    assert!(!folder.path().join("data").exists(), "nothing is touched before the bundle is read");

    let said = start(&["--offline"]);
    assert!(said.contains("nats.offline") && said.contains("EDGE_STORAGE__BUNDLE="), "{said}");
    let said = start(&["--set", "nats.offline=maybe"]);
    assert!(said.contains("'maybe'") && said.contains("EDGE_NATS__OFFLINE=true"), "{said}");
    fs::write(&path, Draft::default().text()).expect("a file");
    let said = start(&["--bundle", name, "--offline"]);
    assert!(said.contains("no environment"), "{said}");
}

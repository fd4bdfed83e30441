//! What lies in the edge's folder may be damaged, foreign or out of reach; the edge says so and answers.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use reqwest::StatusCode;
use rustix::process::geteuid;
use serde_json::json;
use tempfile::TempDir;

use crate::support::edge::{Edge, command};
use crate::support::publisher::{boolean, text};
use crate::support::{World, wait_for};

const DISK_FAILURES: &str = "fluxgate_edge_disk_failures_total";
/// A user who owns nothing.
const STRANGER: u32 = 65_534;

#[tokio::test]
async fn a_state_that_cannot_be_used_is_named_and_the_bucket_fills_its_place() {
    let mut world = World::new().await;
    let edge = world.ready_edge().await;
    edge.evaluate("checkout").await;
    let mut folder = edge.stop().await;
    world.nats.kill();
    let state = folder.path().join("data/state");
    let good = fs::read(&state).expect("the state");
    let counts = fs::read(folder.path().join("data/counts")).expect("the spool");
    let head = good.iter().position(|byte| *byte == b'\n').expect("a head");
    let flipped = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        bytes
    };
    let replaced = |from: &str, to: &str| String::from_utf8_lossy(&good).replacen(from, to, 1).into_bytes();
    let cases = [
        ("begin", flipped(0)),
        ("begin", flipped(head)),
        ("checksum", flipped(head + 1)),
        ("checksum", flipped(head + (good.len() - head) / 2)),
        ("checksum", flipped(good.len() - 1)),
        ("begin", Vec::new()),
        ("begin", good[..head / 2].to_vec()),
        ("damaged", good[..=head].to_vec()),
        ("damaged", good[..good.len() / 2].to_vec()),
        ("damaged", good[..good.len() - 1].to_vec()),
        ("damaged", [&good[..], b"\n"].concat()),
        ("newer", replaced("\"format\":1", "\"format\":99")),
        ("not State", counts),
        ("begin", replaced("fluxgate-edge-state", "fluxgate-edge-dreams")),
        ("begin", b"{}".to_vec()),
        ("begin", vec![0; 4096]),
    ];
    for (why, bytes) in cases {
        fs::write(&state, bytes).expect("written");
        folder = starts_without(&world, folder, why).await;
    }
    fs::remove_file(&state).expect("removed");
    fs::create_dir(&state).expect("a folder in its place");
    folder = starts_without(&world, folder, "directory").await;
    world.nats.restart().await;
    let edge = Edge::start(&world.nats, folder).await;
    edge.wait_for_value("checkout", json!(true)).await;
    edge.wait_until_ready().await;
}

/// Without NATS and without a state it can use: not ready, and the log says why.
async fn starts_without(world: &World, folder: TempDir, why: &str) -> TempDir {
    let log = folder.path().join("edge.log");
    fs::remove_file(&log).expect("a log of its own");
    let edge = Edge::start(&world.nats, folder).await;
    assert_eq!(edge.evaluate("checkout").await.0, StatusCode::SERVICE_UNAVAILABLE, "{why}");
    let (status, body) = edge.readiness().await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(body["reason"].as_str().expect("a reason").starts_with("no state"), "{body}");
    let log = edge.log();
    assert!(log.contains("data/state") && log.contains(why), "{why}: {log}");
    edge.stop().await
}

/// An edge run by somebody who is not root, from whom files can be kept.
fn as_stranger(world: &World, folder: &Path) -> Command {
    let mut run = command(&world.nats.url(), folder);
    if geteuid().is_root() {
        // The program may lie where only root can pass.
        let program = folder.join("fluxgate-edge");
        fs::copy(env!("CARGO_BIN_EXE_fluxgate-edge"), &program).expect("copied");
        let listed: Vec<_> =
            run.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
        run = Command::new(program);
        run.env_clear().envs(listed.into_iter().filter_map(|(name, value)| Some((name, value?))));
        run.uid(STRANGER).gid(STRANGER).current_dir(folder).stdout(std::process::Stdio::piped());
        chown(folder, Some(STRANGER), Some(STRANGER)).expect("given away");
    }
    run
}

#[tokio::test]
async fn a_state_out_of_reach_is_named_and_one_that_cannot_be_replaced_is_kept() {
    let mut world = World::new().await;
    world.publisher.put_all(1, &[boolean("checkout", true)]).await;
    let folder = tempfile::tempdir().expect("a folder");
    let edge = Edge::run(as_stranger(&world, folder.path()), folder);
    edge.wait_until_ready().await;
    let folder = edge.stop().await;
    world.nats.kill();
    let (data, state) = (folder.path().join("data"), folder.path().join("data/state"));
    fs::set_permissions(&state, Permissions::from_mode(0o000)).expect("closed");
    let edge = Edge::run(as_stranger(&world, folder.path()), folder);
    assert_eq!(edge.evaluate("checkout").await.0, StatusCode::SERVICE_UNAVAILABLE);
    assert!(edge.log().contains("data/state is ignored: Permission denied"), "{}", edge.log());
    let folder = edge.stop().await;

    // A folder that lets nobody write, as it is when another user owns it.
    if !geteuid().is_root() {
        return;
    }
    fs::set_permissions(&state, Permissions::from_mode(0o600)).expect("opened");
    chown(&data, Some(0), Some(0)).expect("taken away");
    fs::set_permissions(&data, Permissions::from_mode(0o755)).expect("closed");
    let edge = Edge::run(as_stranger(&world, folder.path()), folder);
    let (status, body) = edge.evaluate("checkout").await;
    assert_eq!((status, &body["metadata"]["stale"]), (StatusCode::OK, &json!(true)));
    world.nats.restart().await;
    edge.wait_until_ready().await;
    world.publisher.change(2, &[boolean("checkout", false)]).await;
    edge.wait_for_value("checkout", json!(false)).await;
    wait_for("the failure is counted", async || (edge.metric(DISK_FAILURES).await > 0.0).then_some(())).await;
    assert!(edge.log().contains("could not be written"), "{}", edge.log());
    // Once it may write again nothing is missing.
    chown(&data, Some(STRANGER), Some(STRANGER)).expect("given back");
    let evaluated = edge.evaluated().await;
    wait_for("everything is counted", async || (world.publisher.counted().await == evaluated).then_some(())).await;
    let folder = edge.stop().await;
    world.nats.kill();
    let edge = Edge::run(as_stranger(&world, folder.path()), folder);
    assert_eq!(edge.value("checkout").await, json!(false));
}

/// An edge whose folder is a file system of its own, made by `script`, that goes when the edge does; `None` where this
/// user may not mount.
fn on_own_disk(world: &World, folder: &Path, script: &str) -> Option<Command> {
    let unshare = || {
        let mut unshare = Command::new("unshare");
        unshare.arg("--mount").args((!geteuid().is_root()).then_some("--map-root-user"));
        unshare
    };
    let probe = unshare().args(["mount", "-t", "tmpfs", "none", "/mnt"]).output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        eprintln!("this user may not mount a file system; nothing is proven here");
        return None;
    }
    fs::create_dir_all(folder.join("data")).expect("a folder");
    let edge = command(&world.nats.url(), folder);
    let mut run = unshare();
    run.args(["sh", "-c", &format!("{script} && exec \"$0\"")]).arg(edge.get_program());
    for (name, value) in edge.get_envs() {
        run.env(name, value.expect("only set ones"));
    }
    run.current_dir(folder).stdout(std::process::Stdio::piped());
    Some(run)
}

#[tokio::test]
async fn a_full_disk_stops_neither_answers_nor_counts_and_keeps_the_last_good_state() {
    let world = World::new().await;
    world.publisher.put_all(1, &[boolean("checkout", true)]).await;
    let folder = tempfile::tempdir().expect("a folder");
    let script = "mount -t tmpfs -o size=64k,mode=700 none data";
    let Some(run) = on_own_disk(&world, folder.path(), script) else { return };
    let edge = Edge::run(run, folder);
    edge.wait_until_ready().await;
    // As the edge sees its folder.
    let state = format!("/proc/{}/root{}", edge.pid(), edge.folder().join("data/state").display());
    let lies_there = |what: &str| fs::read_to_string(&state).is_ok_and(|state| state.contains(what));
    wait_for("the state is written", async || lies_there("checkout").then_some(())).await;

    let big = ["one", "two", "three", "four"].map(|key| text(key, &"b".repeat(50_000)));
    world.publisher.change(2, &big).await;
    wait_for("the failure is counted", async || (edge.metric(DISK_FAILURES).await > 0.0).then_some(())).await;
    assert_eq!(edge.value("four").await.as_str().map(str::len), Some(50_000));
    assert!(edge.log().contains("No space left on device"), "{}", edge.log());
    assert!(lies_there("checkout") && !lies_there("bbb"), "the last good state is whole");
    let evaluated = edge.evaluated().await;
    wait_for("everything is counted", async || (world.publisher.counted().await == evaluated).then_some(())).await;
    let small = ["one", "two", "three", "four"].map(|key| text(key, "small"));
    world.publisher.change(3, &small).await;
    wait_for("the state is written again", async || lies_there("small").then_some(())).await;
}

#[tokio::test]
async fn an_edge_restarted_on_a_disk_that_became_read_only_answers_and_follows() {
    let mut world = World::new().await;
    let edge = world.ready_edge().await;
    let folder = edge.stop().await;
    world.nats.kill();
    fs::rename(folder.path().join("data"), folder.path().join("seed")).expect("moved");
    let script = "mount -t tmpfs -o mode=700 none data && cp -a seed/. data && mount -o remount,ro none data";
    let Some(run) = on_own_disk(&world, folder.path(), script) else { return };
    let edge = Edge::run(run, folder);
    let (status, body) = edge.evaluate("checkout").await;
    assert_eq!((status, &body["metadata"]["stale"]), (StatusCode::OK, &json!(true)), "{body}");
    world.nats.restart().await;
    edge.wait_until_ready().await;
    world.publisher.change(2, &[boolean("checkout", false)]).await;
    edge.wait_for_value("checkout", json!(false)).await;
    wait_for("the failure is counted", async || (edge.metric(DISK_FAILURES).await > 0.0).then_some(())).await;
    assert!(edge.log().contains("Read-only file system"), "{}", edge.log());
    edge.stop().await;
}

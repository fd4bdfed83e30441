//! Listening and connecting over IPv6.

use std::net::TcpListener;

use serde_json::json;

use crate::support::World;
use crate::support::edge::Edge;
use crate::support::publisher::boolean;
use crate::support::wire::{Wire, post_body};

#[tokio::test]
async fn both_families_are_answered_on_the_dual_stack_address_and_one_on_its_own() {
    if TcpListener::bind("[::1]:0").is_err() {
        eprintln!("this machine has no IPv6; nothing is proven here");
        return;
    }
    let world = World::new().await;
    world.publisher.put_all(1, &[boolean("checkout", true)]).await;
    let ask = |address: String| {
        let mut wire = Wire::to_address(&address);
        wire.send(post_body("/evaluate", r#"{"flagKey":"checkout"}"#));
        wire.reply().expect("an answer").json()["value"].clone()
    };
    for (listen, hosts) in [("[::]:0", &["[::1]", "127.0.0.1"][..]), ("[::1]:0", &["[::1]"])] {
        let folder = tempfile::tempdir().expect("a folder");
        let edge = Edge::start_with(&world.nats, folder, &[("EDGE_SERVER__LISTEN", listen)]).await;
        edge.wait_until_ready().await;
        let port = edge.address.rsplit(':').next().expect("a port");
        for host in hosts {
            assert_eq!(ask(format!("{host}:{port}")), json!(true), "{listen}: {host}");
        }
    }
}

#[tokio::test]
async fn nats_is_reached_over_ipv6() {
    if TcpListener::bind("[::1]:0").is_err() {
        eprintln!("this machine has no IPv6; nothing is proven here");
        return;
    }
    let world = World::on_host("[::1]").await;
    let edge = world.ready_edge().await;
    assert!(world.publisher.url().contains("[::1]"));
    world.publisher.change(2, &[boolean("checkout", false)]).await;
    edge.wait_for_value("checkout", json!(false)).await;
}

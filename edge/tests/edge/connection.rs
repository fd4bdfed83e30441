//! Connections that are slow, idle, half open, pipelined, or carry too much.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::World;
use crate::support::edge::Edge;
use crate::support::publisher::{SERVER_KEY, boolean};
use crate::support::wire::{Wire, exchange, post, post_body};

/// What the slow clients of these tests are granted.
const HEAD_TIMEOUT: Duration = Duration::from_secs(2);
const MEGABYTES_3: usize = 3_000_000;
const ASK: &str = r#"{"flagKey":"checkout"}"#;

async fn impatient_edge(world: &World) -> Edge {
    world.publisher.put_all(1, &[boolean("checkout", true)]).await;
    let settings = [("EDGE_SERVER__HEADER_TIMEOUT_SECONDS", "2")];
    let edge = Edge::start_with(&world.nats, tempfile::tempdir().expect("a folder"), &settings).await;
    edge.wait_until_ready().await;
    edge
}

/// A connection of its own over which one request was answered.
fn answered(edge: &Edge) -> Wire {
    let mut wire = Wire::to(edge);
    wire.send(post_body("/evaluate", ASK));
    let reply = wire.reply().expect("an answer");
    assert_eq!((reply.status, &reply.json()["value"]), (200, &json!(true)));
    wire
}

#[tokio::test]
async fn a_head_that_comes_byte_by_byte_on_200_connections_is_cut_off_while_others_are_answered() {
    let world = World::new().await;
    let edge = impatient_edge(&world).await;
    let opened = Instant::now();
    let mut slow: Vec<Wire> = (0..200).map(|_| Wire::to(&edge)).collect();
    let head = post("/evaluate");
    // Each goes on sending well beyond the time granted, so only the edge can end it.
    for byte in head.bytes().cycle() {
        slow.retain_mut(|wire| wire.send([byte]));
        if slow.is_empty() {
            break;
        }
        answered(&edge);
        assert!(opened.elapsed() < Duration::from_secs(30), "{} slow heads are still taken", slow.len());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(opened.elapsed() >= HEAD_TIMEOUT, "cut off before the time granted was over");
}

#[tokio::test]
async fn idle_connections_are_closed_after_the_stated_time_used_before_or_not() {
    let world = World::new().await;
    let edge = impatient_edge(&world).await;
    let mut silent: Vec<Wire> = (0..500).map(|_| Wire::to(&edge)).collect();
    let mut used: Vec<Wire> = (0..20).map(|_| answered(&edge)).collect();
    // Well before the 60 seconds that are granted by default.
    for wire in silent.iter_mut().chain(&mut used) {
        assert!(wire.closes_silently());
    }
    answered(&edge);
}

#[tokio::test]
async fn a_body_that_comes_slowly_holds_up_nobody() {
    let world = World::new().await;
    let edge = impatient_edge(&world).await;
    let mut slow: Vec<Wire> = (0..50).map(|_| Wire::to(&edge)).collect();
    let head = format!("{}content-length: {}\r\n\r\n", post("/evaluate"), ASK.len());
    for wire in &mut slow {
        assert!(wire.send(&head));
    }
    let began = Instant::now();
    // A body has its own, longer time: the head's does not cut it off.
    for byte in ASK.bytes() {
        for wire in &mut slow {
            assert!(wire.send([byte]));
        }
        answered(&edge);
        tokio::time::sleep(HEAD_TIMEOUT.mul_f64(1.2 / ASK.len() as f64)).await;
    }
    assert!(began.elapsed() > HEAD_TIMEOUT);
    for mut wire in slow {
        let reply = wire.reply().expect("an answer");
        assert_eq!((reply.status, &reply.json()["value"]), (200, &json!(true)));
    }
}

#[tokio::test]
async fn a_body_of_3_megabytes_gets_a_whole_413() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let long = vec![b' '; MEGABYTES_3];
    let pieces = long
        .chunks(0x10000)
        .flat_map(|piece| [format!("{:x}\r\n", piece.len()).into_bytes(), piece.to_vec(), b"\r\n".to_vec()].concat());
    let chunked: Vec<u8> = pieces.chain(*b"0\r\n\r\n").collect();
    for path in ["/evaluate", "/ofrep/v1/evaluate/flags/checkout"] {
        let hidden = [format!("{}transfer-encoding: chunked\r\n\r\n", post(path)).as_bytes(), &chunked].concat();
        for request in [post_body(path, &long), hidden] {
            let replies = exchange(&edge, request);
            assert_eq!(replies.len(), 1, "{path}");
            assert!(replies[0].closes());
            let body = replies[0].json();
            assert_eq!((replies[0].status, &body["errorCode"]), (413, &json!("GENERAL")));
            assert!(body["errorDetails"].as_str().expect("details").contains("1048576"), "{body}");
        }
    }
    assert_eq!(edge.value("checkout").await, json!(true));
}

#[tokio::test]
async fn a_body_in_pieces_is_one_body() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let (first, second) = ASK.split_at(5);
    let extension = "5;name=\"v;\"";
    let request = format!(
        "{}transfer-encoding: chunked\r\n\r\n{extension}\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\nx-trailer: 1\r\n\r\n",
        post("/evaluate"),
        second.len()
    );
    let mut wire = Wire::to(&edge);
    wire.send(request);
    let reply = wire.reply().expect("an answer");
    assert_eq!((reply.status, &reply.json()["value"]), (200, &json!(true)));
    // And the connection goes on.
    wire.send(post_body("/evaluate", ASK));
    assert_eq!(wire.reply().expect("an answer").status, 200);
}

#[tokio::test]
async fn twenty_requests_in_one_write_are_answered_in_order() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let keys: Vec<String> = (0..20).map(|n| if n % 3 == 0 { "checkout".into() } else { format!("key-{n}") }).collect();
    let requests: Vec<u8> = keys
        .iter()
        .enumerate()
        .flat_map(|(n, key)| match n % 2 {
            0 => post_body("/evaluate", json!({"flagKey": key}).to_string()),
            _ => post_body(&format!("/ofrep/v1/evaluate/flags/{key}"), "{}"),
        })
        .collect();
    let mut wire = Wire::to(&edge);
    wire.send(requests);
    for (n, key) in keys.iter().enumerate() {
        let reply = wire.reply().expect("an answer");
        let body = reply.json();
        let name = if n % 2 == 0 { "flagKey" } else { "key" };
        let status = if key == "checkout" { 200 } else { 404 };
        assert_eq!((reply.status, &body[name]), (status, &json!(key)), "{n}");
    }
}

#[tokio::test]
async fn an_answer_waits_for_nothing_that_comes_after_its_request() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let whole = post_body("/evaluate", ASK);
    for (after, last) in [(&whole[..20], None), (b"no head at all\r\n\r\n", Some(400))] {
        let mut wire = Wire::to(&edge);
        wire.send([&whole, after].concat());
        assert_eq!(wire.reply().expect("an answer").status, 200);
        if last.is_some() {
            assert_eq!(wire.reply().map(|reply| reply.status), last);
            assert!(wire.closes_silently());
        }
    }
}

#[tokio::test]
async fn a_client_that_shuts_its_side_after_asking_is_answered() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    for turn in 0..100 {
        let mut wire = Wire::to(&edge);
        wire.send(post_body("/evaluate", ASK));
        wire.shut_write();
        let reply = wire.reply().unwrap_or_else(|| panic!("an answer, at turn {turn}"));
        assert_eq!((reply.status, &reply.json()["value"]), (200, &json!(true)));
        assert!(wire.closes_silently());
    }
}

#[tokio::test]
async fn clients_that_vanish_in_the_middle_disturb_nobody() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let whole = post_body("/evaluate", ASK);
    // At every byte of a request once.
    for end in 0..whole.len() {
        let mut wire = Wire::to(&edge);
        wire.send(&whole[..end]);
    }
    for end in [whole.len() - ASK.len() - 3, whole.len() - 3] {
        let mut wire = Wire::to(&edge);
        wire.send(&whole[..end]);
        wire.shut_write();
        // A part of a request is never answered as if it were whole.
        assert!(wire.reply().is_none_or(|reply| reply.status == 400));
    }
    assert_eq!(edge.value("checkout").await, json!(true));
}

#[tokio::test]
async fn who_asks_before_sending_a_body_is_told_to_go_on_or_refused_at_once() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let expecting = |key: &str, length: usize| {
        format!(
            "POST /evaluate HTTP/1.1\r\nhost: edge\r\nx-api-key: {key}\r\n\
             expect: 100-continue\r\ncontent-length: {length}\r\n\r\n"
        )
    };
    let mut wire = Wire::to(&edge);
    wire.send(expecting(SERVER_KEY, ASK.len()));
    assert_eq!(wire.reply().expect("an interim answer").status, 100);
    wire.send(ASK);
    let reply = wire.reply().expect("an answer");
    assert_eq!((reply.status, &reply.json()["value"]), (200, &json!(true)));

    for (key, length, status) in [("fg_srv_nobody", 500_000, 401), (SERVER_KEY, MEGABYTES_3, 413)] {
        let mut wire = Wire::to(&edge);
        wire.send(expecting(key, length));
        // Without a byte of the body.
        let reply = wire.reply().expect("an answer");
        assert_eq!((reply.status, &reply.json()["errorCode"]), (status, &json!("GENERAL")));
        assert!(reply.closes() && wire.closes_silently());
    }
}

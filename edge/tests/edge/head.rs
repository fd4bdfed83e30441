//! Heads of requests, usual and unusual ones.

use serde_json::json;

use crate::support::World;
use crate::support::edge::Edge;
use crate::support::publisher::{SERVER_KEY, boolean, text};
use crate::support::wire::{Wire, exchange, post, post_body};

const ASK: &str = r#"{"flagKey":"checkout"}"#;

/// Sends a head with whatever follows it and returns the status; `None` when the connection is closed instead.
fn status(edge: &Edge, request: impl AsRef<[u8]>) -> Option<u16> {
    let mut wire = Wire::to(edge);
    wire.send(request);
    wire.reply().map(|reply| reply.status)
}

#[tokio::test]
async fn every_address_knows_what_it_takes() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let reads = ["/livez", "/readyz", "/metrics"];
    let asks = ["/evaluate", "/ofrep/v1/evaluate/flags/checkout"];
    for path in reads {
        for (method, status) in [("GET", 200), ("HEAD", 200), ("POST", 405), ("OPTIONS", 405), ("PUT", 405)] {
            let mut wire = Wire::to(&edge);
            wire.send(format!("{method} {path} HTTP/1.1\r\nhost: edge\r\n\r\n"));
            let reply = if method == "HEAD" { wire.reply_to_head() } else { wire.reply() }.expect("an answer");
            assert_eq!(reply.status, status, "{method} {path}");
            if status == 405 {
                assert!(reply.header("allow").expect("methods").contains("GET"), "{method} {path}");
            }
            // Nothing of a body follows a HEAD: the next answer begins where it should.
            wire.send("GET /livez HTTP/1.1\r\nhost: edge\r\n\r\n");
            assert_eq!(wire.reply().expect("an answer").status, 200, "after {method} {path}");
        }
    }
    // What a HEAD says is what a GET would say, or nothing.
    for path in ["/livez", "/readyz"] {
        let mut wire = Wire::to(&edge);
        wire.send(format!("HEAD {path} HTTP/1.1\r\nhost: edge\r\n\r\nGET {path} HTTP/1.1\r\nhost: edge\r\n\r\n"));
        let head = wire.reply_to_head().expect("an answer");
        let get = wire.reply().expect("an answer");
        assert_eq!(head.header("content-type"), get.header("content-type"));
        let length = get.body.len().to_string();
        assert!(head.header("content-length").is_none_or(|told| told == length), "{head:?}");
    }
    for path in asks {
        for method in ["GET", "HEAD", "PUT", "DELETE", "PATCH", "TRACE", "STRANGE"] {
            let mut wire = Wire::to(&edge);
            wire.send(format!("{method} {path} HTTP/1.1\r\nhost: edge\r\nx-api-key: {SERVER_KEY}\r\n\r\n"));
            let reply = if method == "HEAD" { wire.reply_to_head() } else { wire.reply() }.expect("an answer");
            assert_eq!(reply.status, 405, "{method} {path}");
            assert!(reply.header("allow").expect("methods").contains("POST"), "{method} {path}");
        }
    }
    // What a page asks before it asks, with no key at all.
    for path in asks.iter().chain(&["/ofrep/v1/evaluate/flags", "/ofrep/v1/stream?t=x"]) {
        let mut wire = Wire::to(&edge);
        wire.send(format!("OPTIONS {path} HTTP/1.1\r\nhost: edge\r\norigin: https://shop.example\r\n\r\n"));
        assert_eq!(wire.reply().expect("an answer").status, 204, "{path}");
        wire.send(format!("HEAD {path} HTTP/1.1\r\nhost: edge\r\n\r\n"));
        let reply = wire.reply_to_head().expect("an answer");
        assert!(matches!(reply.status, 401 | 405), "{path}: {reply:?}");
    }
    for method in ["GET", "HEAD", "POST", "OPTIONS"] {
        let mut wire = Wire::to(&edge);
        wire.send(format!("{method} /nowhere HTTP/1.1\r\nhost: edge\r\n\r\n"));
        let reply = if method == "HEAD" { wire.reply_to_head() } else { wire.reply() }.expect("an answer");
        assert_eq!(reply.status, 404, "{method}");
    }
}

#[tokio::test]
async fn old_clients_and_proxies_are_understood() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let length = ASK.len();
    let key = format!("x-api-key: {SERVER_KEY}\r\ncontent-length: {length}\r\n");
    // HTTP/1.0 has no need of a host, and its connection ends unless it asks otherwise.
    let mut wire = Wire::to(&edge);
    wire.send(format!("POST /evaluate HTTP/1.0\r\n{key}\r\n{ASK}"));
    assert_eq!(wire.reply().expect("an answer").json()["value"], true);
    assert!(wire.closes_silently());
    let mut wire = Wire::to(&edge);
    for _ in 0..2 {
        wire.send(format!("POST /evaluate HTTP/1.0\r\nconnection: keep-alive\r\n{key}\r\n{ASK}"));
        assert_eq!(wire.reply().expect("an answer").json()["value"], true);
    }
    // As a proxy sends it.
    for target in ["http://flags.example/evaluate", "http://flags.example:8081/evaluate?x=1", "/evaluate?x=%2F&y"] {
        let replies = status(&edge, format!("POST {target} HTTP/1.1\r\nhost: flags.example\r\n{key}\r\n{ASK}"));
        assert_eq!(replies, Some(200), "{target}");
    }
    // Bare line feeds, and an empty line before the request, as RFC 9112 allows.
    assert_eq!(status(&edge, format!("\r\n{}", String::from_utf8_lossy(&post_body("/evaluate", ASK)))), Some(200));
    let bare = format!("POST /evaluate HTTP/1.1\nhost: edge\n{}\n{ASK}", key.replace('\r', ""));
    assert_eq!(status(&edge, bare), Some(200));
    // HTTP/2 without being asked for, and no HTTP at all.
    for preface in ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "POST /evaluate HTTP/3.0\r\n\r\n", "\x16\x03\x01\x02\x00\x01"] {
        assert!(matches!(status(&edge, preface), Some(400) | None), "{preface:?}");
    }
    assert_eq!(edge.value("checkout").await, json!(true));
}

#[tokio::test]
async fn lengths_that_contradict_each_other_are_refused_or_read_in_the_one_safe_way() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let length = ASK.len();
    let with = |headers: &str, body: &str| format!("{}{headers}\r\n{body}", post("/evaluate"));
    let twice = format!("content-length: {length}\r\ncontent-length: {length}\r\n");
    assert_eq!(status(&edge, with(&twice, ASK)), Some(200), "the same length said twice");
    for headers in [
        format!("content-length: {length}\r\ncontent-length: 5\r\n"),
        format!("content-length: {length}, 5\r\n"),
        "content-length: -1\r\n".into(),
        "content-length: +1\r\n".into(),
        "content-length: 1e1\r\n".into(),
        "content-length: ten\r\n".into(),
        "content-length: 99999999999999999999999\r\n".into(),
        "transfer-encoding: gzip\r\n".into(),
        "transfer-encoding: chunked, gzip\r\n".into(),
    ] {
        assert_eq!(status(&edge, with(&headers, ASK)), Some(400), "{headers}");
    }
    // The chunks decide, and nothing that follows them is taken for another request.
    let chunked = format!("{length:x}\r\n{ASK}\r\n0\r\n\r\n");
    for headers in
        ["content-length: 4\r\ntransfer-encoding: chunked\r\n", "transfer-encoding: chunked\r\ncontent-length: 4\r\n"]
    {
        let replies = exchange(&edge, with(&format!("{headers}connection: close\r\n"), &chunked));
        assert_eq!(replies.iter().map(|reply| reply.status).collect::<Vec<_>>(), [200], "{headers}");
    }
    for chunks in ["zz\r\n", "-1\r\n", "ffffffffffffffffff\r\n", "5\r\n{\"fla\r\rxx", "\r\n"] {
        let refused = status(&edge, with("transfer-encoding: chunked\r\n", chunks));
        assert!(matches!(refused, Some(400 | 413)), "{chunks:?}: {refused:?}");
    }
    assert_eq!(edge.value("checkout").await, json!(true));
}

#[tokio::test]
async fn heads_that_are_too_much_or_no_text_are_refused_and_the_edge_goes_on() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let with = |headers: String| format!("{}{headers}content-length: {}\r\n\r\n{ASK}", post("/evaluate"), ASK.len());
    let headers = |count: usize| (0..count).map(|n| format!("x-{n}: {n}\r\n")).collect::<String>();
    assert_eq!(status(&edge, with(headers(90))), Some(200));
    assert_eq!(status(&edge, with(headers(300))), Some(431));
    assert_eq!(status(&edge, with(format!("cookie: {}\r\n", "c".repeat(60_000)))), Some(200));
    assert_eq!(status(&edge, with(format!("cookie: {}\r\n", "c".repeat(70_000)))), Some(431));
    let path = |length: usize| format!("POST /{} HTTP/1.1\r\nhost: edge\r\n\r\n", "p".repeat(length));
    assert_eq!(status(&edge, path(60_000)), Some(404));
    assert!(matches!(status(&edge, path(70_000)), Some(414 | 431)));
    for broken in [
        "x-nul: a\0b\r\n",
        "x-tab-name\t: 1\r\n",
        "no colon\r\n",
        ": nameless\r\n",
        "x-return: a\rb\r\n",
        "x naïve: 1\r\n",
    ] {
        assert_eq!(status(&edge, with(broken.into())), Some(400), "{broken:?}");
    }
    for target in ["/eval\0uate", "/eval uate", "evaluate", ""] {
        let request = format!("POST {target} HTTP/1.1\r\nhost: edge\r\n\r\n");
        assert!(matches!(status(&edge, request), Some(400 | 404)), "{target:?}");
    }
    // Bytes beyond ASCII in a value are nobody's business here, in a key they are one that nobody knows.
    assert_eq!(status(&edge, with("x-name: naïve\r\n".into())), Some(200));
    let request = "POST /evaluate HTTP/1.1\r\nauthorization: Bearer schlüssel\r\ncontent-length: 2\r\n\r\n{}";
    assert_eq!(status(&edge, request), Some(401));
    assert_eq!(edge.value("checkout").await, json!(true));
}

#[tokio::test]
async fn any_content_type_is_read_as_json() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    for content_type in [
        "",
        "content-type: application/json\r\n",
        "content-type: application/json; charset=utf-8\r\n",
        "content-type: Application/JSON;charset=\"UTF-8\"\r\n",
        "content-type: text/plain\r\n",
        "content-type: application/x-www-form-urlencoded\r\n",
        "content-type: \r\n",
        "content-type: application/json\r\ncontent-type: text/html\r\n",
    ] {
        for path in ["/evaluate", "/ofrep/v1/evaluate/flags/checkout"] {
            let mut wire = Wire::to(&edge);
            wire.send(format!("{}{content_type}content-length: {}\r\n\r\n{ASK}", post(path), ASK.len()));
            let reply = wire.reply().expect("an answer");
            assert_eq!((reply.status, &reply.json()["value"]), (200, &json!(true)), "{content_type}");
        }
    }
}

#[tokio::test]
async fn keys_of_every_allowed_form_are_found_in_path_and_body() {
    let world = World::new().await;
    let long = "k".repeat(200);
    let keys = ["a/b", "a/b/c", "toString", "constructor", "proto__", "hasOwnProperty", "v1.2.3", "a:b", &long];
    let flags: Vec<_> = keys.iter().map(|key| text(key, key)).chain([boolean("checkout", true)]).collect();
    world.publisher.put_all(1, &flags).await;
    let edge = world.edge().await;
    edge.wait_until_ready().await;
    let ask = |path: &str| {
        let mut wire = Wire::to(&edge);
        wire.send(post_body(&format!("/ofrep/v1/evaluate/flags/{path}"), "{}"));
        let reply = wire.reply().expect("an answer");
        (reply.status, reply.json())
    };
    for key in keys {
        let encoded: String = key.bytes().map(|byte| format!("%{byte:02X}")).collect();
        for path in [key, &encoded, &key.replace('/', "%2F"), &key.replace('/', "%2f")] {
            let (status, body) = ask(path);
            assert_eq!((status, &body["key"], &body["value"]), (200, &json!(key), &json!(key)), "{path}");
        }
        assert_eq!(edge.value(key).await, json!(key));
    }
    // Names that mean something elsewhere, and keys that can never exist, are simply not there.
    for (path, key) in [
        ("valueOf", "valueOf"),
        ("__proto__", "__proto__"),
        ("prototype", "prototype"),
        ("%2Ffeature", "/feature"),
        ("/feature", "/feature"),
        (".", "."),
        ("..", ".."),
        ("%2E%2E", ".."),
        ("a/../checkout", "a/../checkout"),
        ("is%20it%20on%3F", "is it on?"),
        ("checkout%3Fx=1", "checkout?x=1"),
        ("checkout%00", "checkout\0"),
        ("checkout%", "checkout%"),
        ("%E2%82%AC", "€"),
    ] {
        let (status, body) = ask(path);
        assert_eq!((status, &body["key"], &body["errorCode"]), (404, &json!(key), &json!("FLAG_NOT_FOUND")), "{path}");
    }
    // A query is no part of the key.
    assert_eq!(ask("checkout?x=1").0, 200);
    let longer = "k".repeat(201);
    assert_eq!(ask(&longer).0, 404);
}

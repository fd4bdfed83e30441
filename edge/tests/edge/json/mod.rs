//! Bodies of every kind of right and wrong JSON, to every endpoint that reads one.

mod invalid;
mod table;

use std::collections::BTreeMap;

use serde_json::json;

use crate::support::World;
use crate::support::edge::Edge;
use crate::support::publisher::SERVER_KEY;
use crate::support::wire::{Wire, post_body};
use table::{DOCUMENTS, Kind, VALUES};

const PATHS: [&str; 3] = ["/evaluate", "/ofrep/v1/evaluate/flags/checkout", "/ofrep/v1/evaluate/flags"];

/// Asks over one connection as long as it lasts.
struct Asker<'e> {
    edge: &'e Edge,
    wire: Option<Wire>,
}

impl Asker<'_> {
    fn status(&mut self, path: &str, body: &[u8]) -> u16 {
        let mut wire = self.wire.take().unwrap_or_else(|| Wire::to(self.edge));
        assert!(wire.send(post_body(path, body)), "the edge takes {}", shown(body));
        let reply = wire.reply().unwrap_or_else(|| panic!("{path} answers {}", shown(body)));
        let said = reply.json();
        assert_eq!(reply.status == 200, said.get("errorCode").is_none(), "{path}: {}: {said}", shown(body));
        self.wire = Some(wire).filter(|_| !reply.closes());
        reply.status
    }
}

fn shown(body: &[u8]) -> String {
    String::from_utf8_lossy(body).chars().take(200).collect()
}

/// The value as an attribute, in a list of an attribute, and where nobody looks.
fn bodies(value: &[u8]) -> [Vec<u8>; 3] {
    let around = [
        (r#"{"flagKey":"checkout","context":{"targetingKey":"u1","a":"#, "}}"),
        (r#"{"flagKey":"checkout","context":{"a":[1,"#, "],\"targetingKey\":\"u1\"}}"),
        (r#"{"x":"#, r#","flagKey":"checkout"}"#),
    ];
    around.map(|(before, after)| [before.as_bytes(), value, after.as_bytes()].concat())
}

#[tokio::test]
async fn json_of_every_kind_is_answered_or_refused_and_never_breaks_anything() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let mut asker = Asker { edge: &edge, wire: None };
    let mut asked = BTreeMap::new();
    let placed = VALUES
        .iter()
        .flat_map(|(kind, values)| values.iter().flat_map(|value| bodies(value)).map(move |body| (*kind, body)));
    let whole =
        DOCUMENTS.iter().flat_map(|(kind, documents)| documents.iter().map(move |document| (*kind, document.to_vec())));
    for (kind, body) in placed.chain(whole) {
        for path in PATHS {
            let status = asker.status(path, &body);
            let is_right = match kind {
                Kind::Valid => status == 200,
                Kind::Invalid => status == 400,
                Kind::Either => matches!(status, 200 | 400),
            };
            assert!(is_right, "{path}: {kind:?} JSON got {status}: {}", shown(&body));
        }
        *asked.entry(kind).or_insert(0) += 1;
    }
    assert!(asked.values().sum::<u32>() > 300 && asked.len() == 3, "{asked:?}");
    assert_eq!(edge.value("checkout").await, json!(true));
    let (_, metrics) = edge.get("/metrics").await;
    assert!(!metrics.contains("status=\"500\"}"), "{metrics}");
}

#[tokio::test]
async fn any_depth_is_answered_or_refused() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let mut asker = Asker { edge: &edge, wire: None };
    for depth in [1, 64, 126, 127, 128, 129, 1_000, 100_000] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let nested = [open.repeat(depth), "1".into(), close.repeat(depth)].concat();
            let unclosed = open.repeat(depth);
            for (value, is_whole) in [(&nested, true), (&unclosed, false)] {
                for body in bodies(value.as_bytes()).iter().chain([&value.clone().into_bytes()]) {
                    for path in PATHS {
                        let status = asker.status(path, body);
                        let may_be_read = is_whole && depth <= 128;
                        assert!(status == 400 || (may_be_read && status == 200), "{path}: depth {depth}: {status}");
                        assert!(status == 200 || depth > 64 || !is_whole || body == value.as_bytes(), "{depth}");
                    }
                }
            }
        }
    }
    assert_eq!(edge.value("checkout").await, json!(true));
}

#[tokio::test]
async fn of_doubled_members_the_last_wins_on_every_endpoint() {
    let world = World::new().await;
    let mut flag = crate::support::publisher::text("plan", "free");
    flag.1["flag"]["variants"] = json!([{"key": "free", "value": "free"}, {"key": "pro", "value": "pro"}]);
    flag.1["config"]["default_serve"] = json!({"variant": "free"});
    flag.1["config"]["rules"] = json!([{
        "id": uuid::Uuid::from_u128(1), "serve": {"variant": "pro"},
        "conditions": {"attribute": "plan", "operator": "equals", "values": ["pro"]},
    }]);
    world.publisher.put_all(1, &[flag]).await;
    let edge = world.edge().await;
    edge.wait_until_ready().await;
    let contexts = [
        (r#"{"plan":"free","plan":"pro"}"#, "pro"),
        (r#"{"plan":"pro","plan":"free"}"#, "free"),
        (r#"{"plan":"pro","plan":7}"#, "free"),
        (r#"{"plan":"free"},"context":{"plan":"pro"}"#, "pro"),
    ];
    for (context, value) in contexts {
        let body = format!(r#"{{"flagKey":"nowhere","flagKey":"plan","context":{context}}}"#);
        for path in ["/evaluate", "/ofrep/v1/evaluate/flags/plan", "/ofrep/v1/evaluate/flags"] {
            let request = edge.http.post(format!("{}{path}", edge.address)).bearer_auth(SERVER_KEY);
            let answer: serde_json::Value =
                request.body(body.clone()).send().await.expect("an answer").json().await.expect("JSON");
            let answered = answer.get("value").unwrap_or(&answer["flags"][0]["value"]);
            assert_eq!(answered, value, "{path}: {context}: {answer}");
        }
    }
}

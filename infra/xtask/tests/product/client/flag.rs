//! The flags that clients are asked about: each type, each way to answer.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::Product;

/// The largest integer that every client can hold.
pub(super) const LARGEST: i64 = 9_007_199_254_740_991;
/// Text that is not ASCII, with what JSON must escape.
pub(super) const TEXT: &str = "größer ✓ \"quoted\" \\ \n😀";

/// What the object flag serves.
pub(super) fn object() -> Value {
    json!({ "standard": true, "limits": { "weights": [1, 2.5, "x", false], "name": "größer" } })
}

/// A flag in production as the API takes it.
struct Flag {
    key: &'static str,
    value_type: &'static str,
    variants: Value,
    config: Value,
}

/// Creates them all and waits until every edge answers by the last one.
pub(super) async fn create_all(product: &Product) {
    for flag in flags() {
        create(product, &flag, true).await;
    }
    create(product, &boolean("server-only", json!({})), false).await;
    for edge in 0..product.stack.edges.len() {
        product
            .wait_for("the edge knows the last flag", || async {
                product.evaluate(edge, "server-only", "u1").await.is_ok_and(|answer| answer.body["reason"] == "STATIC")
            })
            .await;
    }
}

async fn create(product: &Product, flag: &Flag, client_visible: bool) {
    let definition = json!({
        "key": flag.key, "value_type": flag.value_type, "kind": "release",
        "client_visible": client_visible, "variants": flag.variants
    });
    product.api(Method::POST, "/flags", None, Some(json!({ "definition": definition, "name": flag.key }))).await;
    let path = format!("/flags/{}/environments/production", flag.key.replace('/', "%2F"));
    product.api(Method::PUT, &path, Some(1), Some(json!({ "config": flag.config }))).await;
}

/// A boolean flag that is on for everyone, but for what `changes` says of its config.
fn boolean(key: &'static str, changes: Value) -> Flag {
    let mut config = json!({ "enabled": true, "off_variant": "off", "default_serve": { "variant": "on" } });
    for (name, value) in changes.as_object().into_iter().flatten() {
        config[name] = value.clone();
    }
    let variants = json!([{ "key": "on", "value": "true" }, { "key": "off", "value": "false" }]);
    Flag { key, value_type: "boolean", variants, config }
}

/// A flag that serves one value to everyone.
fn fixed(key: &'static str, value_type: &'static str, value: &str) -> Flag {
    let variants = json!([{ "key": "only", "value": value }]);
    let config = json!({ "enabled": true, "default_serve": { "variant": "only" } });
    Flag { key, value_type, variants, config }
}

fn flags() -> Vec<Flag> {
    let pro = json!([{
        "id": "0192a000-0000-7000-8000-0000000000a1", "name": "Pro",
        "conditions": { "all": [{ "attribute": "plan", "operator": "equals", "values": ["pro"] }] },
        "serve": { "variant": "on" }
    }]);
    let split = json!({ "split": { "bucket_by": "targetingKey", "seed": "clients",
        "ranges": [{ "start": 0, "end": 100_000, "variant": "on" }] } });
    let off = json!({ "variant": "off" });
    vec![
        boolean("types/boolean", json!({})),
        fixed("types/string", "string", TEXT),
        fixed("types/integer", "integer", &LARGEST.to_string()),
        fixed("types/float", "float", "10.0"),
        fixed("types/object", "object", &object().to_string()),
        boolean("reason/rule", json!({ "rules": pro, "default_serve": off })),
        boolean("reason/target", json!({ "targets": [{ "variant": "off", "keys": ["qa-1"] }] })),
        boolean("reason/split", json!({ "default_serve": split })),
        boolean("off/with-variant", json!({ "enabled": false })),
        boolean("off/with-nothing", json!({ "enabled": false, "off_variant": null })),
        boolean("off/blocked", json!({ "prerequisites": [{ "flag": "off/with-variant", "variants": ["on"] }] })),
    ]
}

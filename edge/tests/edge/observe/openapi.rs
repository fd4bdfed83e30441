//! The description of the API: a reviewed file, and what it says of itself.

use std::collections::BTreeSet;

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::observe::checker::{SINGLE, document, validate, validator};
use crate::support::World;

const REVIEWED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");

#[test]
fn the_description_is_the_reviewed_one() {
    let mut now = edge::http::openapi::document().to_pretty_json().expect("JSON");
    now.push('\n');
    if std::env::var_os("FLUXGATE_ACCEPT").is_some() {
        std::fs::write(REVIEWED, &now).expect("a file to write");
    }
    let reviewed = std::fs::read_to_string(REVIEWED).unwrap_or_default();
    // In which order members are written depends on what else is built beside the edge.
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    assert!(
        parse(&now) == parse(&reviewed),
        "the API changed: run with FLUXGATE_ACCEPT=1, read the diff of edge/openapi.json, commit it"
    );
}

#[test]
fn the_error_codes_are_those_of_the_engine() {
    let codes = shared::evaluation::ErrorCode::ALL.map(shared::evaluation::ErrorCode::as_str);
    assert_eq!(document()["components"]["schemas"]["ErrorCode"]["enum"], json!(codes));
}

#[test]
fn every_example_fits_its_own_schema() {
    let document = document();
    let mut checked = 0;
    for schema in document["components"]["schemas"].as_object().expect("schemas").values() {
        if let Some(example) = schema.get("example") {
            validate(&document, schema.clone(), example);
            checked += 1;
        }
    }
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            for (status, response) in operation["responses"].as_object().expect("responses") {
                let example = &response["content"]["application/json"]["example"];
                if !example.is_null() {
                    let fits = validator(&document, path, method, status);
                    assert!(fits.is_valid(example), "{method} {path} {status}: {:?}", fits.validate(example));
                    checked += 1;
                }
            }
        }
    }
    assert!(checked >= 10, "{checked} examples");
}

#[test]
fn a_member_too_many_or_too_few_does_not_fit() {
    let document = document();
    let metadata = json!({"flagSetId": "shop/production", "version": "1"});
    let error = json!({"errorCode": "GENERAL", "errorDetails": "x"});
    let with = |mut a: Value, b: Value| {
        if let (Some(a), Value::Object(b)) = (a.as_object_mut(), b) {
            a.extend(b);
        }
        a
    };
    let good = [
        ("/evaluate", "200", json!({"flagKey": "a", "reason": "STATIC", "metadata": metadata})),
        (SINGLE, "200", json!({"key": "a", "reason": "STATIC", "metadata": metadata})),
        (SINGLE, "404", with(json!({"key": "a"}), error.clone())),
        ("/evaluate", "401", with(json!({"reason": "ERROR"}), error)),
    ];
    for (path, status, body) in good {
        let fits = validator(&document, path, "post", status);
        assert!(fits.is_valid(&body), "{path} {status}: {:?}", fits.validate(&body));
        for name in body.as_object().expect("an object").keys() {
            let mut less = body.clone();
            less.as_object_mut().and_then(|less| less.remove(name)).expect("a member");
            assert!(!fits.is_valid(&less), "{path} {status} without {name}");
        }
        let strays = [json!({"x": 1}), json!({"reason": "static"}), json!({"value": null}), json!({"errorCode": "X"})];
        for stray in strays {
            assert!(!fits.is_valid(&with(body.clone(), stray.clone())), "{path} {status} with {stray}");
        }
    }
}

#[tokio::test]
async fn the_description_and_its_pages_come_from_here_alone() {
    let world = World::new().await;
    let edge = world.edge().await;
    let (status, served) = edge.get("/openapi.json").await;
    assert_eq!(status, StatusCode::OK);
    assert!(serde_json::from_str::<Value>(&served).expect("JSON") == document(), "built before it was reviewed");
    let response = edge.http.get(format!("{}/docs", edge.address)).send().await.expect("an answer");
    assert!(response.url().path().ends_with("/docs/"), "{}", response.url());
    let policy = response.headers()["content-security-policy"].to_str().expect("text").to_owned();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    let page = response.text().await.expect("text");
    assert!(page.contains("swagger-ui") && !page.contains("https://") && !page.contains("=\"//"), "{page}");
    let files = page.split(['"', ' ']).filter_map(|part| part.strip_prefix("./"));
    let files: BTreeSet<&str> = files.filter(|name| name.contains('.')).collect();
    assert!(files.contains("swagger-ui-bundle.js") && files.contains("swagger-initializer.js"), "{files:?}");
    for file in files {
        assert_eq!(edge.get(&format!("/docs/{file}")).await.0, StatusCode::OK, "{file}");
    }
    assert!(edge.get("/docs/swagger-initializer.js").await.1.contains("../openapi.json"));
    assert_eq!(edge.get("/docs/nothing.js").await.0, StatusCode::NOT_FOUND);
}

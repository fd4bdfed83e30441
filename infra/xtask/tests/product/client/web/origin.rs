//! Which pages may use a key, as a browser enforces it.

use async_nats::ConnectOptions;
use async_nats::jetstream;
use serde_json::{Value, json};
use tokio::task::block_in_place;
use xtask::stack::Options;

use super::{ClientKey, Place, Web, client_key};
use crate::client::flag::create_all;
use crate::support::Product;

#[tokio::test(flavor = "multi_thread")]
async fn a_page_uses_a_client_key_of_its_own_origin_and_no_other_key() {
    let mut product = Product::start(&Options { edges: 1, ..Options::default() }).await;
    create_all(&product).await;
    let (ours, theirs) = (client_key(&product).await, client_key(&product).await);
    let edge = product.stack.edges[0].url().to_owned();
    let mut web = Web::page().await;
    let Place::Page(page) = &web.place else { unreachable!("it is a page") };
    let origin = page.origin().to_owned();
    let environment = environment_of(&product).await;
    // It would mend what it finds changed.
    block_in_place(|| product.stack.backend.stop()).expect("the backend stops");
    bind(&product, &environment, &ours, &origin).await;
    bind(&product, &environment, &theirs, "https://other.example").await;

    web.connect(&edge, &ours.secret, json!({ "targetingKey": "u1" })).await.expect("its own key");
    assert_eq!(web.boolean("types/boolean", false).await["value"], true);
    // It can read why, so it knows that there is no use in going on.
    let refused = web.connect(&edge, &theirs.secret, json!({})).await.expect_err("a key of another origin");
    assert!(refused.contains("ProviderFatalError"), "{refused}");
    // The browser keeps the answer from it: nobody is to find a server key working in a page.
    let server_key = &product.stack.demo.sdk_keys["production"];
    let refused = web.connect(&edge, server_key, json!({})).await.expect_err("a server key");
    assert!(refused.contains("The OFREP request failed"), "{refused}");

    // What comes without an origin is no page, and cannot be held to one.
    let mut node = Web::node();
    node.connect(&edge, &theirs.secret, json!({ "targetingKey": "u1" })).await.expect("an app");
    assert_eq!(node.boolean("types/boolean", false).await["value"], true);
    web.end().await;
}

/// Binds a client key to a web origin, and waits until the edge knows.
///
/// The admin API cannot say origins yet, so this writes what the publisher would: a newer revision of the key.
async fn bind(product: &Product, environment: &str, key: &ClientKey, origin: &str) {
    let password = product.stack.nats_passwords.backend.clone();
    let options = ConnectOptions::with_user_and_password("backend".to_owned(), password);
    let nats = options.connect(product.stack.nats.url()).await.expect("NATS");
    let bucket = jetstream::new(nats).get_key_value("fluxgate_state").await.expect("the bucket");
    let name = format!("{environment}.key.{}", key.id);
    let held = bucket.get(&name).await.expect("a value").expect("the key");
    let mut value: Value = serde_json::from_slice(&held).expect("an envelope");
    value["revision"] = (value["revision"].as_u64().expect("a revision") + 1).into();
    value["body"]["origins"] = json!([origin]);
    bucket.put(&name, value.to_string().into()).await.expect("a newer value");

    let url = format!("{}/ofrep/v1/evaluate/flags", product.stack.edges[0].url());
    product
        .wait_for("the edge knows the origins", || async {
            let request = product.client.post(&url).bearer_auth(&key.secret).header("origin", "https://nobody.example");
            request.send().await.is_ok_and(|answer| answer.status() == 403)
        })
        .await;
}

/// The id of production.
async fn environment_of(product: &Product) -> String {
    let project = product.api(reqwest::Method::GET, "", None, None).await;
    let environments = project["environments"].as_array().expect("environments");
    let production = environments.iter().find(|environment| environment["key"] == "production").expect("production");
    production["id"].as_str().expect("an id").to_owned()
}

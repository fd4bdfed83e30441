//! Counts are exact, whatever happens to the edge that counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::json;
use xtask::stack::Options;

use crate::support::{Product, report};

const UPDATES: u64 = 1_000;
const CLIENTS: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn counts_are_exact_over_1000_updates_and_a_stop_under_load() {
    let mut product = Product::start(&Options::default()).await;
    product.create_flag("hot").await;
    let answered = Arc::new(AtomicU64::new(0));
    let is_over = Arc::new(AtomicBool::new(false));
    let mut clients = Vec::new();
    for client in 0..CLIENTS {
        let url = format!("{}/evaluate", product.stack.edges[client % 2].url());
        let key = product.stack.demo.sdk_keys["production"].clone();
        let (http, answered, is_over) = (product.client.clone(), answered.clone(), is_over.clone());
        clients.push(tokio::spawn(async move {
            let body = json!({ "flagKey": "hot", "context": { "targetingKey": "u1" } });
            while !is_over.load(Ordering::Relaxed) {
                match http.post(&url).bearer_auth(&key).json(&body).send().await {
                    Ok(answer) if answer.status() == 200 => {
                        answered.fetch_add(1, Ordering::Relaxed);
                    }
                    // 404: the edge does not have the flag yet; it counts what it knows.
                    Ok(answer) => assert!(matches!(answer.status().as_u16(), 404 | 503), "{answer:?}"),
                    // The edge is being restarted.
                    Err(_) => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
                }
            }
        }));
    }
    for update in 1..=UPDATES {
        product.serve("hot", &format!("v{}", update % 2), update).await;
        if update == UPDATES / 2 {
            tokio::task::block_in_place(|| product.stack.edges[0].restart()).expect("an edge that stops and starts");
        }
    }
    is_over.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.expect("a client that saw no wrong answer");
    }
    let total = answered.load(Ordering::Relaxed);
    assert!(total > UPDATES, "{total}");
    product.wait_for_total("hot", total).await;
    let flag = product.api(reqwest::Method::GET, "/flags/hot", None, None).await;
    assert_eq!(flag["environments"][2]["version"], UPDATES + 1);
    report(&format!("{total} evaluations answered and counted during {UPDATES} updates"));
}

//! Every dependency may be slow, gone, or back again; what was committed arrives, and edges answer throughout.

use serde_json::json;
use tokio::task::block_in_place;
use xtask::stack::{Options, postgres};

use crate::support::{Product, Watch};

async fn start(options: &Options) -> Product {
    let product = Product::start(options).await;
    product.create_flag("hot").await;
    product.wait_for_variant("hot", "v0").await;
    product
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_changed_while_nats_was_gone_arrives_when_it_is_back() {
    let mut product = start(&Options::default()).await;
    let watch = Watch::over(&product, 0..2);
    for change in 1..=30_u64 {
        match change {
            10 => block_in_place(|| product.stack.nats.stop()).expect("NATS stops"),
            20 => block_in_place(|| product.stack.nats.start()).expect("NATS starts"),
            _ => {}
        }
        product.serve("hot", &format!("v{}", change % 2), change).await;
    }
    product.serve("hot", "v1", 31).await;
    product.wait_for_variant("hot", "v1").await;
    watch.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_nats_store_is_refilled_and_edges_answer_throughout() {
    let mut product = start(&Options::default()).await;
    let watch = Watch::over(&product, 0..2);
    block_in_place(|| {
        product.stack.nats.stop()?;
        product.stack.nats.delete_data()?;
        product.stack.nats.start()
    })
    .expect("NATS comes back empty");
    product.serve("hot", "v1", 1).await;
    product.wait_for_variant("hot", "v1").await;
    watch.end().await;
    // A new edge finds everything, not only what was changed since.
    block_in_place(|| product.stack.add_edge().and_then(|edge| edge.start())).expect("a third edge");
    product.wait_for_variant("dark-mode", "on").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_was_committed_but_not_published_is_published_after_a_crash() {
    let mut product = start(&Options::default()).await;
    // Without NATS nothing can be published, so the crash comes between commit and publish.
    block_in_place(|| product.stack.nats.stop()).expect("NATS stops");
    product.serve("hot", "v1", 1).await;
    block_in_place(|| {
        product.stack.backend.kill()?;
        product.stack.nats.start()?;
        product.stack.backend.start()
    })
    .expect("a crash and a restart");
    product.wait_for_variant("hot", "v1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edge_restarted_with_everything_gone_answers_from_disk_and_says_that_it_is_stale() {
    let options = Options { own_postgres: true, ..Options::default() };
    let mut product = start(&options).await;
    let before = product.evaluate(0, "hot", "u1").await.expect("an answer");
    block_in_place(|| {
        product.stack.backend.kill()?;
        product.stack.postgres.as_mut().expect("its own PostgreSQL").stop()?;
        product.stack.nats.stop()?;
        product.stack.edges[0].restart()
    })
    .expect("everything behind the edge stops");
    let after = product.evaluate(0, "hot", "u1").await.expect("an answer");
    assert_eq!((after.status, &after.body["value"]), (200, &before.body["value"]), "{after:?}");
    assert_eq!(after.body["metadata"]["stale"], true, "{after:?}");
    assert!(product.stack.edges[0].is_ready().is_err());

    block_in_place(|| {
        product.stack.postgres.as_mut().expect("its own PostgreSQL").start()?;
        product.stack.nats.start()?;
        product.stack.backend.start()?;
        product.stack.wait_until_ready()
    })
    .expect("everything comes back");
    product.serve("hot", "v1", 1).await;
    product.wait_for_variant("hot", "v1").await;
    let fresh = product.evaluate(0, "hot", "u1").await.expect("an answer");
    assert_eq!(fresh.body["metadata"].get("stale"), None, "{fresh:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_flag_is_off_on_every_edge_and_a_revoked_key_is_refused_for_good() {
    let mut product = start(&Options::default()).await;
    let kill = json!({ "environments": ["production"], "reason": "payments fail" });
    product.api(reqwest::Method::POST, "/flags/new-payments/kill", None, Some(kill)).await;
    product.wait_for_variant("new-payments", "off").await;
    product
        .api(reqwest::Method::POST, "/flags/new-payments/environments/production/restore", None, Some(json!({})))
        .await;
    product.wait_for_variant("new-payments", "on").await;

    let keys = product.api(reqwest::Method::GET, "/keys", None, None).await;
    let production = keys["items"].as_array().expect("keys").iter().find(|key| key["environment"] == "production");
    let id = production.expect("a key")["id"].as_str().expect("an id").to_owned();
    product.api(reqwest::Method::POST, &format!("/keys/{id}/revoke"), None, Some(json!({}))).await;
    for edge in 0..2 {
        product
            .wait_for("the key is refused", || async {
                product.evaluate(edge, "hot", "u1").await.is_ok_and(|answer| answer.status == 401)
            })
            .await;
    }
    block_in_place(|| {
        product.stack.nats.stop()?;
        product.stack.edges[0].restart()
    })
    .expect("an edge without NATS");
    assert_eq!(product.evaluate(0, "hot", "u1").await.expect("an answer").status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_that_was_stopped_and_started_counts_every_edge_once() {
    let mut product = start(&Options::default()).await;
    let address = format!("{}/api/v1/edges", product.stack.backend.url());
    // Edges that were written down are the ones that could stay as ghosts; those of the second round live too shortly.
    let programs = postgres::programs().expect("PostgreSQL");
    product
        .wait_for("both edges are written down", || async {
            let sql = "select count(*) from edges where gone_at is null";
            block_in_place(|| postgres::query(&programs, &product.stack.postgres_url, sql))
                .is_ok_and(|n| n.trim() == "2")
        })
        .await;
    for _ in 0..3 {
        block_in_place(|| {
            product.stack.edges[0].stop()?;
            product.stack.edges[1].kill()?;
            product.stack.backend.stop()?;
            product.stack.backend.start()?;
            product.stack.edges.iter_mut().try_for_each(|edge| edge.start())?;
            product.stack.wait_until_ready()
        })
        .expect("everything stops and starts");
        product
            .wait_for("two edges, both live", || async {
                let edges = product.get(&address).await;
                let items = edges["items"].as_array().cloned().unwrap_or_default();
                items.len() == 2 && items.iter().all(|edge| edge["state"] == "live")
            })
            .await;
    }
}

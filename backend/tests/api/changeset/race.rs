//! Two people at the same moment.

use futures::future::join_all;
use serde_json::json;

use super::{CHANGESETS, Shop, approve, request, turn_on};

async fn applied(shop: &Shop) -> i64 {
    let count = sqlx::query_scalar("select count(*) from changesets where changes is not null and state = 'applied'");
    count.fetch_one(&shop.app.state.pool).await.expect("a count")
}

#[tokio::test]
async fn approvals_at_once_apply_it_once() {
    let shop = Shop::start().await;
    for version in 1..=5 {
        let mut change = turn_on("production", version);
        change["config"]["enabled"] = json!(version % 2 == 1);
        let path = request(&shop.eve, vec![change]).await;
        let answers =
            join_all([approve(&shop.ben, &path), approve(&shop.chen, &path), approve(&shop.ana, &path)]).await;
        let (done, late): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
        assert_eq!(done.len(), 1, "one of them comes first");
        assert!(late.iter().all(|answer| answer.code() == "wrong_state"), "{late:?}");
        assert_eq!(applied(&shop).await, i64::try_from(version).expect("a number"));
    }
    let revisions: Vec<i64> =
        sqlx::query_scalar("select revision from changesets where revision is not null order by 1")
            .fetch_all(&shop.app.state.pool)
            .await
            .expect("revisions");
    assert!(revisions.windows(2).all(|pair| pair[1] == pair[0] + 1), "{revisions:?}");
}

#[tokio::test]
async fn an_approval_beside_an_edit_never_applies_what_was_not_read() {
    let shop = Shop::start().await;
    for _ in 0..5 {
        let mut other = turn_on("production", 1);
        other["config"]["default_serve"]["variant"] = json!("off");
        let path = request(&shop.eve, vec![turn_on("production", 1)]).await;
        let seen = shop.ben.get(&path).await.expect(200).body;
        let version = seen["version"].as_u64().expect("a version");
        let approve_path = format!("{path}/approve");
        let approve = shop.ben.post(&approve_path, json!({ "digest": seen["digest"] }));
        let edit = shop.eve.put(&path, version, json!({ "changes": [other], "note": "because" }));
        let (approved, edited) = futures::join!(approve, edit);
        let now = shop.ben.get(&path).await.expect(200).body;
        match (approved.status, edited.status) {
            (200, 409) => {
                assert_eq!((&now["state"], &now["digest"]), (&json!("applied"), &seen["digest"]));
                break;
            }
            (409, 200) => {
                assert_eq!(
                    (approved.code(), &now["state"], &now["approvals"]),
                    ("changed", &json!("in_review"), &json!([]))
                );
            }
            other => panic!("{other:?}: {} {}", approved.body, edited.body),
        }
        shop.eve.post(&format!("{path}/cancel"), json!({})).await.expect(200);
    }
    assert!(shop.ben.get(&format!("{CHANGESETS}?state=in_review")).await.body["items"] == json!([]));
}

//! How things were.

use serde_json::json;
use time::Duration;

use crate::history::{CHECKOUT, off, revision, save, told};

#[tokio::test]
async fn a_flag_is_shown_as_it_was_at_every_revision() {
    let (_app, ana, [made, turned, renamed, killed]) = told().await;
    let at = |revision: u64| format!("{CHECKOUT}/at?revision={revision}");
    let first = ana.get(&at(made)).await.expect(200).body;
    assert_eq!(first["flag"]["name"], "checkout");
    assert_eq!(first["flag"]["environments"][2]["config"]["enabled"], false);
    let second = ana.get(&at(turned)).await.expect(200).body["flag"].clone();
    let production = &second["environments"][2];
    assert_eq!((&production["config"]["enabled"], &production["note"]), (&json!(true), &json!("for everybody")));
    assert_eq!((&production["version"], production.get("kill")), (&json!(2), None));
    assert_eq!(ana.get(&at(renamed)).await.expect(200).body["flag"]["name"], "Checkout page");
    let last = ana.get(&at(killed)).await.expect(200).body["flag"].clone();
    assert_eq!(last["environments"][2]["kill"]["reason"], "payments fail");
    // As it was last is as it is.
    let now = ana.get(CHECKOUT).await.expect(200).body;
    for field in ["id", "definition", "name", "description", "tags", "version", "created_by"] {
        assert_eq!(last[field], now[field], "{field}");
    }
    for (then, now) in
        last["environments"].as_array().expect("then").iter().zip(now["environments"].as_array().expect("now"))
    {
        for field in ["environment", "config", "version", "note"] {
            assert_eq!(then[field], now[field], "{field}");
        }
    }
    ana.get(&at(made - 1)).await.expect(404);
    ana.get(&at(99_999)).await.expect(404);
    assert_eq!(ana.get(&format!("{CHECKOUT}/at")).await.expect(422).fields(), ["revision"]);
}

#[tokio::test]
async fn a_flag_is_shown_as_it_was_at_a_time() {
    let (app, ana, [.., killed]) = told().await;
    let before =
        ana.get(&format!("/projects/shop/history/{killed}")).await.body["at"].as_str().expect("a time").to_owned();
    app.state.clock.advance(Duration::hours(1));
    save(&ana, 2, off(), "").await;
    let then = ana.get(&format!("{CHECKOUT}/at?at={before}")).await.expect(200).body;
    assert_eq!(then["revision"], killed);
    assert_eq!(then["flag"]["environments"][2]["config"]["default_serve"], json!({ "variant": "on" }));
    ana.get(&format!("{CHECKOUT}/at?at=2001-01-01T00:00:00Z")).await.expect(404);
}

#[tokio::test]
async fn what_is_archived_or_gone_is_shown_as_it_was() {
    let (app, ana, [made, ..]) = told().await;
    sqlx::query("update flags set archived_at = now()").execute(&app.state.pool).await.expect("an archived flag");
    assert_ne!(ana.get(CHECKOUT).await.expect(200).body["archived_at"], json!(null));
    assert_eq!(ana.get(&format!("{CHECKOUT}/at?revision={made}")).await.expect(200).body["flag"]["name"], "checkout");

    let segment = json!({ "definition": { "key": "staff", "included": ["ben"] }, "name": "Staff" });
    let born = revision(&ana.post("/projects/shop/segments", segment).await.expect(201).body);
    let gone = revision(&ana.delete("/projects/shop/segments/staff").await.expect(200).body);
    let path = "/projects/shop/segments/staff/at?revision=";
    let then = ana.get(&format!("{path}{born}")).await.expect(200).body;
    assert_eq!(then["segment"]["definition"]["included"], json!(["ben"]));
    ana.get(&format!("{path}{gone}")).await.expect(404);
}

#[tokio::test]
async fn any_two_revisions_of_a_flag_are_compared() {
    let (_app, ana, [made, turned, renamed, killed]) = told().await;
    let diff = |from: u64, to: u64| format!("{CHECKOUT}/diff?from={from}&to={to}");
    let found = ana.get(&diff(made, killed)).await.expect(200).body;
    assert_eq!(found["sentences"], json!(["~ Name: checkout → Checkout page", "+ Tags: web"]));
    let production = &found["environments"][0];
    assert_eq!(found["environments"].as_array().expect("environments").len(), 1, "the others are the same");
    let lines = production["sentences"].as_array().expect("lines");
    assert!(lines.contains(&json!("~ Turned on")) && lines.contains(&json!("− Killed: payments fail")), "{lines:?}");
    assert_eq!((&production["before"]["enabled"], &production["after"]["enabled"]), (&json!(false), &json!(true)));
    let back = ana.get(&diff(killed, turned)).await.expect(200).body;
    assert_eq!(back["environments"][0]["sentences"], json!(["+ Kill lifted"]));
    let none = ana.get(&diff(renamed, renamed)).await.expect(200).body;
    assert_eq!((&none["sentences"], &none["environments"]), (&json!([]), &json!([])));
    ana.get(&diff(made, 99_999)).await.expect(404);
}

//! What whoever holds the machine can do.

use std::process::{Command, Output};

use serde_json::json;

use crate::flag::on;
use crate::history::{CHECKOUT, off, protect, save, told};
use crate::support::App;

fn run(app: &App, arguments: &[&str]) -> (Output, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_fluxgate-backend"))
        .env_clear()
        .env("BACKEND_DATABASE__URL", &app.state.config.database.url)
        .env("BACKEND_AUTH__SECRET", &app.state.config.auth.secret)
        .current_dir(std::env::temp_dir())
        .args(arguments)
        .output()
        .expect("the backend runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output, text)
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_audit_prints_heads_and_fails_when_something_was_changed() {
    let (app, _, [_, turned, ..]) = told().await;
    let (output, text) = run(&app, &["verify-audit"]);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("history: 5 hold, from r1 to r5; head ") && text.contains("audit: "), "{text}");
    let head = text.split("head ").nth(1).and_then(|rest| rest.get(..64)).expect("a head").to_owned();
    assert_eq!(run(&app, &["verify-audit", "--head", &head]).0.status.code(), Some(0));
    let (output, text) = run(&app, &["verify-audit", "--head", &"0".repeat(64)]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("in neither chain"), "{text}");

    sqlx::query("update changesets set note = 'harmless' where revision = $1")
        .bind(i64::try_from(turned).expect("a number"))
        .execute(&app.state.pool)
        .await
        .expect("an update");
    let (output, text) = run(&app, &["verify-audit"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains(&format!("FIRST BAD: r{turned}: its changeset was changed")), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unprotect_ends_a_protection_and_stays_red_in_history() {
    let (app, ana, _) = told().await;
    app.member("Ben", Some("approver")).await;
    app.member("Chen", Some("editor")).await;
    protect(&app).await;
    assert_eq!(save(&ana, 2, on(), "").await["state"], "applied", "nothing changes, so nobody is asked");
    let waiting = save(&ana, 3, off(), "").await;
    assert_eq!(waiting["state"], "in_review");

    let place = ["unprotect", "--project", "shop", "--environment", "production", "--reason"];
    let (output, text) = run(&app, &[&place[..], &["nobody else is left"]].concat());
    assert!(output.status.success(), "{text} {}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(save(&ana, 3, off(), "").await["state"], "applied");
    let item = ana.get("/projects/shop/history?kind=policy&limit=1").await.expect(200).body["items"][0].clone();
    assert_eq!((&item["via"], &item["break_glass"]), (&json!("command"), &json!("nobody else is left")));
    assert_eq!(item["entries"][0]["sentences"], json!(["− No longer protected"]));
    assert_eq!(item.get("who"), None);
    assert_eq!(ana.get(CHECKOUT).await.body["environments"][2]["version"], 4);

    for (reason, environment) in [("again", "production"), (" ", "production"), ("x", "nowhere")] {
        let (output, _) =
            run(&app, &["unprotect", "--project", "shop", "--environment", environment, "--reason", reason]);
        assert_eq!(output.status.code(), Some(1), "{environment} {reason}");
    }
}

//! The product in a real browser, as a person of a product team uses it.

pub(crate) mod driver;
mod engine;

use std::time::Instant;

use serde_json::json;
use xtask::stack::Options;

use crate::support::{Product, report};
use driver::Browser;

/// Keys asked at both edges.
const KEYS: u32 = 2_000;

async fn sign_in(browser: &Browser, product: &Product) {
    browser.go(&format!("{}/p/{}/flags", product.stack.backend.url(), product.stack.demo.project)).await;
    browser.fill("E-mail", &product.stack.demo.email).await;
    let password = browser.find("textbox", "Password").await;
    password.send_keys(&product.stack.demo.password).await.expect("keys");
    browser.press("button", "Sign in").await;
    browser.find("table", "Flags").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flag_turned_on_for_a_tenth_in_the_browser_is_answered_by_both_edges_and_counted() {
    let product = Product::start(&Options::default()).await;
    product.unprotect().await;
    let browser = Browser::start().await;
    browser.go(product.stack.backend.url()).await;
    browser.find("button", "Sign in").await;
    browser.check_screen("sign-in").await;
    sign_in(&browser, &product).await;
    browser.check_screen("flag list").await;

    browser.press("link", "New flag").await;
    browser.fill("Name", "Newest checkout").await;
    browser.check_screen("new flag").await;
    browser.press("button", "Create newest-checkout").await;
    browser.find("heading", "newest-checkout").await;
    assert!(browser.address().await.contains("env=production"), "{}", browser.address().await);

    browser.press("button", "Edit Default").await;
    browser.press("radio", "shares of users").await;
    browser.fill("Share of on", "10").await;
    browser.check_screen("flag page while editing").await;
    browser.press("button", "Turn on…").await;
    browser.find("dialog", "Review: newest-checkout in production").await;
    browser.check_screen("review").await;
    browser.fill("Note", "a tenth first").await;
    browser.press("button", "Save to production").await;
    browser.wait_for_text("live on 2 of 2 edges").await;
    browser.wait_for_text("a tenth first").await;

    let mut on = 0;
    for user in 0..KEYS {
        let user = format!("user-{user}");
        let first = product.evaluate(0, "newest-checkout", &user).await.expect("an answer");
        let second = product.evaluate(1, "newest-checkout", &user).await.expect("an answer");
        assert_eq!((first.status, &first.body["value"]), (200, &second.body["value"]), "{user}");
        on += u32::from(first.body["value"] == true);
    }
    // Five standard deviations: the seed is random.
    let share = f64::from(on) / f64::from(KEYS) * 100.0;
    assert!((share - 10.0).abs() <= 3.5, "{share} %");

    let asked = Instant::now();
    browser.wait_for_text("4,000 evaluations in production, last 1 h").await;
    product.wait_for_total("newest-checkout", u64::from(2 * KEYS)).await;
    report(&format!("counts were on the chart after {:?}", asked.elapsed()));
    browser.wait_for_text(&format!("on {} (", 2 * on)).await;
    browser.check_screen("flag page").await;
    assert_eq!(browser.errors().await, Vec::<String>::new());
    browser.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_loses_nothing_and_a_kill_is_off_on_both_edges() {
    let product = Product::start(&Options::default()).await;
    product.unprotect().await;
    let browser = Browser::start().await;
    sign_in(&browser, &product).await;
    let base = format!("{}/p/{}", product.stack.backend.url(), product.stack.demo.project);
    browser.go(&format!("{base}/flags/dark-mode?env=production")).await;
    browser.press("button", "Turn off…").await;
    browser.find("dialog", "Review: dark-mode in production").await;

    // A colleague is faster.
    let config = json!({ "enabled": true, "off_variant": "off", "default_serve": { "variant": "off" } });
    let body = json!({ "config": config, "note": "dark for nobody" });
    product.api(reqwest::Method::PUT, "/flags/dark-mode/environments/production", Some(1), Some(body)).await;
    browser.wait_for_text("dark for nobody").await;
    browser.wait_for_text("Turned off").await;
    browser.check_screen("conflict").await;
    browser.press("button", "Keep mine").await;
    browser.press("button", "Save to production").await;
    browser.wait_for_text("live on 2 of 2 edges").await;
    product
        .wait_for("the flag is off", || async {
            product.evaluate(1, "dark-mode", "u1").await.is_ok_and(|answer| answer.body["reason"] == "DISABLED")
        })
        .await;

    browser.go(&format!("{base}/flags/new-payments?env=production&do=kill")).await;
    browser.find("alertdialog", "Kill new-payments").await;
    browser.check_screen("kill").await;
    browser.fill("Reason", "payments fail").await;
    browser.press("button", "Kill in production").await;
    browser.wait_for_text("payments fail").await;
    product.wait_for_variant("new-payments", "off").await;
    browser.check_screen("killed flag").await;
    browser.press("button", "Restore now").await;
    product.wait_for_variant("new-payments", "on").await;

    for (page, heading) in [("keys", "SDK keys"), ("new-flag", "New flag")] {
        browser.go(&format!("{base}/{page}")).await;
        browser.find("heading", heading).await;
        browser.check_screen(heading).await;
    }
    browser.go(&format!("{}/edges", product.stack.backend.url())).await;
    browser.find("heading", "Edges").await;
    browser.wait_for_text("edge-2").await;
    browser.check_screen("edges").await;
    browser.go(&format!("{base}/nowhere")).await;
    browser.check_screen("unknown address").await;
    assert_eq!(browser.errors().await, Vec::<String>::new());
    browser.end().await;
}

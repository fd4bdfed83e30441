//! Sending: once per event, in order, signed by the right secrets, seen in the log.

use std::sync::Arc;

use backend::leader::webhook::send::Sender;
use backend::leader::webhook::{self, attempt, outbox};
use backend::store;
use serde_json::{Value, json};
use time::Duration;
use tokio::sync::Notify;

use super::{WEBHOOKS, flag, kinds, make, newest, pass, patch, sender, start};
use crate::support::{Receiver, Reply};

#[tokio::test]
async fn events_arrive_in_the_order_of_their_revisions() {
    let (app, ana, sender) = start().await;
    let mut receiver = Receiver::start().await;
    make(&ana, &receiver, json!({ "event_types": ["changeset.applied"] })).await;
    for n in 0..12 {
        flag(&ana, &format!("flag-{n}")).await;
    }
    pass(&app, &sender).await;
    let revisions: Vec<u64> =
        receiver.received().iter().map(|r| r.body["data"]["revision"].as_u64().expect("a number")).collect();
    assert!(revisions.len() == 12 && revisions.is_sorted(), "{revisions:?}");
}

#[tokio::test]
async fn two_leaders_at_once_make_each_delivery_once() {
    let (app, ana, _) = start().await;
    let receiver = Receiver::start().await;
    make(&ana, &receiver, json!({})).await;
    for n in 0..5 {
        flag(&ana, &format!("flag-{n}")).await;
    }
    let state = &app.state;
    let made = tokio::join!(outbox::fan_out(state), outbox::fan_out(state), outbox::fan_out(state));
    assert!(made.0.is_ok() && made.1.is_ok() && made.2.is_ok(), "{made:?}");
    let (all, different): (i64, i64) =
        sqlx::query_as("select count(*), count(distinct event_key) from webhook_deliveries")
            .fetch_one(&app.state.pool)
            .await
            .expect("counts");
    assert_eq!((all, different), (10, 10));
}

#[tokio::test]
async fn a_leader_that_stops_between_sending_and_writing_sends_again_with_the_same_id() {
    let (app, ana, sender) = start().await;
    let mut receiver = Receiver::start().await;
    make(&ana, &receiver, json!({ "event_types": ["flag.created"] })).await;
    flag(&ana, "checkout").await;
    outbox::fan_out(&app.state).await.expect("deliveries");
    let mut db = app.state.pool.acquire().await.expect("a connection");
    let due = store::webhook::attempt::list_due(&mut db, &[], 8, 4, app.state.clock.now()).await.expect("what is due");
    drop(attempt::send(&app.state, &sender, &due[0]).await);
    pass(&app, &sender).await;
    let received = receiver.received();
    assert_eq!(received.len(), 2);
    assert_eq!(received[0].header("webhook-id"), received[1].header("webhook-id"));
    // What the stopped leader would have written comes too late.
    let late = attempt::send(&app.state, &sender, &due[0]).await;
    attempt::write_down(&app.state, &due[0], &late).await.expect("nothing to write");
    assert_eq!(pass(&app, &sender).await, 0);
    let attempts: i64 =
        sqlx::query_scalar("select count(*) from webhook_attempts").fetch_one(&app.state.pool).await.expect("a count");
    assert_eq!(attempts, 1);
}

#[tokio::test]
async fn after_a_rotation_both_secrets_sign_for_a_day() {
    let (app, ana, sender) = start().await;
    let mut receiver = Receiver::start().await;
    let (path, old) = make(&ana, &receiver, json!({ "event_types": ["flag.created"] })).await;
    let rotated = ana.post(&format!("{path}/rotate"), json!({})).await.expect(200).body;
    let new = rotated["secret"].as_str().expect("a secret");
    assert!(rotated["webhook"]["previous_secret_until"].is_string());
    flag(&ana, "one").await;
    pass(&app, &sender).await;
    app.state.clock.advance(Duration::hours(24));
    let ana = app.again("Ana").await;
    flag(&ana, "two").await;
    pass(&app, &sender).await;
    let received = receiver.received();
    let signed: Vec<(usize, bool, bool)> = received
        .iter()
        .map(|r| (r.header("webhook-signature").split(' ').count(), r.is_signed_by(new), r.is_signed_by(&old)))
        .collect();
    assert_eq!(signed, [(2, true, true), (1, true, false)]);
}

#[tokio::test]
async fn a_receiver_that_hangs_holds_up_nobody_else() {
    let (app, ana, sender) = start().await;
    let (mut slow, mut quick) = (Receiver::start().await, Receiver::start().await);
    make(&ana, &slow, json!({ "event_types": ["flag.created"] })).await;
    make(&ana, &quick, json!({ "event_types": ["flag.created"] })).await;
    let wait = Arc::new(Notify::new());
    slow.reply([Reply { wait: Some(wait.clone()), ..Reply::status(204) }]);
    let task = tokio::spawn(webhook::drive(app.state.clone(), Arc::new(sender)));
    flag(&ana, "one").await;
    slow.next().await;
    flag(&ana, "two").await;
    assert_eq!(quick.next().await.body["data"]["flag"], "one");
    assert_eq!(quick.next().await.body["data"]["flag"], "two");
    // One at a time, so that order is kept.
    assert!(slow.received().is_empty());
    wait.notify_one();
    assert_eq!(slow.next().await.body["data"]["flag"], "two");
    task.abort();
}

#[tokio::test]
async fn a_test_is_sent_once_whatever_the_filter_and_while_switched_off() {
    let (app, ana, sender) = start().await;
    let mut receiver = Receiver::start().await;
    let (path, secret) = make(&ana, &receiver, json!({ "event_types": ["flag.archived"] })).await;
    patch(&ana, &path, json!({ "enabled": false })).await;
    receiver.reply([Reply { body: "x".repeat(5_000), ..Reply::status(500) }]);
    let made = ana.post(&format!("{path}/test"), json!({})).await.expect(202).body;
    assert_eq!(made["delivery"]["state"], "pending");
    pass(&app, &sender).await;
    app.state.clock.advance(Duration::days(2));
    assert_eq!(pass(&app, &sender).await, 0);
    let ana = app.again("Ana").await;
    let received = receiver.received();
    assert_eq!(kinds(&received), ["webhook.test"]);
    assert!(received[0].is_signed_by(&secret));
    let seen = newest(&ana, &path).await;
    assert_eq!((&seen["delivery"]["state"], &seen["delivery"]["status"]), (&json!("failed"), &json!(500)));
    assert_eq!(seen["body"], received[0].text);
    assert_eq!(seen["attempts"][0]["response"].as_str().map(str::len), Some(2_048));
    let webhook = ana.get(&path).await.body;
    assert_eq!(webhook["last_delivery"]["event_type"], "webhook.test");
}

#[tokio::test]
async fn what_was_sent_is_listed_in_pages_and_sent_again_under_its_id() {
    let (app, ana, sender) = start().await;
    let mut receiver = Receiver::start().await;
    let (path, _) = make(&ana, &receiver, json!({ "event_types": ["flag.created"] })).await;
    for n in 0..5 {
        flag(&ana, &format!("flag-{n}")).await;
    }
    pass(&app, &sender).await;
    let first = ana.get(&format!("{path}/deliveries?limit=3")).await.expect(200).body;
    let next = first["next"].as_str().expect("another page");
    let second = ana.get(&format!("{path}/deliveries?limit=3&after={next}")).await.expect(200).body;
    assert_eq!((first["items"].as_array().map(Vec::len), second["items"].as_array().map(Vec::len)), (Some(3), Some(2)));
    assert!(second.get("next").is_none());
    let oldest = &second["items"][1];
    assert_eq!(
        (&oldest["state"], &oldest["attempts"], &oldest["status"]),
        (&json!("delivered"), &json!(1), &json!(204))
    );

    let sent = receiver.received();
    let again = format!("{path}/deliveries/{}/send-again", oldest["id"].as_str().expect("an id"));
    assert_eq!(ana.post(&again, json!({})).await.expect(202).body["delivery"]["state"], "pending");
    pass(&app, &sender).await;
    let repeated = receiver.received();
    assert_eq!(repeated.len(), 1);
    assert_eq!(repeated[0].header("webhook-id"), sent[0].header("webhook-id"));
    assert_eq!(repeated[0].header("webhook-id"), oldest["message_id"]);
    assert_eq!(repeated[0].text, sent[0].text);
    patch(&ana, &path, json!({ "enabled": false })).await;
    ana.post(&again, json!({})).await.expect(422);
}

#[tokio::test]
async fn a_webhook_that_is_off_hears_nothing_also_not_later() {
    let (app, ana, sender) = start().await;
    let mut receiver = Receiver::start().await;
    let (path, _) = make(&ana, &receiver, json!({ "event_types": ["flag.created"] })).await;
    flag(&ana, "waits").await;
    outbox::fan_out(&app.state).await.expect("a delivery");
    let off = patch(&ana, &path, json!({ "enabled": false })).await;
    assert_eq!((&off["pending"], &off["last_delivery"]["state"]), (&json!(0), &json!("failed")));
    flag(&ana, "missed").await;
    pass(&app, &sender).await;
    patch(&ana, &path, json!({ "enabled": true, "url": receiver.url() })).await;
    flag(&ana, "heard").await;
    pass(&app, &sender).await;
    let flags: Vec<Value> = receiver.received().into_iter().map(|r| r.body["data"]["flag"].clone()).collect();
    assert_eq!(flags, ["heard"]);
    ana.delete(&path).await.expect(204);
    assert_eq!(ana.get(WEBHOOKS).await.body["items"], json!([]));
    assert_eq!(pass(&app, &sender).await, 0);
}

#[tokio::test]
async fn the_log_is_bounded_by_time_and_number() {
    let (app, ana, sender) = start().await;
    let receiver = Receiver::start().await;
    let (path, _) = make(&ana, &receiver, json!({ "event_types": ["flag.created"] })).await;
    flag(&ana, "old").await;
    pass(&app, &sender).await;
    let many = "insert into webhook_deliveries (id, webhook_id, event_key, type, body, state, created_at)
                select gen_random_uuid(), webhooks.id, 'x' || n, 'flag.created', '{}', 'delivered', now() + interval '31 days'
                from webhooks, generate_series(1, 1005) n";
    sqlx::raw_sql(many).execute(&app.state.pool).await.expect("deliveries");
    let waiting = "insert into webhook_deliveries (id, webhook_id, event_key, type, body, created_at, due_at)
                   select gen_random_uuid(), id, 'waits', 'flag.created', '{}', '2020-01-01Z', '2040-01-01Z' from webhooks";
    sqlx::raw_sql(waiting).execute(&app.state.pool).await.expect("a delivery");
    app.state.clock.advance(Duration::days(31));
    webhook::upkeep::pass(&app.state, app.state.clock.now()).await.expect("a pass");
    let left: Vec<(String, i64)> =
        sqlx::query_as("select state, count(*) from webhook_deliveries group by state order by state")
            .fetch_all(&app.state.pool)
            .await
            .expect("counts");
    assert_eq!(left, [("delivered".to_owned(), 999), ("pending".to_owned(), 1)]);

    sqlx::raw_sql("update webhook_deliveries set state = 'pending', due_at = '2040-01-01Z'")
        .execute(&app.state.pool)
        .await
        .expect("deliveries that wait");
    let more = "insert into webhook_deliveries (id, webhook_id, event_key, type, body, created_at, due_at)
                select gen_random_uuid(), id, 'y' || n, 'flag.created', '{}', now(), '2040-01-01Z'
                from webhooks, generate_series(1, 9500) n";
    sqlx::raw_sql(more).execute(&app.state.pool).await.expect("deliveries");
    webhook::upkeep::pass(&app.state, app.state.clock.now()).await.expect("a pass");
    let ana = app.again("Ana").await;
    let webhook = ana.get(&path).await.body;
    assert_eq!((&webhook["enabled"], &webhook["pending"]), (&json!(false), &json!(0)));
    assert_eq!(webhook["disabled_reason"], "more than 10000 events waited for it");
}

#[tokio::test]
async fn what_became_of_sending_is_counted() {
    let (app, ana, _) = start().await;
    let sender = sender(&app);
    let receiver = Receiver::start().await;
    make(&ana, &receiver, json!({ "event_types": ["flag.created"] })).await;
    receiver.reply([Reply::status(500)]);
    flag(&ana, "one").await;
    flag(&ana, "two").await;
    pass(&app, &sender).await;
    let text = app.state.metrics.render(&app.state.pool).expect("metrics");
    for result in ["delivered", "failed"] {
        let line = format!("fluxgate_backend_webhook_deliveries_total{{result=\"{result}\"}} 1");
        assert!(text.contains(&line), "{text}");
    }
}

#[tokio::test]
async fn a_receiver_behind_tls_is_told_only_when_its_certificate_is_trusted() {
    let (app, ana, _) = start().await;
    let (mut receiver, certificate) = Receiver::start_behind_tls().await;
    let (path, secret) = make(&ana, &receiver, json!({ "event_types": ["flag.created"] })).await;
    let url = format!("https://localhost:{}/hook", receiver.address.port());
    patch(&ana, &path, json!({ "url": url })).await;
    flag(&ana, "checkout").await;
    let settings = &app.state.config.webhooks;
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    pass(&app, &Sender::trusting(settings, vec![other.cert.der().clone()])).await;
    let problem = newest(&ana, &path).await["delivery"]["problem"].clone();
    assert!(problem.as_str().is_some_and(|text| text.contains("certificate")), "{problem}");
    app.state.clock.advance(Duration::seconds(6));
    pass(&app, &Sender::trusting(settings, vec![certificate])).await;
    let received = receiver.received();
    assert!(received.len() == 1 && received[0].is_signed_by(&secret));
}

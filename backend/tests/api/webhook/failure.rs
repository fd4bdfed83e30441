//! Receivers that fail: retries at their times, pauses, redirects, networks of others, and when enough is enough.

use std::sync::Arc;

use backend::config::Webhooks;
use backend::leader::webhook::outbox;
use backend::leader::webhook::retry;
use backend::leader::webhook::send::Sender;
use backend::store::webhook::attempt::list_due;
use serde_json::{Value, json};
use shared::model::id::DeliveryId;
use time::{Duration, OffsetDateTime};
use tokio::sync::Notify;

use super::{flag, make, newest, pass, start};
use crate::support::{App, Receiver, Reply};

/// Failures, the time of the last attempt and of the next of the only delivery.
async fn only(app: &App) -> (DeliveryId, i32, OffsetDateTime, Option<OffsetDateTime>) {
    let row: (uuid::Uuid, i32, OffsetDateTime, Option<OffsetDateTime>) = sqlx::query_as(
        "select id, failures, (select max(at) from webhook_attempts where delivery_id = id), due_at
         from webhook_deliveries",
    )
    .fetch_one(&app.state.pool)
    .await
    .expect("one delivery");
    (row.0.into(), row.1, row.2, row.3)
}

#[tokio::test]
async fn what_failed_is_sent_again_at_its_times_ten_times_in_all() {
    let (app, ana, sender) = start().await;
    let mut receiver = Receiver::start().await;
    let (path, _) = make(&ana, &receiver, json!({ "event_types": ["flag.created"] })).await;
    receiver.reply(vec![Reply::status(500); 10]);
    flag(&ana, "checkout").await;
    let mut ids = Vec::new();
    let mut timestamps = Vec::new();
    let waits = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
    for failures in 1..=10 {
        assert_eq!(pass(&app, &sender).await, 1, "attempt {failures}");
        let received = receiver.received().pop().expect("a request");
        ids.push(received.header("webhook-id").to_owned());
        timestamps.push(received.header("webhook-timestamp").parse::<i64>().expect("seconds"));
        let (id, failed, at, due_at) = only(&app).await;
        assert_eq!(failed, failures);
        assert_eq!(*timestamps.last().expect("a time"), at.unix_timestamp());
        let Some(wait) = waits.get(usize::try_from(failures).expect("a count") - 1) else {
            assert_eq!(due_at, None);
            break;
        };
        let due_at = due_at.expect("a retry");
        // Counted from when the answer was there, so a little later than from when it was sent.
        let planned = retry::next(id, usize::try_from(failures).expect("a count"), at).expect("a retry");
        assert!((Duration::ZERO..Duration::SECOND).contains(&(due_at - planned)), "{failures}: {}", due_at - planned);
        assert!(due_at - at >= Duration::seconds(*wait));
        // Not a moment earlier.
        app.state.clock.advance(due_at - app.state.clock.now() - Duration::seconds(1));
        assert_eq!(pass(&app, &sender).await, 0);
        app.state.clock.advance(Duration::seconds(1));
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert!(timestamps.is_sorted() && timestamps[9] - timestamps[0] >= 272_105);
    let ana = app.again("Ana").await;
    let seen = newest(&ana, &path).await;
    assert_eq!((&seen["delivery"]["state"], &seen["delivery"]["problem"]), (&json!("failed"), &json!("answered 500")));
    assert_eq!(seen["attempts"].as_array().map(Vec::len), Some(10));
    assert_eq!(ana.get(&path).await.body["enabled"], true);
}

#[tokio::test]
async fn while_one_waits_for_its_retry_later_ones_go_on() {
    let (app, ana, sender) = start().await;
    let mut receiver = Receiver::start().await;
    make(&ana, &receiver, json!({ "event_types": ["flag.created"] })).await;
    receiver.reply([Reply::status(500)]);
    flag(&ana, "one").await;
    flag(&ana, "two").await;
    pass(&app, &sender).await;
    app.state.clock.advance(Duration::seconds(6));
    pass(&app, &sender).await;
    let flags: Vec<Value> = receiver.received().into_iter().map(|r| r.body["data"]["flag"].clone()).collect();
    assert_eq!(flags, ["one", "two", "one"]);
}

#[tokio::test]
async fn a_receiver_with_too_much_to_do_is_left_alone_as_long_as_it_says_and_order_is_kept() {
    let (app, ana, sender) = start().await;
    let mut receiver = Receiver::start().await;
    let (path, _) = make(&ana, &receiver, json!({ "event_types": ["flag.created"] })).await;
    receiver.reply([Reply { headers: vec![("retry-after", "60".into())], ..Reply::status(429) }]);
    flag(&ana, "one").await;
    flag(&ana, "two").await;
    assert_eq!(pass(&app, &sender).await, 1);
    assert!(ana.get(&path).await.body["paused_until"].is_string());
    app.state.clock.advance(Duration::seconds(58));
    assert_eq!(pass(&app, &sender).await, 0);
    app.state.clock.advance(Duration::seconds(3));
    assert_eq!(pass(&app, &sender).await, 2);
    let flags: Vec<Value> = receiver.received().into_iter().map(|r| r.body["data"]["flag"].clone()).collect();
    assert_eq!(flags, ["one", "one", "two"]);
}

#[tokio::test]
async fn a_receiver_that_is_gone_is_switched_off_and_the_audit_says_so() {
    let (app, ana, sender) = start().await;
    let mut receiver = Receiver::start().await;
    let (path, _) = make(&ana, &receiver, json!({ "event_types": ["flag.created"] })).await;
    receiver.reply([Reply::status(410)]);
    flag(&ana, "one").await;
    flag(&ana, "two").await;
    assert_eq!(pass(&app, &sender).await, 1);
    assert_eq!(receiver.received().len(), 1);
    let webhook = ana.get(&path).await.body;
    assert_eq!((&webhook["enabled"], &webhook["pending"]), (&json!(false), &json!(0)));
    assert_eq!(webhook["disabled_reason"], "the receiver answered 410 Gone");
    let audit: i64 = sqlx::query_scalar(
        "select count(*) from audit_events
         where kind = 'webhook.disabled' and via = 'system' and actor_id is null and project_id is not null",
    )
    .fetch_one(&app.state.pool)
    .await
    .expect("a count");
    assert_eq!(audit, 1);
    // Switched on again it begins anew.
    let on = super::patch(&ana, &path, json!({ "enabled": true })).await;
    assert!(on["enabled"] == true && on.get("disabled_reason").is_none());
}

#[tokio::test]
async fn three_events_in_a_row_that_failed_for_good_switch_a_webhook_off() {
    let (app, ana, sender) = start().await;
    let receiver = Receiver::start().await;
    let (path, _) = make(&ana, &receiver, json!({ "event_types": ["flag.created"] })).await;
    receiver.reply(vec![Reply::status(500); 30]);
    for key in ["one", "two", "three"] {
        let ana = app.again("Ana").await;
        assert_eq!(ana.get(&path).await.body["enabled"], true);
        flag(&ana, key).await;
        for _ in 0..10 {
            pass(&app, &sender).await;
            app.state.clock.advance(Duration::hours(27));
        }
    }
    let webhook = app.again("Ana").await.get(&path).await.body;
    assert_eq!(webhook["enabled"], false);
    let reason = webhook["disabled_reason"].as_str().expect("a reason");
    assert_eq!(reason, "3 events in a row failed with all their retries; the last one: answered 500");
}

#[tokio::test]
async fn a_redirect_is_a_failure_and_nothing_is_sent_there() {
    let (app, ana, sender) = start().await;
    let (mut receiver, mut other) = (Receiver::start().await, Receiver::start().await);
    let (path, _) = make(&ana, &receiver, json!({ "event_types": ["flag.created"] })).await;
    receiver.reply([Reply { headers: vec![("location", other.url())], ..Reply::status(307) }]);
    flag(&ana, "checkout").await;
    pass(&app, &sender).await;
    assert_eq!((receiver.received().len(), other.received().len()), (1, 0));
    let problem = &newest(&ana, &path).await["delivery"]["problem"];
    assert_eq!(problem, "answered 307; redirects are not followed");
}

#[tokio::test]
async fn a_name_that_leads_to_this_machine_is_refused_when_it_is_sent_to() {
    let (app, ana, _) = start().await;
    let mut receiver = Receiver::start().await;
    let (path, _) = make(&ana, &receiver, json!({ "event_types": ["flag.created"] })).await;
    let named = format!("http://localhost:{}/", receiver.address.port());
    super::patch(&ana, &path, json!({ "url": named })).await;
    flag(&ana, "checkout").await;
    let careful = Sender::trusting(&Webhooks { allow_http: true, allow_private: false }, Vec::new());
    pass(&app, &careful).await;
    assert!(receiver.received().is_empty());
    let seen = newest(&ana, &path).await;
    let problem = seen["delivery"]["problem"].as_str().expect("a problem");
    assert!(problem.contains("not on the public internet") && !problem.contains("127.0.0.1"), "{problem}");
    assert_eq!(seen["delivery"]["state"], "pending");
}

#[tokio::test]
async fn no_answer_in_time_is_a_failure() {
    let (app, ana, sender) = start().await;
    let receiver = Receiver::start().await;
    let (path, _) = make(&ana, &receiver, json!({ "event_types": ["flag.created"] })).await;
    receiver.reply([Reply { wait: Some(Arc::new(Notify::new())), ..Reply::status(204) }]);
    flag(&ana, "checkout").await;
    outbox::fan_out(&app.state).await.expect("a delivery");
    pass(&app, &sender.with_timeout(std::time::Duration::from_millis(200))).await;
    let problem = newest(&ana, &path).await["delivery"]["problem"].clone();
    assert!(problem.as_str().is_some_and(|text| text.starts_with("no answer within")), "{problem}");
}

#[tokio::test]
async fn a_secret_of_another_installation_is_said_to_be_unreadable_and_nothing_is_sent_unsigned() {
    let (app, ana, sender) = start().await;
    let mut receiver = Receiver::start().await;
    let (path, _) = make(&ana, &receiver, json!({ "event_types": ["flag.created"] })).await;
    sqlx::raw_sql("update webhooks set secret = set_byte(secret, 20, (get_byte(secret, 20) + 1) % 256)")
        .execute(&app.state.pool)
        .await
        .expect("another secret");
    flag(&ana, "checkout").await;
    pass(&app, &sender).await;
    assert!(receiver.received().is_empty());
    let problem = newest(&ana, &path).await["delivery"]["problem"].clone();
    assert!(problem.as_str().is_some_and(|text| text.contains("another auth.secret")), "{problem}");
}

#[tokio::test]
async fn receivers_that_failed_last_time_leave_slots_to_the_others() {
    let (app, ana, _) = start().await;
    let receiver = Receiver::start().await;
    for _ in 0..12 {
        make(&ana, &receiver, json!({ "event_types": ["flag.created"] })).await;
    }
    let troubled = "update webhooks set is_troubled = true
                    where id in (select id from webhooks order by created_at, id limit 8)";
    sqlx::raw_sql(troubled).execute(&app.state.pool).await.expect("webhooks");
    flag(&ana, "checkout").await;
    outbox::fan_out(&app.state).await.expect("deliveries");
    let mut db = app.state.pool.acquire().await.expect("a connection");
    let due = list_due(&mut db, &[], 8, 4, app.state.clock.now()).await.expect("what is due");
    assert_eq!((due.len(), due.iter().filter(|due| due.is_troubled).count()), (8, 4));
}

//! `Idempotency-Key`: a write that is sent again is done once.

use backend::store;
use reqwest::Method;
use serde_json::{Value, json};
use time::Duration;

use crate::flag::boolean;
use crate::support::{Answer, App, Person};

const FLAGS: &str = "/projects/shop/flags";

async fn post(person: &Person, path: &str, key: &str, body: Value) -> Answer {
    person.send(Method::POST, path, Some(body), &[("idempotency-key", key)]).await
}

async fn count(app: &App, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(&app.state.pool).await.expect("a count")
}

#[tokio::test]
async fn a_write_sent_again_answers_the_same_and_does_nothing() {
    let app = App::start().await;
    let ana = app.ana().await;
    let first = post(&ana, FLAGS, "k-1", boolean("checkout")).await.expect(201);
    assert!(first.headers.get("idempotency-replayed").is_none());
    let other = ana.at(app.replica().await);
    for person in [&ana, &other] {
        let again = post(person, FLAGS, "k-1", boolean("checkout")).await.expect(201);
        assert_eq!(again.headers["idempotency-replayed"], "true");
        assert_eq!(again.headers["content-type"], first.headers["content-type"]);
        assert_eq!(again.text, first.text);
    }
    assert_eq!(count(&app, "select count(*) from flags").await, 1);
    // Without a key, or with another one, it is another write.
    assert_eq!(ana.post(FLAGS, boolean("checkout")).await.expect(409).code(), "exists");
    assert_eq!(post(&ana, FLAGS, "k-2", boolean("checkout")).await.expect(409).code(), "exists");
}

#[tokio::test]
async fn a_final_refusal_is_repeated_too() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post(FLAGS, boolean("checkout")).await.expect(201);
    let first = post(&ana, FLAGS, "k-1", boolean("checkout")).await.expect(409);
    let again = post(&ana, FLAGS, "k-1", boolean("checkout")).await.expect(409);
    assert_eq!((again.code(), &again.text), ("exists", &first.text));
    assert_eq!(again.headers["idempotency-replayed"], "true");
    assert_eq!(again.headers["content-type"], "application/problem+json");
}

#[tokio::test]
async fn another_body_or_version_under_the_same_key_is_refused() {
    let app = App::start().await;
    let ana = app.ana().await;
    post(&ana, FLAGS, "k-1", boolean("checkout")).await.expect(201);
    let reused = post(&ana, FLAGS, "k-1", boolean("basket")).await.expect(422);
    assert_eq!(reused.code(), "idempotency_key_reused");
    let path = format!("{FLAGS}/checkout");
    let body = json!({ "name": "Check-out" });
    let patch = async |version: &str| {
        let headers = [("if-match", version), ("idempotency-key", "k-1")];
        ana.send(Method::PATCH, &path, Some(body.clone()), &headers).await
    };
    patch("\"1\"").await.expect(200);
    assert_eq!(patch("\"2\"").await.expect(422).code(), "idempotency_key_reused");
}

#[tokio::test]
async fn a_key_is_of_one_person_and_one_place() {
    let app = App::start().await;
    let ana = app.ana().await;
    let eve = app.member("Eve", Some("editor")).await;
    post(&ana, FLAGS, "k-1", boolean("checkout")).await.expect(201);
    assert_eq!(post(&eve, FLAGS, "k-1", boolean("checkout")).await.expect(409).code(), "exists");
    let segment = json!({ "definition": { "key": "beta", "included": [] }, "name": "Beta" });
    post(&ana, "/projects/shop/segments", "k-1", segment).await.expect(201);
}

#[tokio::test]
async fn of_two_at_once_one_does_it_and_the_other_is_told_to_wait() {
    let app = App::start().await;
    let ana = app.ana().await;
    let other = ana.at(app.replica().await);
    // Whoever does it waits for the project.
    let mut import = app.state.pool.begin().await.expect("a transaction");
    store::project::lock(&mut import, app.project().await).await.expect("a lock");
    let first = post(&ana, FLAGS, "k-1", boolean("checkout"));
    let second = post(&other, FLAGS, "k-1", boolean("checkout"));
    tokio::pin!(first, second);
    let (told, done) = tokio::select! {
        told = &mut first => (told, None),
        told = &mut second => (told, Some(())),
    };
    assert_eq!(told.expect(409).code(), "in_progress");
    import.rollback().await.expect("an end");
    let done = if done.is_some() { first.await } else { second.await };
    done.expect(201);
    let again = post(&ana, FLAGS, "k-1", boolean("checkout")).await.expect(201);
    assert_eq!(again.headers["idempotency-replayed"], "true");
    assert_eq!(count(&app, "select count(*) from flags").await, 1);
}

#[tokio::test]
async fn a_write_ends_and_is_kept_although_the_client_hangs_up() {
    let app = App::start().await;
    let ana = app.ana().await;
    let mut import = app.state.pool.begin().await.expect("a transaction");
    store::project::lock(&mut import, app.project().await).await.expect("a lock");
    let (client, patient) = (ana.clone(), ana.clone());
    let impatient = tokio::spawn(async move { post(&client, FLAGS, "k-1", boolean("checkout")).await });
    while count(&app, "select count(*) from idempotency_keys").await == 0 {
        tokio::task::yield_now().await;
    }
    impatient.abort();
    assert!(impatient.await.is_err());
    assert_eq!(post(&patient, FLAGS, "k-1", boolean("checkout")).await.expect(409).code(), "in_progress");
    import.rollback().await.expect("an end");
    while count(&app, "select count(*) from idempotency_keys where state = 'kept'").await == 0 {
        tokio::task::yield_now().await;
    }
    let again = post(&ana, FLAGS, "k-1", boolean("checkout")).await.expect(201);
    assert_eq!(again.headers["idempotency-replayed"], "true");
}

#[tokio::test]
async fn what_is_refused_for_a_passing_reason_may_be_tried_again() {
    let app = App::start().await;
    let ana = app.ana().await;
    let vic = app.member("Vic", Some("viewer")).await;
    post(&vic, FLAGS, "k-1", boolean("checkout")).await.expect(403);
    sqlx::raw_sql("update members set role = 'editor'").execute(&app.state.pool).await.expect("a role");
    post(&vic, FLAGS, "k-1", boolean("checkout")).await.expect(201);
    assert_eq!(post(&app.nobody(), FLAGS, "k-1", boolean("checkout")).await.expect(401).code(), "signed_out");
    assert_eq!(ana.get(FLAGS).await.body["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn an_answer_that_shows_a_secret_is_not_kept_but_where_it_went() {
    let app = App::start().await;
    let ana = app.ana().await;
    let key = json!({ "environment": "staging", "name": "web-1", "kind": "server" });
    let made = post(&ana, "/projects/shop/keys", "k-1", key.clone()).await.expect(201).body;
    let again = post(&ana, "/projects/shop/keys", "k-1", key).await.expect(409);
    assert_eq!(again.code(), "done_already");
    let place = format!("/api/v1/projects/shop/keys/{}", made["key"]["id"].as_str().expect("an id"));
    assert!(again.text.contains(&place), "{}", again.text);
    let hook = json!({ "url": "https://example.com/hook" });
    let made_hook = post(&ana, "/projects/shop/webhooks", "k-1", hook.clone()).await.expect(201).body;
    assert_eq!(post(&ana, "/projects/shop/webhooks", "k-1", hook).await.expect(409).code(), "done_already");
    let kept: String = sqlx::query_scalar("select string_agg(to_jsonb(keys)::text, ' ') from idempotency_keys keys")
        .fetch_one(&app.state.pool)
        .await
        .expect("rows");
    for made in [made, made_hook] {
        assert!(
            !kept.contains(made["secret"].as_str().expect("a secret")) && kept.contains("\"body\": null"),
            "{kept}"
        );
    }
    assert_eq!(count(&app, "select count(*) from sdk_keys").await, 1);
}

#[tokio::test]
async fn a_key_is_forgotten_after_a_day() {
    let app = App::start().await;
    let ana = app.ana().await;
    post(&ana, FLAGS, "k-1", boolean("checkout")).await.expect(201);
    app.state.clock.advance(Duration::hours(23));
    let ana = app.again("Ana").await;
    post(&ana, FLAGS, "k-1", boolean("checkout")).await.expect(201);
    app.state.clock.advance(Duration::hours(1) + Duration::seconds(1));
    assert_eq!(post(&ana, FLAGS, "k-1", boolean("checkout")).await.expect(409).code(), "exists");
    app.state.clock.advance(Duration::hours(25));
    let mut db = app.state.pool.acquire().await.expect("a connection");
    let before = app.state.clock.now() - store::idempotency::REMEMBERED;
    assert_eq!(store::idempotency::forget(&mut db, before).await.expect("rows"), 1);
}

#[tokio::test]
async fn a_write_whose_backend_stopped_is_said_to_have_an_unknown_end() {
    let app = App::start().await;
    let ana = app.ana().await;
    post(&ana, FLAGS, "k-1", boolean("checkout")).await.expect(201);
    sqlx::raw_sql("update idempotency_keys set state = 'running'").execute(&app.state.pool).await.expect("a row");
    assert_eq!(post(&ana, FLAGS, "k-1", boolean("checkout")).await.expect(409).headers["retry-after"], "1");
    app.state.clock.advance(Duration::minutes(3));
    assert_eq!(post(&ana, FLAGS, "k-1", boolean("checkout")).await.expect(409).code(), "outcome_unknown");
}

#[tokio::test]
async fn a_key_is_1_to_255_visible_characters() {
    let app = App::start().await;
    let ana = app.ana().await;
    for key in ["", "with space", &"k".repeat(256)] {
        let answer = post(&ana, FLAGS, key, boolean("checkout")).await.expect(400);
        assert!(answer.text.contains("1 to 255 visible ASCII"), "{}", answer.text);
    }
    post(&ana, FLAGS, &"k".repeat(255), boolean("checkout")).await.expect(201);
    // Reads do the same however often they are sent.
    ana.send(Method::GET, FLAGS, None, &[("idempotency-key", "with space")]).await.expect(200);
}

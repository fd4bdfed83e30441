//! Counts as they come in, over the event stream.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::PgPool;
use time::OffsetDateTime;

use crate::count::series::shop;
use crate::support::{App, Nats};

/// The events of a stream, one after the other.
struct Events {
    response: reqwest::Response,
    rest: String,
}

impl Events {
    async fn next(&mut self) -> Value {
        loop {
            if let Some((event, rest)) = self.rest.clone().split_once("\n\n") {
                self.rest = rest.into();
                if let Some(data) = event.strip_prefix("data: ") {
                    return serde_json::from_str(data).expect("an event");
                }
            }
            let chunk = tokio::time::timeout(Duration::from_secs(20), self.response.chunk()).await.expect("an event");
            self.rest += std::str::from_utf8(&chunk.expect("a chunk").expect("no end")).expect("text");
        }
    }

    /// The next event of this type.
    async fn next_of(&mut self, kind: &str) -> Value {
        loop {
            let event = self.next().await;
            if event["type"] == kind {
                return event;
            }
        }
    }
}

async fn notify(db: &PgPool, payload: &Value) {
    let query = sqlx::query("select pg_notify('fluxgate_counts', $1)").bind(payload.to_string());
    query.execute(db).await.expect("a notification");
}

#[tokio::test]
async fn counts_are_told_to_those_who_may_see_them_and_minutes_to_those_who_watch() {
    let nats = Nats::start_one();
    let app = App::start_leading(&nats.url()).await;
    let (ana, counted) = shop(&app).await;
    let (vic, sam) = (app.member("Vic", Some("viewer")).await, app.member("Sam", None).await);
    let open = async |person: &crate::support::Person, query: &str| {
        let response = person.stream(&format!("/events{query}")).await;
        assert_eq!(response.status(), 200);
        Events { response, rest: String::new() }
    };
    let watch = "?project=shop&environment=production&flag=checkout";
    let (mut watching, mut member, mut stranger) =
        (open(&vic, watch).await, open(&ana, "").await, open(&sam, "").await);
    assert_eq!(sam.stream(&format!("/events{watch}")).await.status(), 404);
    assert_eq!(ana.get("/events?flag=checkout").await.expect(422).fields(), ["project"]);
    assert_eq!(ana.get("/events?project=shop&environment=production&flag=no").await.expect(404).code(), "not_found");

    let now = app.state.clock.now().unix_timestamp();
    let minute = OffsetDateTime::from_unix_timestamp(now - now % 60).expect("a minute");
    counted.add(&app.state.pool, minute, 6).await;
    counted.variant("").add(&app.state.pool, minute, 1).await;
    let environment = counted.environment.to_string();
    // The first ones may come before the backend listens; each is told within a second.
    let told = tokio::spawn({
        let db = app.state.pool.clone();
        let environment = environment.clone();
        async move {
            loop {
                notify(&db, &json!({ environment.as_str(): 7 })).await;
                tokio::time::sleep(Duration::from_millis(400)).await;
            }
        }
    });
    let added = member.next_of("counts").await;
    assert_eq!(added["environments"][0]["environment"], environment);
    assert_eq!(added["environments"][0]["added"].as_u64().map(|added| added % 7), Some(0));
    let minutes = watching.next_of("flag_counts").await;
    assert_eq!((&minutes["flag"], &minutes["environment"]), (&json!("checkout"), &json!(environment)));
    let of = |variant: Option<&str>| {
        let lines = minutes["minutes"].as_array().expect("minutes").iter();
        lines.filter(|line| line["variant"].as_str() == variant).map(|line| line["count"].as_u64()).collect::<Vec<_>>()
    };
    assert_eq!((of(Some("on")), of(None)), (vec![Some(6)], vec![Some(1)]));
    told.abort();

    // A stranger is told nothing of a project; without a place it may have been anybody's.
    notify(&app.state.pool, &json!({})).await;
    assert_eq!(stranger.next_of("counts").await["environments"], json!([]));
    assert_eq!(app.state.live.watched().len(), 1);
}

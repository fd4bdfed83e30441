//! Saved views: one's own, those of others, and with which one's list begins.

use serde_json::{Value, json};

use crate::support::{App, Person};

const VIEWS: &str = "/projects/shop/views";

async fn create(person: &Person, name: &str, query: &str, shared: bool) -> String {
    let body = json!({ "name": name, "query": query, "shared": shared });
    person.post(VIEWS, body).await.expect(201).body["id"].as_str().expect("an id").to_owned()
}

async fn change(person: &Person, id: &str, body: Value) -> crate::support::Answer {
    person.send(reqwest::Method::PATCH, &format!("{VIEWS}/{id}"), Some(body), &[]).await
}

/// Each view as `name`, with a star where one begins.
async fn names(person: &Person) -> Vec<String> {
    let list = person.get(VIEWS).await.expect(200).body;
    let star = |view: &Value| if view["default"] == true { "*" } else { "" };
    let items = list["items"].as_array().expect("items");
    items.iter().map(|view| format!("{}{}", view["name"].as_str().expect("a name"), star(view))).collect()
}

#[tokio::test]
async fn a_view_is_private_unless_it_is_shared() {
    let app = App::start().await;
    let ana = app.ana().await;
    let vic = app.member("Vic", Some("viewer")).await;
    create(&ana, "Mine", "owner=me&sort=key", false).await;
    let shared = create(&ana, "Killed", "state=killed:production,waiting", true).await;
    create(&vic, "Vic's", "", false).await;
    assert_eq!(names(&ana).await, ["Killed", "Mine"]);
    assert_eq!(names(&vic).await, ["Killed", "Vic's"]);
    assert_eq!(change(&vic, &shared, json!({ "name": "Taken" })).await.expect(403).code(), "forbidden");
    vic.delete(&format!("{VIEWS}/{shared}")).await.expect(403);
    change(&ana, &shared, json!({ "shared": false, "name": "Private" })).await.expect(200);
    assert_eq!(names(&vic).await, ["Vic's"]);
    change(&vic, &shared, json!({ "default": true })).await.expect(404);
    ana.delete(&format!("{VIEWS}/{shared}")).await.expect(204);
    assert_eq!(names(&ana).await, ["Mine"]);
}

#[tokio::test]
async fn everybody_begins_with_one_view_of_a_project_at_most() {
    let app = App::start().await;
    let ana = app.ana().await;
    let vic = app.member("Vic", Some("viewer")).await;
    let first = create(&ana, "A", "state=on:staging", true).await;
    let second = create(&ana, "B", "kind=release", true).await;
    change(&ana, &first, json!({ "default": true })).await.expect(200);
    change(&vic, &second, json!({ "default": true })).await.expect(200);
    assert_eq!((names(&ana).await, names(&vic).await), (vec!["A*".into(), "B".into()], vec!["A".into(), "B*".into()]));
    change(&ana, &second, json!({ "default": true })).await.expect(200);
    assert_eq!(names(&ana).await, ["A", "B*"]);
    change(&ana, &second, json!({ "default": false })).await.expect(200);
    assert_eq!(names(&ana).await, ["A", "B"]);
    change(&ana, &second, json!({ "shared": false })).await.expect(200);
    assert_eq!(names(&vic).await, ["A"], "what is not shared any more begins nobody else's list");
}

#[tokio::test]
async fn a_view_holds_what_the_list_understands_and_nothing_else() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, "Mine", "q=a%20b&owner=me", false).await;
    for query in ["state=purple:staging", "state=on:nowhere", "colour=red", "after=x", "limit=0", "kind=zz", "a b"] {
        let body = json!({ "name": "Wrong", "query": query });
        assert_eq!(ana.post(VIEWS, body).await.expect(422).fields(), ["query"], "{query}");
    }
    let long = json!({ "name": "Long", "query": "q=".to_owned() + &"x".repeat(2_000) });
    assert_eq!(ana.post(VIEWS, long).await.expect(422).fields(), ["query"]);
    for name in ["", "Mine"] {
        assert_eq!(ana.post(VIEWS, json!({ "name": name, "query": "" })).await.expect(422).fields(), ["name"]);
    }
    assert_eq!(names(&ana).await, ["Mine"]);
}

#[tokio::test]
async fn nobody_has_more_than_a_hundred_views() {
    let app = App::start().await;
    let ana = app.ana().await;
    for n in 0..100 {
        create(&ana, &format!("V{n}"), "", false).await;
    }
    assert_eq!(ana.post(VIEWS, json!({ "name": "More", "query": "" })).await.expect(422).fields(), ["name"]);
    let eve = app.member("Eve", Some("editor")).await;
    create(&eve, "Hers", "", false).await;
}

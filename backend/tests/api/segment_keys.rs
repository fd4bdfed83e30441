//! The two lists of keys of a segment: edited, sent and fetched as CSV, asked.

use reqwest::Method;
use serde_json::{Value, json};
use shared::evaluation::{Context, Query, State, evaluate};
use shared::model::sdk_key::SdkKeyKind;

use crate::flag::boolean;
use crate::reference::config;
use crate::support::{Answer, App, Person};

const STAFF: &str = "/projects/shop/segments/staff";

async fn staff(ana: &Person, included: &[&str], excluded: &[&str], conditions: Value) {
    let definition = json!({ "key": "staff", "included": included, "excluded": excluded, "conditions": conditions });
    ana.post("/projects/shop/segments", json!({ "definition": definition, "name": "Staff" })).await.expect(201);
}

async fn edit(ana: &Person, version: u64, body: Value) -> Answer {
    let version = format!("\"{version}\"");
    ana.send(Method::POST, &format!("{STAFF}/keys"), Some(body), &[("if-match", &version)]).await
}

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("u-{n}")).collect()
}

#[tokio::test]
async fn keys_are_added_and_removed_and_what_was_there_or_not_is_told() {
    let app = App::start().await;
    let ana = app.ana().await;
    staff(&ana, &["ana", "ben"], &["eve"], json!({ "all": [] })).await;
    let body = json!({ "list": "included", "add": ["ben", "chen", "eve", "chen"], "remove": ["ana", "dee"] });
    let done = edit(&ana, 1, body).await.expect(200).body;
    let told = ["added", "already_there", "removed", "not_there", "total", "in_both"].map(|name| &done[name]);
    assert_eq!(told, [2, 2, 1, 1, 3, 1].map(Value::from).each_ref());
    assert_eq!(done["changeset"]["state"], "applied");
    let list = ana.get(&format!("{STAFF}/keys/included")).await.expect(200).body;
    assert_eq!((&list["keys"], &list["version"]), (&json!(["ben", "chen", "eve"]), &json!(2)));

    // On what somebody changed meanwhile nothing is done, and nothing to do makes no changeset.
    edit(&ana, 1, json!({ "list": "included", "add": ["fay"] })).await.expect(412);
    let nothing = edit(&ana, 2, json!({ "list": "excluded", "add": ["eve"] })).await.expect(200).body;
    assert_eq!((&nothing["changeset"], &nothing["already_there"]), (&Value::Null, &json!(1)));
    assert_eq!(ana.get(STAFF).await.body["version"], 2);
    let both = edit(&ana, 2, json!({ "list": "included", "add": ["fay"], "remove": ["fay"] })).await.expect(422);
    assert_eq!(both.fields(), ["add[0]"]);
    let wrong = edit(&ana, 2, json!({ "list": "included", "add": ["a\u{0}"] })).await.expect(422);
    assert_eq!(wrong.fields(), ["included[3]"]);
    ana.send(Method::POST, &format!("{STAFF}/keys"), Some(json!({ "list": "included" })), &[]).await.expect(428);
}

#[tokio::test]
async fn ten_thousand_and_one_keys_are_refused_with_the_limit_and_ten_thousand_are_taken_and_evaluated() {
    let app = App::start().await;
    let ana = app.ana().await;
    staff(&ana, &[], &[], json!({ "all": [] })).await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    let path = "/projects/shop/flags/checkout/environments/staging";
    ana.put(path, 1, json!({ "config": config(&[], &["staff"]) })).await.expect(200);

    let limit = "at most 10000 are allowed";
    let csv = numbered(10_001).join("\r\n");
    let refused = ana.put_text(&format!("{STAFF}/keys/included"), 1, "text/csv", csv).await.expect(422);
    assert!(refused.body["detail"].as_str().is_some_and(|text| text.contains("10001 keys") && text.contains(limit)));
    let csv = numbered(10_000).join("\r\n");
    let taken = ana.put_text(&format!("{STAFF}/keys/included"), 1, "text/csv", csv).await.expect(200).body;
    assert_eq!((&taken["added"], &taken["total"]), (&json!(10_000), &json!(10_000)));
    let one_more = edit(&ana, 2, json!({ "list": "included", "add": ["u-10000"] })).await.expect(422);
    assert_eq!(one_more.fields(), ["included"]);
    assert!(one_more.body["detail"].as_str().is_some_and(|text| text.contains("10001 keys") && text.contains(limit)));
    let many = json!({ "list": "included", "remove": numbered(10_001) });
    assert_eq!(edit(&ana, 2, many).await.expect(422).fields(), ["remove"]);

    let state = State::compile(&app.published("staging").await);
    for (key, expected) in [("u-0", "on"), ("u-9999", "on"), ("u-10000", "off")] {
        let json = json!({ "targetingKey": key }).to_string();
        let context: Context<'_> = serde_json::from_str(&json).expect("a context");
        let query = Query { context: &context, now_ms: 0, asker: SdkKeyKind::Server };
        assert_eq!(evaluate(&state, "checkout", &query).variant, Some(expected), "{key}");
    }
}

#[tokio::test]
async fn a_list_comes_back_from_csv_as_it_went_there() {
    let app = App::start().await;
    let ana = app.ana().await;
    let keys = ["u-1", "Kovač, Ana", "=1+1", "'=1+1", "say \"hi\"", "key", "ΟΔΟΣ"];
    staff(&ana, &keys, &["x"], json!({ "all": [] })).await;
    let path = format!("{STAFF}/keys/included");
    let csv = ana.get(&format!("{path}?format=csv")).await.expect(200);
    assert!(csv.headers["content-disposition"].to_str().is_ok_and(|text| text.contains("shop-staff-included.csv")));
    assert!(csv.text.starts_with("key\r\nu-1\r\n\"Kovač, Ana\"\r\n'=1+1\r\n"), "{}", csv.text);
    let same = ana.put_text(&path, 1, "text/csv", csv.text).await.expect(200).body;
    assert_eq!((&same["changeset"], &same["already_there"], &same["total"]), (&Value::Null, &json!(7), &json!(7)));

    let mixed = "\u{feff}key,name\r\nu-1,Ana\r\n\r\n\"Kovač, Ana\",x\nu-1\n";
    let note = ana.put_text(&format!("{path}?note=From%20the%20CRM"), 1, "text/csv", mixed).await.expect(200).body;
    let told = ["added", "already_there", "removed", "total"].map(|name| &note[name]);
    assert_eq!(told, [0, 3, 5, 2].map(Value::from).each_ref());
    let found = ana.get(&format!("{path}?q=KOVA")).await.expect(200).body;
    assert_eq!((&found["keys"], &found["total"]), (&json!(["Kovač, Ana"]), &json!(2)));
    let notes: Vec<String> = sqlx::query_scalar("select note from changesets order by revision desc limit 1")
        .fetch_all(&app.state.pool)
        .await
        .expect("changesets");
    assert_eq!(notes, ["From the CRM"]);
}

#[tokio::test]
async fn what_is_wrong_in_a_csv_is_told_with_its_line_and_nothing_is_written() {
    let app = App::start().await;
    let ana = app.ana().await;
    staff(&ana, &["ana"], &[], json!({ "all": [] })).await;
    let path = format!("{STAFF}/keys/included");
    let bytes = [b"u-1\r\n\xff\xfe\r\n".as_slice(), "x".repeat(1_001).as_bytes(), b"\r\nu-2\r\n"].concat();
    let refused = ana.put_text(&path, 1, "text/csv", bytes).await.expect(422);
    assert_eq!(refused.fields(), ["line 2", "line 3"]);
    ana.put_text(&path, 1, "text/csv", "x".repeat(3 * 1024 * 1024)).await.expect(413);
    ana.put_text(&path, 7, "text/csv", "u-1").await.expect(412);
    ana.put_text(&format!("{STAFF}/keys/others"), 1, "text/csv", "u-1").await.expect(404);
    let emptied = ana.put_text(&path, 1, "text/csv", "").await.expect(200).body;
    assert_eq!((&emptied["removed"], &emptied["total"]), (&json!(1), &json!(0)));
}

#[tokio::test]
async fn whether_somebody_is_inside_is_told_in_words() {
    let app = App::start().await;
    let ana = app.ana().await;
    let conditions = json!({ "all": [{ "attribute": "plan", "operator": "equals", "values": ["pro"] }] });
    staff(&ana, &["ana", "eve"], &["eve"], conditions).await;
    let empty = json!({ "definition": { "key": "empty" }, "name": "Empty" });
    ana.post("/projects/shop/segments", empty).await.expect(201);
    for (segment, key, membership, sentence) in [
        ("staff", "ana", "included", "ana is in staff, by name"),
        ("staff", "eve", "excluded", "eve is excluded, so never in staff"),
        ("staff", "u-42", "depends", "u-42 is in neither list; it is in staff if plan is pro"),
        ("empty", "u-42", "outside", "u-42 is not in empty: it is in neither list and there are no conditions"),
    ] {
        let answer = ana.get(&format!("/projects/shop/segments/{segment}/contains?key={key}")).await.expect(200).body;
        assert_eq!((&answer["membership"], &answer["sentence"]), (&json!(membership), &json!(sentence)));
    }
    ana.get(&format!("{STAFF}/contains")).await.expect(400);
}

#[tokio::test]
async fn a_segment_gets_another_name_and_no_answer_changes() {
    let app = App::start().await;
    let ana = app.ana().await;
    staff(&ana, &["ana"], &[], json!({ "all": [] })).await;
    let renamed = ana.patch(STAFF, 1, json!({ "name": " Everyone here " })).await.expect(200).body;
    assert_eq!(renamed["environments"], json!([]));
    let segment = ana.get(STAFF).await.body;
    assert_eq!((&segment["name"], &segment["definition"]["included"]), (&json!("Everyone here"), &json!(["ana"])));
    ana.patch(STAFF, 1, json!({ "name": "x" })).await.expect(412);
    assert_eq!(ana.patch(STAFF, 2, json!({ "name": "" })).await.expect(422).fields(), ["name"]);
}

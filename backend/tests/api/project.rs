//! What a project and its environments are called, and in which order they stand.

use serde_json::{Value, json};

use crate::support::App;

fn keys(project: &Value) -> Vec<&str> {
    let environments = project["environments"].as_array().expect("environments");
    environments.iter().filter_map(|environment| environment["key"].as_str()).collect()
}

#[tokio::test]
async fn a_project_is_renamed_and_its_environments_reordered() {
    let app = App::start().await;
    let ana = app.ana().await;
    let order = ["production", "development", "staging"];
    let changed = ana.patch("/projects/shop", 0, json!({ "name": " The shop ", "environments": order })).await;
    assert_eq!((&changed.body["name"], keys(&changed.body)), (&json!("The shop"), order.to_vec()));
    let read = ana.get("/projects/shop").await.expect(200).body;
    assert_eq!((&read["name"], keys(&read)), (&json!("The shop"), order.to_vec()));
    ana.patch("/projects/shop", 0, json!({})).await.expect(200);
    let mut audited = app.audited("project.changed").await;
    assert_eq!(audited.len(), 1, "what changes nothing is not written down");
    let (_, subject, detail) = audited.remove(0);
    assert_eq!((subject.as_str(), &detail["name"]["before"]), ("shop", &json!("Acme shop")));
    for wrong in [
        json!(["production", "development"]),
        json!(["production", "development", "development"]),
        json!(["production", "development", "moon"]),
        json!(["production", "development", "staging", "staging"]),
    ] {
        let refused = ana.patch("/projects/shop", 0, json!({ "environments": wrong })).await.expect(422);
        assert_eq!(refused.fields(), ["environments"]);
    }
    assert_eq!(ana.patch("/projects/shop", 0, json!({ "name": "" })).await.expect(422).fields(), ["name"]);
}

#[tokio::test]
async fn an_environment_gets_another_name_and_hue_and_edges_hear_nothing() {
    let app = App::start().await;
    let ana = app.ana().await;
    let path = "/projects/shop/environments/staging";
    let revision = |project: &Value| project["environments"][1]["revision"].clone();
    let before = revision(&ana.get("/projects/shop").await.body);
    let changed = ana.patch(path, 0, json!({ "name": "Trial", "hue": 8 })).await.expect(200).body;
    let staging = &changed["environments"][1];
    assert_eq!((&staging["name"], &staging["hue"], &staging["key"]), (&json!("Trial"), &json!(8), &json!("staging")));
    assert_eq!(revision(&changed), before);
    assert_eq!(ana.patch(path, 0, json!({ "hue": 9 })).await.expect(422).fields(), ["hue"]);
    ana.patch("/projects/shop/environments/moon", 0, json!({})).await.expect(404);
    assert_eq!(app.audited("environment.changed").await.len(), 1);
}

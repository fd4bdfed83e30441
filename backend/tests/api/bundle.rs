//! Exporting what edges must hold, from the table to the file.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use backend::app::bundle::{Selection, export};
use serde_json::json;
use shared::wire::bundle::Bundle;
use shared::wire::state::StateKey;

use crate::flag::{boolean, on};
use crate::support::{App, Person, new_id};

/// A project with flags in all environments, a live and a revoked key; another project beside it.
async fn filled() -> (App, Person) {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    ana.put("/projects/shop/flags/checkout/environments/production", 1, json!({ "config": on() })).await.expect(200);
    for name in ["web", "old"] {
        let new = json!({ "environment": "production", "name": name, "kind": "server" });
        let key = ana.post("/projects/shop/keys", new).await.expect(201).body;
        if name == "old" {
            let id = key["key"]["id"].as_str().expect("an id");
            ana.post(&format!("/projects/shop/keys/{id}/revoke"), json!({})).await.expect(200);
        }
    }
    let other = json!({ "key": "blog", "name": "Blog", "environments": [{ "key": "main", "name": "Main" }] });
    ana.post("/projects", other).await.expect(201);
    (app, ana)
}

/// Table `state` by key.
async fn table(app: &App) -> BTreeMap<String, String> {
    let rows: Vec<(String, String)> =
        sqlx::query_as("select key, value from state").fetch_all(&app.state.pool).await.expect("state");
    rows.into_iter().collect()
}

/// The lines of a bundle by key: its values byte for byte.
fn lines(bundle: &str) -> BTreeMap<String, String> {
    let values = bundle.lines().filter(|line| line.starts_with('"')).map(|line| {
        let (key, value) = line[1..].split_once("\":").expect("a key and a value");
        (key.to_owned(), value.trim_end_matches(',').to_owned())
    });
    values.collect()
}

fn run(app: &App, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fluxgate-backend"));
    command
        .env_clear()
        .env("BACKEND_DATABASE__URL", &app.state.config.database.url)
        .env("BACKEND_AUTH__SECRET", &app.state.config.auth.secret)
        .current_dir(std::env::temp_dir());
    command.arg("export-bundle").args(arguments).output().expect("the backend runs")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_holds_the_state_byte_for_byte_revoked_keys_included() {
    let (app, _) = filled().await;
    let output = run(&app, &[]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(lines(&text), table(&app).await);
    assert!(text.contains(r#""revoked":true"#) && text.contains(r#""revoked":false"#), "{text}");
    let keys: Vec<String> = lines(&text).into_keys().collect();
    let written: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix('"')?.split_once('"')).map(|(key, _)| key).collect();
    assert_eq!(written, keys, "keys are in order");
    assert_eq!(Bundle::parse(text.as_bytes()).expect("a bundle").to_json().expect("JSON"), text);
}

#[tokio::test]
async fn one_project_or_one_environment_is_exported_alone() {
    let (app, _) = filled().await;
    let whole = |project: &str, environment: Option<&str>| Selection {
        project: Some(project.into()),
        environment: environment.map(Into::into),
    };
    let exported = async |selection: Selection| export(&app.state, &selection).await.expect("a bundle").values;
    let production = app.environment("production").await;
    let alone = exported(whole("shop", Some("production"))).await;
    assert!(alone.keys().all(|key| key.environment == production));
    let all = table(&app).await;
    let of_production = all.keys().filter(|key| key.starts_with(&production.to_string())).count();
    assert_eq!(alone.len(), of_production);
    let (shop, blog) = (exported(whole("shop", None)).await, exported(whole("blog", None)).await);
    assert!(shop.len() > alone.len() && !blog.is_empty());
    let both: BTreeMap<StateKey, _> = shop.into_iter().chain(blog).collect();
    assert_eq!(both.len(), all.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_exist_is_refused_with_what_there_is() {
    let (app, _) = filled().await;
    let refused = |arguments: &[&str]| {
        let output = run(&app, arguments);
        assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
        String::from_utf8(output.stderr).expect("text")
    };
    let project = refused(&["--project", "shopp"]);
    assert!(project.contains("project 'shopp' does not exist") && project.contains("blog, shop"), "{project}");
    let environment = refused(&["--project", "shop", "--environment", "test"]);
    assert!(
        environment.contains("'test'") && environment.contains("development, staging, production"),
        "{environment}"
    );
    let half = refused(&["--environment", "production"]);
    assert!(half.contains("--project"), "{half}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_replaced_whole_and_readable_by_its_owner_alone() {
    let (app, _) = filled().await;
    let folder = std::env::temp_dir().join(format!("fluxgate-test-bundle-{}", new_id().simple()));
    std::fs::create_dir(&folder).expect("a folder");
    let path = folder.join("bundle.json");
    std::fs::write(&path, "old").expect("a file that others may read");
    std::fs::write(folder.join("bundle.json.new"), "left over").expect("a file of a run that was killed");
    let name = path.to_str().expect("a path of text");
    let output = run(&app, &["--output", name]);
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    let mode = std::fs::metadata(&path).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(lines(&std::fs::read_to_string(&path).expect("text")), table(&app).await);
    let left: Vec<_> = std::fs::read_dir(&folder).expect("a folder").collect();
    assert_eq!(left.len(), 1, "{left:?}");

    let refused = run(&app, &["--output", folder.to_str().expect("text")]);
    let said = String::from_utf8(refused.stderr).expect("text");
    assert!(!refused.status.success() && said.contains("no ordinary file"), "{said}");
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_is_of_one_moment_whatever_is_saved_meanwhile() {
    let (app, ana) = filled().await;
    // What a flag is, is part of its state in every environment.
    let save = async |version: u64| {
        let change = json!({ "client_visible": version % 2 == 1 });
        ana.patch("/projects/shop/flags/checkout", version, change).await.expect(200);
    };
    save(1).await;
    let state = app.state.clone();
    let exports = tokio::spawn(async move {
        let selection = Selection { project: Some("shop".into()), environment: None };
        let mut seen = Vec::new();
        for _ in 0..40 {
            let bundle = export(&state, &selection).await.expect("a bundle");
            let own = bundle.values.iter().filter(|(key, _)| key.entity == shared::wire::state::Entity::Environment);
            let revisions: Vec<u64> = own.map(|(_, envelope)| envelope.revision).collect();
            assert!(revisions.windows(2).all(|pair| pair[0] == pair[1]), "{revisions:?}");
            seen.push(revisions[0]);
        }
        seen
    });
    let mut version = 2;
    while !exports.is_finished() {
        save(version).await;
        version += 1;
    }
    let seen = exports.await.expect("exports of one moment each");
    assert!(seen.windows(2).all(|pair| pair[0] <= pair[1]), "{seen:?}");
}

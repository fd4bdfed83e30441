//! `export` and `import` of the binary.

use std::fs;
use std::process::{Command, Output};

use serde_json::json;

use super::{export, file, flag, protect_production};
use crate::flag::on;
use crate::support::{App, new_id};

fn run(app: &App, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fluxgate-backend"));
    command
        .env_clear()
        .env("BACKEND_DATABASE__URL", &app.state.config.database.url)
        .env("BACKEND_AUTH__SECRET", &app.state.config.auth.secret)
        .current_dir(std::env::temp_dir());
    command.args(arguments).output().expect("the backend runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_written_planned_and_applied_by_somebody_as_themselves() {
    let app = App::start().await;
    let ana = app.ana().await;
    app.member("Vic", Some("viewer")).await;
    protect_production(&app).await;
    let folder = std::env::temp_dir().join(format!("fluxgate-test-exchange-{}", new_id().simple()));
    fs::create_dir(&folder).expect("a folder");
    let path = folder.join("shop.json");
    let path = path.to_str().expect("a path");
    let written = file(json!([flag("a", json!({ "staging": on(), "production": on() }))]), json!([]));
    fs::write(path, written.to_string()).expect("a file");

    let planned = run(&app, &["import", "--project", "shop", path]);
    assert!(planned.status.success(), "{}", text(&planned.stderr));
    let told = text(&planned.stdout);
    assert!(told.contains("+ flag a\n    + Name: a\n    + production: On. Everyone gets on (true)."), "{told}");
    assert!(told.contains("! changes of production will wait for others to agree"), "{told}");
    assert!(told.ends_with("1 created, 0 changed, 0 removed, 3 unchanged\n"), "{told}");
    let nobody = run(&app, &["import", "--project", "shop", path, "--apply"]);
    assert!(text(&nobody.stderr).contains("--as"), "{}", text(&nobody.stderr));
    let viewer = run(&app, &["import", "--project", "shop", path, "--apply", "--as", "vic@example.com"]);
    assert!(!viewer.status.success() && text(&viewer.stderr).contains("this needs"), "{}", text(&viewer.stderr));
    assert_eq!(export(&ana).await["flags"], json!([]));

    let done =
        run(&app, &["import", "--project", "shop", path, "--apply", "--as", "ana@example.com", "--note", "moved"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(text(&done.stdout).contains("; 1 changeset waits for others to agree"), "{}", text(&done.stdout));
    let vias: Vec<(String, String)> =
        sqlx::query_as("select state, via from changesets where note = 'moved' order by created_at, state")
            .fetch_all(&app.state.pool)
            .await
            .expect("changesets");
    assert_eq!(vias, [("applied".into(), "command".into()), ("in_review".into(), "command".into())]);

    let out = folder.join("out.json");
    let done = run(&app, &["export", "--project", "shop", "--output", out.to_str().expect("a path")]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let served = ana.get("/projects/shop/export").await.expect(200).text;
    assert_eq!(fs::read_to_string(&out).expect("a file"), served);
    assert_eq!(text(&run(&app, &["export", "--project", "shop"]).stdout), served);

    let mut wrong = written;
    wrong["flags"][0]["environments"]["staging"]["default_serve"] = json!({ "variant": "blue" });
    fs::write(path, wrong.to_string()).expect("a file");
    let refused = run(&app, &["import", "--project", "shop", path]);
    let told = text(&refused.stderr);
    assert!(
        !refused.status.success() && told.contains("flags[0].environments.staging.default_serve.variant: "),
        "{told}"
    );
    fs::remove_dir_all(&folder).expect("a folder to delete");
}

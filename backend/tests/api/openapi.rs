//! The description of the API is a reviewed file: a change of the API is a change of it.

use backend::http::router::api;

use crate::support::App;

const SNAPSHOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");

#[test]
fn the_description_is_the_reviewed_one() {
    let mut now = api().into_openapi().to_pretty_json().expect("JSON");
    now.push('\n');
    if std::env::var_os("FLUXGATE_ACCEPT").is_some() {
        std::fs::write(SNAPSHOT, &now).expect("a file to write");
    }
    let reviewed = std::fs::read_to_string(SNAPSHOT).unwrap_or_default();
    assert!(
        now == reviewed,
        "the API changed: run with FLUXGATE_ACCEPT=1, read the diff of backend/openapi.json, commit it"
    );
}

#[tokio::test]
async fn the_description_and_its_pages_come_from_here_alone() {
    let app = App::start().await;
    let address = app.address;
    let get = |path: &'static str| async move {
        reqwest::get(format!("http://{address}{path}")).await.expect("an answer").text().await.expect("text")
    };
    assert!(get("/api/v1/openapi.json").await.contains("\"openapi\":\"3.1"));
    let page = get("/docs/").await;
    assert!(page.contains("swagger-ui"), "{page}");
    assert!(!page.contains("https://") && !page.contains("src=\"//"), "{page}");
}

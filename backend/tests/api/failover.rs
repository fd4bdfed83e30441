//! The server behind the open connections is no primary any more.

use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::flag::boolean;
use crate::support::{App, Person};

/// Five writes in a row: their statuses.
async fn writes(ana: &Person, round: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for number in 0..5 {
        let answer = ana.post("/projects/shop/flags", boolean(&format!("flag-{round}-{number}"))).await;
        if answer.status == 503 {
            assert_eq!((answer.code(), answer.headers["retry-after"].to_str().ok()), ("unavailable", Some("2")));
        }
        statuses.push(answer.status);
    }
    statuses
}

/// All connections that are open now lead to a server that refuses writes; new ones do not.
async fn demote_open_connections(app: &App) {
    let mut open = Vec::new();
    while let Some(mut db) = app.state.pool.try_acquire() {
        sqlx::raw_sql("set default_transaction_read_only = on").execute(&mut *db).await.expect("a setting");
        open.push(db);
    }
    assert!(!open.is_empty(), "a connection to be demoted");
}

/// Makes new connections lead to a server that refuses writes, or to one that takes them.
async fn set_new_connections(app: &App, read_only: &str) -> PgConnection {
    let url = &app.state.config.database.url;
    let mut db = PgConnection::connect(url).await.expect("a connection");
    let name = url.rsplit_once('/').expect("a database").1;
    for sql in [
        "set default_transaction_read_only = off".to_owned(),
        format!("alter database {name} set default_transaction_read_only = {read_only}"),
    ] {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut db).await.expect("a setting");
    }
    db
}

/// Ends all connections but this one.
async fn cut_others(db: &mut PgConnection) {
    let sql = "select pg_terminate_backend(pid) from pg_stat_activity
               where datname = current_database() and pid <> pg_backend_pid()";
    sqlx::raw_sql(sql).execute(db).await.expect("ended sessions");
}

#[tokio::test]
async fn connections_to_a_demoted_server_are_dropped_and_writes_go_on() {
    let app = App::start().await;
    let ana = app.ana().await;
    for round in 0..3 {
        demote_open_connections(&app).await;
        let statuses = writes(&ana, round).await;
        assert!(statuses[1..].iter().all(|status| *status == 201), "{statuses:?}");
        assert!(matches!(statuses[0], 201 | 503), "{statuses:?}");
    }
}

#[tokio::test]
async fn without_a_primary_reads_go_on_writes_are_refused_for_now_and_work_once_there_is_one() {
    let app = App::start().await;
    let ana = app.ana().await;
    cut_others(&mut set_new_connections(&app, "on").await).await;
    assert_eq!(writes(&ana, 0).await, [503; 5]);
    let kill = json!({ "environments": ["production"], "reason": "x" });
    assert!(matches!(ana.post("/projects/shop/flags/none/kill", kill).await.status, 404 | 503));
    ana.get("/projects/shop/flags").await.expect(200);
    // The old server lives on beside the new primary: its connections stay open, and lead nowhere.
    set_new_connections(&app, "off").await;
    let statuses = writes(&ana, 1).await;
    assert!(statuses[1..].iter().all(|status| *status == 201), "{statuses:?}");
    // Connections that were cut are no reason to fail either.
    cut_others(&mut set_new_connections(&app, "off").await).await;
    let statuses = writes(&ana, 2).await;
    assert!(statuses[1..].iter().all(|status| *status == 201), "{statuses:?}");
}

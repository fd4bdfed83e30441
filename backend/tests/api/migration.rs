//! Bringing a database that is in use to this version's schema.

use backend::store;

use crate::support::App;

#[tokio::test]
async fn an_index_whose_building_broke_off_is_built_anew() {
    let app = App::start().await;
    let pool = &app.state.pool;
    sqlx::raw_sql(
        "update pg_index set indisvalid = false where indexrelid = 'changesets_project_revision'::regclass;
         delete from _sqlx_migrations where version = 20261201133100",
    )
    .execute(pool)
    .await
    .expect("a broken index");
    store::migration::run(pool).await.expect("migrations");
    let is_valid: bool = sqlx::query_scalar(
        "select indisvalid from pg_index where indexrelid = 'changesets_project_revision'::regclass",
    )
    .fetch_one(pool)
    .await
    .expect("the index");
    assert!(is_valid);
    store::migration::run(pool).await.expect("nothing to do");
}

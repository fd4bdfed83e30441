//! Brings the database to this version's schema.

use std::time::Duration;

use sqlx::PgPool;
use sqlx::migrate::Migrator;

use crate::command::Failure;

static MIGRATIONS: Migrator = sqlx::migrate!("../migrations");
/// Any number, the same on every backend; another one than the leader's.
const LOCK: i64 = 0x666c_7578_6d69_6772;
/// How often a backend looks whether another one is done.
const POLL: Duration = Duration::from_millis(500);
/// How long it waits for that.
const WAIT_MAX: Duration = Duration::from_secs(600);

/// Runs what is missing, one backend at a time. The lock is polled, never waited for: a waiting lock would hold up
/// every other one that wants the same.
pub(super) async fn run(pool: &PgPool) -> Result<(), Failure> {
    let mut db = pool.acquire().await?;
    let locked = tokio::time::timeout(WAIT_MAX, async {
        while !sqlx::query_scalar::<_, bool>("select pg_try_advisory_lock($1)").bind(LOCK).fetch_one(&mut *db).await? {
            tokio::time::sleep(POLL).await;
        }
        Ok::<_, sqlx::Error>(())
    });
    locked.await.map_err(|_| "another backend has been migrating for 10 minutes; look at its log")??;
    sqlx::query("set lock_timeout = '5s'").execute(&mut *db).await?;
    let mut migrations = Migrator { migrations: MIGRATIONS.migrations.clone(), ..Migrator::DEFAULT };
    migrations.set_locking(false);
    let done = migrations.run(&mut *db).await;
    // The connection goes back to the pool as it came.
    sqlx::query("reset lock_timeout").execute(&mut *db).await?;
    sqlx::query("select pg_advisory_unlock($1)").bind(LOCK).execute(&mut *db).await?;
    Ok(done?)
}

//! Brings the database to this version's schema.

use std::time::Duration;

use sqlx::PgPool;
use sqlx::migrate::{MigrateError, Migrator};
use thiserror::Error;

static MIGRATIONS: Migrator = sqlx::migrate!("../migrations");
/// Any number, the same on every backend; another one than the leader's.
const LOCK: i64 = 0x666c_7578_6d69_6772;
/// How often a backend looks whether another one is done.
const POLL: Duration = Duration::from_millis(500);
/// How long it waits for that.
const WAIT_MAX: Duration = Duration::from_secs(600);

/// Why the schema is not this version's.
#[derive(Debug, Error)]
pub enum MigrationError {
    /// Another backend does not finish.
    #[error("another backend has been migrating for 10 minutes; look at its log")]
    Locked,
    /// The database does not answer, or refuses.
    #[error("the database cannot be migrated")]
    Database(#[from] sqlx::Error),
    /// A migration fails, or one that ran before was changed since.
    #[error("the schema does not fit this version")]
    Schema(#[source] MigrateError),
}

impl From<MigrateError> for MigrationError {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Execute(error) => Self::Database(error),
            other => Self::Schema(other),
        }
    }
}

/// Runs what is missing, one backend at a time. The lock is polled, never waited for: a waiting lock would hold up
/// every other one that wants the same.
pub async fn run(pool: &PgPool) -> Result<(), MigrationError> {
    let mut db = pool.acquire().await?;
    let locked = tokio::time::timeout(WAIT_MAX, async {
        while !sqlx::query_scalar!(r#"select pg_try_advisory_lock($1) as "locked!""#, LOCK).fetch_one(&mut *db).await? {
            tokio::time::sleep(POLL).await;
        }
        Ok::<_, sqlx::Error>(())
    });
    locked.await.map_err(|_| MigrationError::Locked)??;
    sqlx::query!("select set_config('lock_timeout', '5s', false)").fetch_one(&mut *db).await?;
    let mut migrations = Migrator { migrations: MIGRATIONS.migrations.clone(), ..Migrator::DEFAULT };
    migrations.set_locking(false);
    // Schemas grow before they shrink, so this version also runs on that of the next one.
    migrations.set_ignore_missing(true);
    let done = migrations.run(&mut *db).await;
    // The connection goes back to the pool as it came.
    sqlx::query!("select set_config('lock_timeout', '0', false)").fetch_one(&mut *db).await?;
    sqlx::query!("select pg_advisory_unlock($1)", LOCK).fetch_one(&mut *db).await?;
    Ok(done?)
}

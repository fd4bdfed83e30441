//! Brings the database to this version's schema.

use std::borrow::Cow;
use std::time::Duration;

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::{AssertSqlSafe, PgConnection, PgPool};
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
    let done = run_each(&mut db).await;
    // The connection goes back to the pool as it came.
    sqlx::query!("select set_config('lock_timeout', '0', false)").fetch_one(&mut *db).await?;
    sqlx::query!("select pg_advisory_unlock($1)", LOCK).fetch_one(&mut *db).await?;
    done
}

/// One after the other. One that writers would wait for gives up after 5 s; one that builds an index beside them (alone and
/// without a transaction) waits for as long as their transactions last, since nobody waits for it.
async fn run_each(db: &mut PgConnection) -> Result<(), MigrationError> {
    drop_broken_indexes(db).await?;
    for migration in MIGRATIONS.iter() {
        let wait = if migration.no_tx { "0" } else { "5s" };
        sqlx::query!("select set_config('lock_timeout', $1, false)", wait).fetch_one(&mut *db).await?;
        let mut one = Migrator { migrations: Cow::Owned(vec![migration.clone()]), ..Migrator::DEFAULT };
        one.set_locking(false);
        // Schemas grow before they shrink, so this version also runs on that of the next one.
        one.set_ignore_missing(true);
        one.run(&mut *db).await?;
    }
    Ok(())
}

/// An index whose building broke off stands there and is no use; it is dropped, and built when its migration runs again.
async fn drop_broken_indexes(db: &mut PgConnection) -> Result<(), MigrationError> {
    let broken = sqlx::query_scalar!(
        r#"select format('drop index concurrently %I.%I', nspname, relname) as "statement!"
           from pg_index
           join pg_class on pg_class.oid = pg_index.indexrelid
           join pg_namespace on pg_namespace.oid = pg_class.relnamespace
           where not indisvalid and nspname = current_schema() and relkind = 'i'"#,
    )
    .fetch_all(&mut *db)
    .await?;
    for statement in broken {
        tracing::warn!(statement, "an index was left half built");
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *db).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From here on migrations run on databases that are in use.
    const IN_USE_FROM: i64 = 20_261_201_123_000;
    /// Tables that grow with use: nobody may be locked out of them for as long as it takes to read them. Flags are some
    /// ten thousand at most, read and written anew in less than a second.
    const LARGE: [&str; 19] = [
        "changesets",
        "revision_entries",
        "state",
        "flag_configs",
        "reference",
        "count_batches",
        "evaluation_counts",
        "sdk_key_counts",
        "evaluation_series",
        "request_series",
        "edge_series",
        "unknown_series",
        "minute_counts",
        "hour_counts",
        "day_counts",
        "exposures",
        "event_series",
        "unit_events",
        "edge_samples",
    ];

    /// Statements without comments, in lower case, with single blanks.
    fn statements(sql: &str) -> Vec<String> {
        let lines = sql.lines().map(|line| line.split("--").next().unwrap_or(""));
        let text = lines.collect::<Vec<_>>().join(" ").to_lowercase();
        text.split(';').map(|statement| statement.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    /// Why a statement would keep writers out of a large table for long.
    fn problem(statement: &str) -> Option<&'static str> {
        let words: Vec<&str> = statement.split([' ', '(', ',']).collect();
        let names_large = words.windows(2).any(|pair| {
            matches!(pair[0], "on" | "table" | "only" | "exists")
                && LARGE.contains(&pair[1].trim_start_matches("public."))
        });
        if !names_large {
            return None;
        }
        let is_index = statement.starts_with("create index") || statement.starts_with("create unique index");
        if is_index && !words.contains(&"concurrently") {
            return Some("builds an index without concurrently");
        }
        if statement.starts_with("alter table") && statement.contains(" generated ") && statement.contains(" stored") {
            return Some("adds a stored generated column, which writes the whole table anew");
        }
        if statement.starts_with("alter table") && words.windows(2).any(|pair| pair[0] == "type" && pair[1] != "=") {
            return Some("gives a column another type, which writes the whole table anew");
        }
        None
    }

    #[test]
    fn no_migration_keeps_writers_out_of_a_large_table() {
        for migration in MIGRATIONS.iter().filter(|migration| migration.version >= IN_USE_FROM) {
            let sql = migration.sql.as_str();
            for statement in statements(sql) {
                let found = problem(&statement);
                assert_eq!(found, None, "{} {}: {statement}", migration.version, migration.description);
            }
            if sql.to_lowercase().contains(" concurrently ") {
                assert!(migration.no_tx, "{} needs '-- no-transaction' as its first line", migration.version);
                let count = statements(sql).iter().filter(|statement| !statement.is_empty()).count();
                assert_eq!(
                    count, 1,
                    "{} must be alone in its file: together they are one transaction",
                    migration.version
                );
            }
        }
    }

    #[test]
    fn what_keeps_writers_out_is_recognised() {
        for bad in [
            "create index a on changesets (note)",
            "CREATE UNIQUE INDEX a\n  ON public.revision_entries(entity)",
            "create index if not exists a on only state (key)",
            "alter table flag_configs add column x text generated always as (key || '!') stored",
            "alter table revision_entries alter column entity type varchar(50)",
            "alter table if exists minute_counts alter column count set data type numeric",
        ] {
            assert!(statements(bad).iter().any(|statement| problem(statement).is_some()), "{bad}");
        }
        for good in [
            "create index concurrently a on changesets (note)",
            "create index a on small_table (note)",
            "alter table changesets add column x text -- create index b on changesets (x)",
            "alter table audit_events add column number2 bigint generated always as identity",
        ] {
            assert!(statements(good).iter().all(|statement| problem(statement).is_none()), "{good}");
        }
    }
}

//! The connections that requests share.
//!
//! After a fail-over a connection may still lead to the server that was the primary: it answers, and refuses every write
//! (SQLSTATE 25006). So each connection is asked before it is lent whether it may write, in place of the ping that there
//! would be anyway; one that may not is closed and another is opened, which leads to whoever is the primary then. One that
//! was just opened is lent as it is: while there is no primary at all, reads go on.

use std::time::Duration;

use sqlx::postgres::PgPoolOptions;
use sqlx::{Executor, PgConnection, Row};

/// A request waits this long for a connection.
const ACQUIRE_MAX: Duration = Duration::from_secs(5);

/// How the pool is made; the caller says how large.
pub fn options() -> PgPoolOptions {
    PgPoolOptions::new()
        .acquire_timeout(ACQUIRE_MAX)
        .test_before_acquire(false)
        .before_acquire(|db, _| Box::pin(may_write(db)))
}

async fn may_write(db: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let row = db.fetch_one("select current_setting('transaction_read_only') = 'off'").await?;
    let may = row.try_get::<bool, _>(0)?;
    if !may {
        tracing::warn!("a connection to the database may not write any more; another one is opened");
    }
    Ok(may)
}

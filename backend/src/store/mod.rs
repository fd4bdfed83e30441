//! All the SQL there is. Functions take a connection first and the scope (project, environment) next; the pool and an
//! open transaction both provide a connection, so each query is written once.

pub mod attribute;
pub mod audit;
pub mod bucket_only;
pub mod changeset;
pub mod config;
pub mod count;
pub mod edge;
pub mod environment;
pub mod exchange;
pub mod experiment;
pub mod flag;
pub mod freeze;
pub mod history;
pub mod idempotency;
pub mod invite;
pub mod kill;
pub mod member;
pub mod metric;
pub mod migration;
pub mod plan;
pub mod policy;
pub mod pool;
pub mod project;
pub mod reference;
pub mod reset;
pub mod review;
pub mod role;
pub mod sdk_key;
pub mod segment;
pub mod session;
pub mod stale;
pub mod state;
pub mod token;
pub mod user;
pub mod view;
pub mod webhook;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::{PgPool, Postgres, Transaction};
use thiserror::Error;

/// Format of the documents that this version writes into `jsonb` columns.
pub const DOCUMENT_FORMAT: i32 = 1;

/// Why the database did not do what was asked.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A constraint refused the row.
    #[error("constraint {0} refused the row")]
    Conflict(String),
    /// A row holds what this version cannot read.
    #[error("{table} {id} holds a document that cannot be read (format {format})")]
    Corrupt {
        /// The table.
        table: &'static str,
        /// The row.
        id: String,
        /// The document's format.
        format: i32,
        /// Why.
        source: Option<serde_json::Error>,
    },
    /// Anything else.
    #[error("the database failed")]
    Database(#[source] sqlx::Error),
}

impl StoreError {
    /// True when asking again later may help.
    pub fn is_unavailable(&self) -> bool {
        match self {
            Self::Database(sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed) => true,
            // 57P0x: the server is being stopped or started; 53300: too many connections; 25006: it may not write, since
            // another one is the primary now (see `pool`).
            Self::Database(sqlx::Error::Database(error)) => {
                error.code().is_some_and(|code| code.starts_with("57P") || code == "53300" || code == "25006")
            }
            _ => false,
        }
    }

    /// True when a statement took longer than it may.
    pub fn took_too_long(&self) -> bool {
        matches!(self, Self::Database(sqlx::Error::Database(error)) if error.code().as_deref() == Some("57014"))
    }

    /// True when this constraint refused the row.
    pub fn is_conflict(&self, constraint: &str) -> bool {
        matches!(self, Self::Conflict(name) if name == constraint)
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match error.as_database_error().and_then(|e| e.constraint()) {
            Some(constraint) => Self::Conflict(constraint.into()),
            None => Self::Database(error),
        }
    }
}

/// Begins a read of one moment, each statement of which ends after 10 s. Plans are never compiled, which takes longer than
/// they do.
pub async fn begin_bounded(pool: &PgPool) -> Result<Transaction<'static, Postgres>, StoreError> {
    let mut tx = pool.begin_with("begin isolation level repeatable read read only").await?;
    sqlx::raw_sql("set local statement_timeout = '10s'; set local jit = off; set local work_mem = '32MB'")
        .execute(&mut *tx)
        .await?;
    Ok(tx)
}

/// The same, where each statement is planned for the filters that are there: one plan for all of them would read everything.
pub async fn begin_filtered(pool: &PgPool) -> Result<Transaction<'static, Postgres>, StoreError> {
    let mut tx = begin_bounded(pool).await?;
    sqlx::raw_sql("set local plan_cache_mode = force_custom_plan").execute(&mut *tx).await?;
    Ok(tx)
}

/// Reads a document of a format that this version knows.
fn read_document<T: DeserializeOwned>(
    table: &'static str,
    id: impl ToString,
    format: i32,
    document: serde_json::Value,
) -> Result<T, StoreError> {
    let corrupt = |source| StoreError::Corrupt { table, id: id.to_string(), format, source };
    if format > DOCUMENT_FORMAT {
        return Err(corrupt(None));
    }
    serde_json::from_value(document).map_err(|error| corrupt(Some(error)))
}

/// A row of a list, unless it cannot be read; then the log says so and the others are shown.
fn readable<T>(row: Result<T, StoreError>) -> Option<T> {
    row.inspect_err(|error| tracing::error!(error = %crate::error::chain(error), "a row is left out of a list")).ok()
}

/// The document as `jsonb`.
fn write_document(document: &impl Serialize) -> Result<serde_json::Value, StoreError> {
    serde_json::to_value(document).map_err(|error| StoreError::Database(sqlx::Error::Encode(Box::new(error))))
}

/// Revisions, versions and counts are never negative; `bigint` is the nearest type PostgreSQL has.
fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// The other way round; beyond 2^63 nothing is stored.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

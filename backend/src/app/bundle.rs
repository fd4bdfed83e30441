//! Exporting what edges must hold as a state bundle.

use std::collections::BTreeMap;

use shared::wire::bundle::{BUNDLE_BYTES_MAX, Bundle};
use shared::wire::state::{Envelope, StateKey};
use sqlx::{Connection, PgConnection};
use thiserror::Error;

use crate::state::AppState;
use crate::store;
use crate::store::StoreError;
use crate::store::environment::NamedEnvironment;

/// So many environments fit into a bundle.
const ENVIRONMENTS_MAX: i64 = 50_000;
/// So many projects or environments are named to somebody who asked for another.
const NAMED_MAX: usize = 20;
/// Room for the head of a bundle, and around each value for quotes, colon, comma and the end of the line.
const HEAD_BYTES: usize = 1024;
const FRAME_BYTES: usize = 8;

/// What to export; without a project everything.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Key of one project.
    pub project: Option<String>,
    /// Key of one environment of that project.
    pub environment: Option<String>,
}

/// Why there is no bundle.
#[derive(Debug, Error)]
pub enum ExportError {
    /// No such project or environment.
    #[error("{asked} does not exist; there is {known}")]
    Unknown {
        /// What was asked for.
        asked: String,
        /// What there is instead.
        known: String,
    },
    /// More than edges read.
    #[error(
        "the bundle would be larger than {BUNDLE_BYTES_MAX} bytes; export one project or environment alone, \
         as --project shop --environment production"
    )]
    TooLarge,
    /// A row of table `state` holds what no backend wrote.
    #[error("the value of '{key}' in table state cannot be read")]
    Corrupt {
        /// Its key.
        key: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for ExportError {
    fn from(error: sqlx::Error) -> Self {
        StoreError::from(error).into()
    }
}

/// Reads table `state` in one moment of the database, tombstones and revoked keys included.
pub async fn export(state: &AppState, selection: &Selection) -> Result<Bundle, ExportError> {
    let mut db = state.pool.acquire().await?;
    let mut tx = db.begin_with("begin isolation level repeatable read read only").await?;
    let environments = environments(&mut tx, selection).await?;
    let exported_at = state.clock.now().into();
    let mut values = BTreeMap::new();
    let mut bytes = HEAD_BYTES;
    for environment in environments {
        for row in store::state::list_above(&mut tx, environment.id, 0).await? {
            bytes += row.key.len() + row.value.len() + FRAME_BYTES;
            let corrupt = |source: Box<dyn std::error::Error + Send + Sync>| {
                let key = row.key.clone();
                ExportError::Corrupt { key, source }
            };
            let key: StateKey = row.key.parse().map_err(|error| corrupt(Box::new(error)))?;
            let envelope: Envelope = serde_json::from_str(&row.value).map_err(|error| corrupt(error.into()))?;
            values.insert(key, envelope);
        }
        if bytes > BUNDLE_BYTES_MAX {
            return Err(ExportError::TooLarge);
        }
    }
    tx.commit().await?;
    Ok(Bundle { exported_at, values })
}

async fn environments(db: &mut PgConnection, selection: &Selection) -> Result<Vec<NamedEnvironment>, ExportError> {
    let Selection { project, environment } = selection;
    let (project, environment) = (project.as_deref(), environment.as_deref());
    let found = store::environment::list_named(db, project, environment, ENVIRONMENTS_MAX + 1).await?;
    if found.len() > ENVIRONMENTS_MAX as usize {
        return Err(ExportError::TooLarge);
    }
    let Some(project) = project.filter(|_| found.is_empty()) else { return Ok(found) };
    let beside = store::environment::list_named(db, Some(project), None, ENVIRONMENTS_MAX).await?;
    Err(match environment.filter(|_| !beside.is_empty()) {
        Some(environment) => ExportError::Unknown {
            asked: format!("environment '{environment}' of project '{project}'"),
            known: named(beside.into_iter().map(|environment| environment.key).collect()),
        },
        None => {
            let all = store::environment::list_named(db, None, None, ENVIRONMENTS_MAX).await?;
            let mut projects: Vec<String> = all.into_iter().map(|environment| environment.project).collect();
            projects.dedup();
            ExportError::Unknown { asked: format!("project '{project}'"), known: named(projects) }
        }
    })
}

fn named(mut keys: Vec<String>) -> String {
    let more = keys.len().saturating_sub(NAMED_MAX);
    keys.truncate(NAMED_MAX);
    match (keys.is_empty(), more) {
        (true, _) => "none at all yet".into(),
        (false, 0) => keys.join(", "),
        (false, more) => format!("{} and {more} more", keys.join(", ")),
    }
}

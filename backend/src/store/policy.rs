//! Policies of environments. A row without a document is an environment that is not protected any more.

use serde_json::Value;
use shared::model::id::{EnvironmentId, ProjectId, UserId};
use shared::model::policy::Policy;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::{DOCUMENT_FORMAT, StoreError, read_document, signed, unsigned, write_document};

/// What protects an environment.
#[derive(Clone, Debug)]
pub struct StoredPolicy {
    /// Which.
    pub environment_id: EnvironmentId,
    /// What a changeset needs; absent when nothing.
    pub policy: Option<Policy>,
    /// Counts up with every change.
    pub version: u64,
}

struct PolicyRow {
    environment_id: Uuid,
    format: i32,
    document: Option<Value>,
    version: i64,
}

impl TryFrom<PolicyRow> for StoredPolicy {
    type Error = StoreError;

    fn try_from(row: PolicyRow) -> Result<Self, StoreError> {
        let read = |document| read_document("policies", row.environment_id, row.format, document);
        Ok(Self {
            environment_id: row.environment_id.into(),
            policy: row.document.map(read).transpose()?,
            version: unsigned(row.version),
        })
    }
}

/// The policies of a project's environments, where there ever was one. One that cannot be read fails all: whoever
/// cannot read what protects an environment must not touch it.
pub async fn list(db: &mut PgConnection, project: ProjectId) -> Result<Vec<StoredPolicy>, StoreError> {
    let rows = sqlx::query_as!(
        PolicyRow,
        "select policies.environment_id, policies.format, policies.document, policies.version
         from policies
         join environments on environments.id = policies.environment_id
         where environments.project_id = $1
         order by environments.position",
        project.uuid(),
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(StoredPolicy::try_from).collect()
}

/// A policy as it is kept, whether or not this version can read it.
#[derive(Clone, Debug)]
pub struct KeptPolicy {
    /// Of which environment.
    pub environment_id: EnvironmentId,
    /// The document; absent when the environment is not protected.
    pub document: Option<Value>,
    /// Counts up with every change.
    pub version: u64,
}

/// The policies of a project as they are kept, for whoever ends them.
pub async fn list_kept(db: &mut PgConnection, project: ProjectId) -> Result<Vec<KeptPolicy>, StoreError> {
    let rows = sqlx::query!(
        "select policies.environment_id, policies.document, policies.version
         from policies
         join environments on environments.id = policies.environment_id
         where environments.project_id = $1",
        project.uuid(),
    )
    .fetch_all(db)
    .await?;
    let kept = rows.into_iter().map(|row| KeptPolicy {
        environment_id: row.environment_id.into(),
        document: row.document,
        version: unsigned(row.version),
    });
    Ok(kept.collect())
}

/// Writes the policy of an environment, or that there is none, with its next version.
pub async fn save(
    db: &mut PgConnection,
    environment: EnvironmentId,
    policy: Option<&Policy>,
    version: u64,
    author: Option<UserId>,
    at: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into policies (environment_id, format, document, version, changed_at, changed_by)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (environment_id) do update
         set format = excluded.format, document = excluded.document, version = excluded.version,
             changed_at = excluded.changed_at, changed_by = excluded.changed_by",
        environment.uuid(),
        DOCUMENT_FORMAT,
        policy.map(write_document).transpose()?,
        signed(version + 1),
        at,
        author.map(UserId::uuid),
    )
    .execute(db)
    .await?;
    Ok(())
}

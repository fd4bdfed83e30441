//! Metrics of experiments.

use shared::model::id::{MetricId, ProjectId, UserId};
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::store::StoreError;

/// A metric as stored.
#[derive(Clone, Debug)]
pub struct Metric {
    /// Its id.
    pub id: MetricId,
    /// For people.
    pub name: String,
    /// The name of the event.
    pub event: String,
    /// `conversion` or `numeric`.
    pub kind: String,
    /// When it was made.
    pub created_at: OffsetDateTime,
    /// Who made it.
    pub created_by: String,
}

/// The metrics of a project by name; with `id`, that one alone.
pub async fn list(db: &mut PgConnection, project: ProjectId, id: Option<MetricId>) -> Result<Vec<Metric>, StoreError> {
    let metrics = sqlx::query_as!(
        Metric,
        "select metrics.id, metrics.name, metrics.event, metrics.kind, metrics.created_at, users.name as created_by
         from metrics
         join users on users.id = metrics.created_by
         where metrics.project_id = $1 and ($2::uuid is null or metrics.id = $2)
         order by metrics.name",
        project.uuid(),
        id.map(MetricId::uuid),
    )
    .fetch_all(db)
    .await?;
    Ok(metrics)
}

/// Adds a metric, unless the project has `most` of them already; then false.
pub async fn insert(
    db: &mut PgConnection,
    project: ProjectId,
    metric: &Metric,
    author: UserId,
    most: i64,
) -> Result<bool, StoreError> {
    // Two who add the last one at the same moment wait for each other, and for no changeset.
    sqlx::query!("select from projects where id = $1 for no key update", project.uuid()).execute(&mut *db).await?;
    let done = sqlx::query!(
        "insert into metrics (id, project_id, name, event, kind, created_at, created_by)
         select $1, $2, $3, $4, $5, $6, $7
         where (select count(*) from metrics where project_id = $2) < $8",
        metric.id.uuid(),
        project.uuid(),
        metric.name,
        metric.event,
        metric.kind,
        metric.created_at,
        author.uuid(),
        most,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Changes what is given of a metric; false when it does not exist.
pub async fn update(
    db: &mut PgConnection,
    project: ProjectId,
    id: MetricId,
    name: Option<&str>,
    event: Option<&str>,
    kind: Option<&str>,
) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "update metrics
         set name = coalesce($3, name), event = coalesce($4, event), kind = coalesce($5, kind)
         where project_id = $1 and id = $2",
        project.uuid(),
        id.uuid(),
        name,
        event,
        kind,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Deletes a metric; false when it does not exist. Its events stay.
pub async fn delete(db: &mut PgConnection, project: ProjectId, id: MetricId) -> Result<bool, StoreError> {
    let done = sqlx::query!("delete from metrics where project_id = $1 and id = $2", project.uuid(), id.uuid())
        .execute(db)
        .await?;
    Ok(done.rows_affected() > 0)
}

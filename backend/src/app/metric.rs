//! Metrics of experiments: made, listed, changed, deleted. They change no answer, so no changeset is needed.

use shared::model::id::{MetricId, ProjectId};
use shared::wire::api::metric::{CreateMetric, METRICS_MAX, MetricDetail, MetricKind, MetricList, UpdateMetric};

use crate::app::changeset::check_name;
use crate::auth::permission::Actor;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::StoreError;
use crate::store::metric::Metric;

/// The metrics of a project by name.
pub async fn list(state: &AppState, project: ProjectId) -> Result<MetricList, AppError> {
    let metrics = store::metric::list(&mut *state.pool.acquire().await?, project, None).await?;
    Ok(MetricList { items: metrics.into_iter().map(detail).collect::<Result<_, _>>()? })
}

/// Makes a metric.
pub async fn create(
    state: &AppState,
    author: &Actor,
    project: ProjectId,
    body: CreateMetric,
) -> Result<MetricDetail, AppError> {
    check_name(&body.name)?;
    let metric = Metric {
        id: state.clock.id(),
        name: body.name.trim().to_owned(),
        event: body.event.into(),
        kind: body.kind.as_str().into(),
        created_at: state.clock.now(),
        created_by: author.name.clone(),
    };
    let mut tx = state.pool.begin().await?;
    let most = i64::try_from(METRICS_MAX).unwrap_or(i64::MAX);
    let added = store::metric::insert(&mut tx, project, &metric, author.user, most).await;
    if !added.map_err(|error| taken(error, &metric.name))? {
        let message = format!("a project has at most {METRICS_MAX} metrics; delete one first");
        return Err(AppError::field("name", message));
    }
    tx.commit().await?;
    detail(metric)
}

/// Changes a metric.
pub async fn update(
    state: &AppState,
    project: ProjectId,
    id: MetricId,
    body: UpdateMetric,
) -> Result<MetricDetail, AppError> {
    if let Some(name) = &body.name {
        check_name(name)?;
    }
    let mut db = state.pool.acquire().await?;
    let name = body.name.as_deref().map(str::trim);
    let event = body.event.as_ref().map(|event| event.as_str());
    let kind = body.kind.map(MetricKind::as_str);
    let known = store::metric::update(&mut db, project, id, name, event, kind).await;
    if !known.map_err(|error| taken(error, name.unwrap_or_default()))? {
        return Err(AppError::not_found("metric", id));
    }
    let found = store::metric::list(&mut db, project, Some(id)).await?.pop();
    detail(found.ok_or_else(|| AppError::not_found("metric", id))?)
}

/// Deletes a metric; its events stay, and a metric made anew reads them again.
pub async fn delete(state: &AppState, project: ProjectId, id: MetricId) -> Result<(), AppError> {
    let known = store::metric::delete(&mut *state.pool.acquire().await?, project, id).await?;
    if known { Ok(()) } else { Err(AppError::not_found("metric", id)) }
}

/// A metric as the API shows it.
pub(super) fn detail(metric: Metric) -> Result<MetricDetail, AppError> {
    let kind = MetricKind::parse(&metric.kind);
    Ok(MetricDetail {
        id: metric.id,
        name: metric.name,
        event: metric.event.parse().map_err(AppError::internal)?,
        kind: kind.ok_or_else(|| AppError::internal(format!("'{}' is not a kind of metric", metric.kind)))?,
        created_at: metric.created_at.into(),
        created_by: metric.created_by,
    })
}

fn taken(error: StoreError, name: &str) -> AppError {
    if error.is_conflict("metrics_name_unique") {
        return AppError::field("name", format!("'{name}' is the name of another metric; choose another"));
    }
    error.into()
}

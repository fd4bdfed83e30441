//! What a person does with segments.

use std::error::Error;
use std::str::FromStr;

use shared::model::change::Change;
use shared::model::changeset::Note;
use shared::model::id::ProjectId;
use shared::model::key::SegmentKey;
use shared::model::segment::SegmentDefinition;
use shared::wire::api::changeset::ChangesetDetail;
use shared::wire::api::segment::{CreateSegment, SegmentDetail, SegmentList, SegmentSummary, UpdateSegment};

use crate::app::changeset;
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::segment::Segment;

/// Makes a segment.
pub async fn create(state: &AppState, who: &InProject, body: CreateSegment) -> Result<ChangesetDetail, AppError> {
    let change = Change::CreateSegment { definition: body.definition, name: body.name };
    changeset::submit(state, who, vec![change], &body.note).await
}

/// Replaces who is in a segment, wherever it is used.
pub async fn update(
    state: &AppState,
    who: &InProject,
    key: SegmentKey,
    version: u64,
    body: UpdateSegment,
) -> Result<ChangesetDetail, AppError> {
    let UpdateSegment { name, excluded, included, conditions, note } = body;
    let definition = SegmentDefinition { key, excluded, included, conditions };
    let change = Change::UpdateSegment { version, definition, name };
    changeset::submit(state, who, vec![change], &note).await
}

/// Removes a segment that no flag and no other segment names.
pub async fn delete(state: &AppState, who: &InProject, segment: SegmentKey) -> Result<ChangesetDetail, AppError> {
    changeset::submit(state, who, vec![Change::DeleteSegment { segment }], &Note::default()).await
}

/// The segments of a project, by key.
pub async fn list(state: &AppState, project: ProjectId) -> Result<SegmentList, AppError> {
    let segments = store::segment::list(&mut *state.pool.acquire().await?, project).await?;
    Ok(SegmentList { items: segments.into_iter().map(summary).collect::<Result<_, _>>()? })
}

/// A segment with who is in it and who uses it.
pub async fn detail(state: &AppState, project: ProjectId, key: &SegmentKey) -> Result<SegmentDetail, AppError> {
    let found = store::segment::find(&mut *state.pool.acquire().await?, project, key.as_str()).await?;
    detail_of(found.ok_or_else(|| AppError::not_found("segment", key))?)
}

fn detail_of(segment: Segment) -> Result<SegmentDetail, AppError> {
    Ok(SegmentDetail {
        used_by: keys(&segment.used_by)?,
        used_by_segments: keys(&segment.used_by_segments)?,
        definition: segment.definition,
        name: segment.name,
        version: segment.version,
        changed_at: segment.changed_at.into(),
        changed_by: segment.changed_by,
    })
}

fn summary(segment: store::segment::Summary) -> Result<SegmentSummary, AppError> {
    let unsigned = |number: i64| u64::try_from(number).unwrap_or(0);
    Ok(SegmentSummary {
        key: segment.key.parse().map_err(AppError::internal)?,
        version: unsigned(segment.version),
        excluded: unsigned(segment.excluded),
        included: unsigned(segment.included),
        changed_at: segment.changed_at.into(),
        changed_by: segment.changed_by,
        used_by: keys(&segment.used_by)?,
        used_by_segments: keys(&segment.used_by_segments)?,
        name: segment.name,
    })
}

fn keys<K>(keys: &[String]) -> Result<Vec<K>, AppError>
where
    K: FromStr<Err: Error + Send + Sync + 'static>,
{
    keys.iter().map(|key| key.parse()).collect::<Result<_, _>>().map_err(AppError::internal)
}

//! What a person does with segments.

mod keys;
mod usage;

use std::error::Error;
use std::str::FromStr;

use shared::model::change::Change;
use shared::model::changeset::Note;
use shared::model::id::ProjectId;
use shared::model::key::SegmentKey;
use shared::model::segment::SegmentDefinition;
use shared::sentence;
use shared::wire::api::changeset::ChangesetDetail;
use shared::wire::api::segment::{
    CreateSegment, RenameSegment, SegmentDetail, SegmentList, SegmentSummary, UpdateSegment,
};
use sqlx::PgConnection;

pub use keys::{contains, edit_keys, list_keys, replace_keys};
pub use usage::{effect, uses};

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

/// Gives a segment another name; who is in it stays.
pub async fn rename(
    state: &AppState,
    who: &InProject,
    key: &SegmentKey,
    version: u64,
    body: RenameSegment,
) -> Result<ChangesetDetail, AppError> {
    let segment = find_version(&mut *state.pool.acquire().await?, who.id(), key, version).await?;
    let change = Change::UpdateSegment { version, definition: segment.definition, name: body.name };
    changeset::submit(state, who, vec![change], &body.note).await
}

/// A page of the segments of a project, by key: those whose key or name holds `text`.
pub async fn list(
    state: &AppState,
    project: ProjectId,
    text: Option<&str>,
    after: Option<&SegmentKey>,
    limit: i64,
) -> Result<SegmentList, AppError> {
    let mut db = state.pool.acquire().await?;
    let after = after.map(SegmentKey::as_str);
    let (segments, next) = store::segment::list(&mut db, project, text, after, limit).await?;
    let matching = store::segment::count_matching(&mut db, project, text).await?;
    let next = next.map(|key| key.parse()).transpose().map_err(AppError::internal)?;
    Ok(SegmentList { items: segments.into_iter().map(summary).collect::<Result<_, _>>()?, next, matching })
}

/// A segment with who is in it and who uses it.
pub async fn detail(state: &AppState, project: ProjectId, key: &SegmentKey) -> Result<SegmentDetail, AppError> {
    detail_of(find(&mut *state.pool.acquire().await?, project, key).await?)
}

/// Finds a segment or says that there is none.
async fn find(db: &mut PgConnection, project: ProjectId, key: &SegmentKey) -> Result<Segment, AppError> {
    let found = store::segment::find(db, project, key.as_str()).await?;
    found.ok_or_else(|| AppError::not_found("segment", key))
}

/// The same, as somebody saw it: a change is made of what they saw, or not at all.
async fn find_version(
    db: &mut PgConnection,
    project: ProjectId,
    key: &SegmentKey,
    expected: u64,
) -> Result<Segment, AppError> {
    let found = find(db, project, key).await?;
    match found.version {
        actual if actual == expected => Ok(found),
        actual => Err(AppError::Stale { noun: "segment", expected, actual }),
    }
}

fn detail_of(segment: Segment) -> Result<SegmentDetail, AppError> {
    Ok(SegmentDetail {
        used_by: parsed(&segment.used_by)?,
        used_by_segments: parsed(&segment.used_by_segments)?,
        definition: segment.definition,
        name: segment.name,
        version: segment.version,
        changed_at: segment.changed_at.into(),
        changed_by: segment.changed_by,
    })
}

fn summary(segment: store::segment::Summary) -> Result<SegmentSummary, AppError> {
    let conditions = &segment.definition.conditions;
    // Without a comparison only the included keys are in it.
    let is_keys_alone = conditions.leaves().is_empty();
    Ok(SegmentSummary {
        conditions: if is_keys_alone { String::new() } else { sentence::condition(conditions) },
        key: segment.definition.key,
        version: segment.version,
        excluded: segment.excluded,
        included: segment.included,
        changed_at: segment.changed_at.into(),
        changed_by: segment.changed_by,
        used_by: parsed(&segment.used_by)?,
        used_by_segments: parsed(&segment.used_by_segments)?,
        name: segment.name,
    })
}

/// Keys as the database has them.
fn parsed<K>(keys: &[String]) -> Result<Vec<K>, AppError>
where
    K: FromStr<Err: Error + Send + Sync + 'static>,
{
    keys.iter().map(|key| key.parse()).collect::<Result<_, _>>().map_err(AppError::internal)
}

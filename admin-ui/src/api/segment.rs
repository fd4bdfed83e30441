//! Segments.

use shared::wire::api::segment::SegmentList;

use crate::api::client::{ApiError, get, path};

/// The segments of a project.
pub async fn list(project: &str) -> Result<SegmentList, ApiError> {
    get(&path(&["projects", project, "segments"])).await
}

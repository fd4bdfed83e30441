//! Projects.

use shared::wire::api::project::ProjectList;

use crate::api::client::{ApiError, get, path};

/// All that I may see.
pub async fn list() -> Result<ProjectList, ApiError> {
    get(&path(&["projects"])).await
}

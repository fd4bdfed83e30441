//! First run.

use shared::wire::api::session::SessionDetail;
use shared::wire::api::setup::{Setup, SetupStatus};

use crate::api::client::{ApiError, get, path, post};

/// Whether it is still possible.
pub async fn status() -> Result<SetupStatus, ApiError> {
    get(&path(&["setup"])).await
}

/// Makes the first person and project, and signs in.
pub async fn create(body: &Setup) -> Result<SessionDetail, ApiError> {
    post(&path(&["setup"]), body).await
}

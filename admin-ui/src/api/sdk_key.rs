//! SDK keys.

use shared::wire::api::sdk_key::{CreateSdkKey, CreatedSdkKey, SdkKeyList, SdkKeySummary};

use crate::api::client::{ApiError, get, path, post, post_empty};

/// The keys of a project.
pub async fn list(project: &str) -> Result<SdkKeyList, ApiError> {
    get(&path(&["projects", project, "keys"])).await
}

/// Makes one; its secret is in the answer and nowhere else.
pub async fn create(project: &str, body: &CreateSdkKey) -> Result<CreatedSdkKey, ApiError> {
    post(&path(&["projects", project, "keys"]), body).await
}

/// Refuses it from now on.
pub async fn revoke(project: &str, id: &str) -> Result<SdkKeySummary, ApiError> {
    post_empty(&path(&["projects", project, "keys", id, "revoke"])).await
}

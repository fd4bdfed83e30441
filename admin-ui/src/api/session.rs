//! Sessions.

use shared::wire::api::session::{SessionDetail, SignIn};

use crate::api::client::{self, ApiError, get, path, post};

/// Who is signed in.
pub async fn find() -> Result<SessionDetail, ApiError> {
    get(&path(&["session"])).await
}

/// Signs in.
pub async fn create(body: &SignIn) -> Result<SessionDetail, ApiError> {
    post(&path(&["session"]), body).await
}

/// Signs out.
pub async fn delete() -> Result<(), ApiError> {
    client::delete(&path(&["session"])).await
}

//! Edges and receipts.

use shared::wire::api::edge::{EdgeList, ReceiptDetail};

use crate::api::client::{self, ApiError, get, path};

/// All edges.
pub async fn list() -> Result<EdgeList, ApiError> {
    get(&path(&["edges"])).await
}

/// Counts an edge no longer.
pub async fn dismiss(process: &str) -> Result<(), ApiError> {
    client::delete(&path(&["edges", process])).await
}

/// How far a revision has come.
pub async fn receipt(project: &str, environment: &str, revision: u64) -> Result<ReceiptDetail, ApiError> {
    let path = path(&["projects", project, "environments", environment, "receipt"]);
    get(&format!("{path}?revision={revision}")).await
}

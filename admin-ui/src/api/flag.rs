//! Flags and their configs.

use shared::wire::api::changeset::{ChangesetDetail, WithNote};
use shared::wire::api::flag::{CreateFlag, FlagDetail, FlagPage, KillFlag, SaveConfig};

use crate::api::client::{ApiError, get, path, post, put};
use crate::route::Query;

/// What a list of flags is asked by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Text to search for.
    pub q: String,
    /// `changed` or `key`.
    pub sort: String,
    /// Where the page begins.
    pub after: Option<String>,
    /// At most so many; 1 to 100.
    pub limit: u32,
}

/// A page of the project's flags.
pub async fn list(project: &str, filter: &Filter) -> Result<FlagPage, ApiError> {
    let query = Query::default()
        .with("q", Some(filter.q.as_str()).filter(|q| !q.is_empty()))
        .with("sort", Some(&filter.sort))
        .with("after", filter.after.as_deref())
        .with("limit", Some(&filter.limit.to_string()));
    get(&format!("{}{query}", path(&["projects", project, "flags"]))).await
}

/// Everything about one.
pub async fn find(project: &str, flag: &str) -> Result<FlagDetail, ApiError> {
    get(&path(&["projects", project, "flags", flag])).await
}

/// Makes one.
pub async fn create(project: &str, body: &CreateFlag) -> Result<ChangesetDetail, ApiError> {
    post(&path(&["projects", project, "flags"]), body).await
}

/// Replaces its config in one environment; 412 when it no longer has that version.
pub async fn save_config(
    project: &str,
    flag: &str,
    environment: &str,
    version: u64,
    body: &SaveConfig,
) -> Result<ChangesetDetail, ApiError> {
    put(&path(&["projects", project, "flags", flag, "environments", environment]), version, body).await
}

/// Turns it off at once.
pub async fn kill(project: &str, flag: &str, body: &KillFlag) -> Result<ChangesetDetail, ApiError> {
    post(&path(&["projects", project, "flags", flag, "kill"]), body).await
}

/// Lifts a kill.
pub async fn restore(
    project: &str,
    flag: &str,
    environment: &str,
    body: &WithNote,
) -> Result<ChangesetDetail, ApiError> {
    post(&path(&["projects", project, "flags", flag, "environments", environment, "restore"]), body).await
}

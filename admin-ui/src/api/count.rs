//! Counts of evaluations.

use shared::wire::api::count::CountSeries;

use crate::api::client::{ApiError, get, path};

/// Evaluations of a flag in the last hour, by minute and variant.
pub async fn last_hour(project: &str, flag: &str, environment: &str) -> Result<CountSeries, ApiError> {
    get(&path(&["projects", project, "flags", flag, "environments", environment, "counts"])).await
}

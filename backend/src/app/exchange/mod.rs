//! A project as one file: written, compared with what there is, and applied.
//!
//! [`plan`] says what a file would change, or what is wrong with it and where; [`import`] does exactly that, or nothing
//! when the project changed since. Both compare documents in memory (`check`, `diff`); what is done is ordinary
//! changes in slices, each through [`crate::app::changeset::submit`], so that nothing here knows of protection but for
//! telling beforehand what will wait.

mod apply;
mod check;
mod current;
mod diff;
mod flags;
mod order;
mod register;

pub use apply::import;
use sha2::{Digest, Sha256};
use shared::model::change::Change;
use shared::model::id::ProjectId;
use shared::wire::api::import::ImportPlan;
use shared::wire::project_file::{FILE_BYTES_MAX, ProjectFile};

use crate::app::exchange::current::Current;
use crate::app::exchange::diff::Planned;
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;

/// Exports and imports that may be under way at once; each may hold some hundred megabytes.
pub const AT_ONCE_MAX: usize = 2;

/// The project as a file, the same bytes for the same project.
pub async fn export(state: &AppState, who: &InProject) -> Result<Vec<u8>, AppError> {
    let current = Current::load(state, who).await?;
    let written = tokio::task::spawn_blocking(move || {
        let file = current.into_file()?;
        let mut bytes = serde_json::to_vec_pretty(&file).map_err(AppError::internal)?;
        bytes.push(b'\n');
        Ok::<_, AppError>(bytes)
    });
    let bytes = written.await.map_err(AppError::internal)??;
    if bytes.len() > FILE_BYTES_MAX {
        let message = format!(
            "the file would have {} bytes; at most {FILE_BYTES_MAX} are allowed, archive flags first",
            bytes.len()
        );
        return Err(AppError::field("project", message));
    }
    Ok(bytes)
}

/// What a file would change; nothing is written.
pub async fn plan(state: &AppState, who: &InProject, file: ProjectFile, remove: bool) -> Result<ImportPlan, AppError> {
    Ok(planned(state, who, file, remove).await?.plan)
}

/// The changes that an import would make, slice by slice in their order.
pub async fn changes(
    state: &AppState,
    who: &InProject,
    file: ProjectFile,
    remove: bool,
) -> Result<Vec<Vec<Change>>, AppError> {
    Ok(planned(state, who, file, remove).await?.slices)
}

/// Checks a file and compares it with the project, as it is in one moment.
async fn planned(state: &AppState, who: &InProject, file: ProjectFile, remove: bool) -> Result<Planned, AppError> {
    let current = Current::load(state, who).await?;
    let project = who.id();
    // Ten thousand flags with their patterns keep a thread busy for seconds.
    let compared = tokio::task::spawn_blocking(move || {
        check::check(&file, &current, remove)?;
        let mut planned = diff::compare(&file, &current, remove)?;
        planned.plan.digest = digest(project, &planned)?;
        Ok(planned)
    });
    compared.await.map_err(AppError::internal)?
}

/// SHA-256 of all that would be done. The versions of what it would be done to are in the changes.
fn digest(project: ProjectId, planned: &Planned) -> Result<String, AppError> {
    let all = (project, &planned.environments, &planned.slices, &planned.register);
    let text = serde_json::to_vec(&all).map_err(AppError::internal)?;
    Ok(crate::auth::sdk_key::hex(&Sha256::digest(text)))
}

//! `export` and `import`: a project as one file.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use shared::model::changeset::{Note, Via};
use shared::model::id::UserId;
use shared::wire::api::import::{ImportAction, ImportPlan, ImportProject};
use shared::wire::project_file::FILE_BYTES_MAX;
use uuid::Uuid;

use crate::app;
use crate::auth::permission::{Actor, InProject, Permissions};
use crate::command::{Failure, export_bundle};
use crate::error::AppError;
use crate::http::exchange::read_file;
use crate::state::AppState;
use crate::store;

/// What to import, and how.
pub(super) struct Order {
    pub(super) project: String,
    pub(super) file: PathBuf,
    pub(super) apply: bool,
    pub(super) remove: bool,
    pub(super) as_email: Option<String>,
    pub(super) note: String,
}

/// Writes a project to a file, or to standard output.
pub(super) async fn export(state: &AppState, project: &str, output: Option<&Path>) -> Result<(), Failure> {
    let file = app::exchange::export(state, &reader(state, project).await?).await?;
    export_bundle::write(output, &file)
}

/// Prints what a file would change, and does it when that was asked for.
pub(super) async fn import(state: &AppState, order: Order) -> Result<(), Failure> {
    let Order { project, file: path, apply, remove, as_email, note } = order;
    let bytes = fs::metadata(&path).map_err(|error| format!("{}: {error}", path.display()))?.len();
    if bytes > FILE_BYTES_MAX as u64 {
        return Err(format!("{}: {bytes} bytes; at most {FILE_BYTES_MAX} are allowed", path.display()).into());
    }
    let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let file = read_file(bytes.into()).await.map_err(located)?;
    let who = match &as_email {
        Some(email) => author(state, &project, email).await?,
        None => reader(state, &project).await?,
    };
    let note = Note::try_from(note)?;
    let plan = app::exchange::plan(state, &who, file.clone(), remove).await.map_err(located)?;
    let mut out = io::stdout().lock();
    print(&mut out, &plan)?;
    if apply {
        let body = ImportProject { file, digest: plan.digest, note, remove };
        let done = app::exchange::import(state, &who, body).await.map_err(located)?;
        writeln!(out, "{}", done.sentence)?;
        if let Some(problem) = done.problem {
            return Err(problem.into());
        }
    }
    Ok(())
}

/// Nobody in particular, who may look.
async fn reader(state: &AppState, key: &str) -> Result<InProject, Failure> {
    let found = store::project::find(&mut *state.pool.acquire().await?, key).await?;
    let project = found.ok_or_else(|| AppError::not_found("project", key))?;
    let actor = Actor { user: UserId::from(Uuid::nil()), name: String::new(), via: Via::Command };
    Ok(InProject { actor, project, permissions: Permissions::default() })
}

/// A person, with what they may do in the project: access to the machine gives no more.
async fn author(state: &AppState, project: &str, email: &str) -> Result<InProject, Failure> {
    let mut db = state.pool.acquire().await?;
    let user = store::user::find_by_email(&mut db, email).await?;
    let user = user.ok_or_else(|| AppError::not_found("person", email))?;
    let actor = Actor { user: user.id, name: user.name, via: Via::Command };
    let found = InProject::find(&mut db, project, actor, user.is_admin).await?;
    Ok(found.ok_or_else(|| AppError::not_found("project", project))?)
}

fn print(out: &mut impl Write, plan: &ImportPlan) -> io::Result<()> {
    for item in &plan.items {
        let sign = match item.action {
            ImportAction::Create => '+',
            ImportAction::Change => '~',
            ImportAction::Remove => '−',
        };
        writeln!(out, "{sign} {} {}", item.noun.as_str(), item.key)?;
        for change in &item.changes {
            writeln!(out, "    {change}")?;
        }
    }
    for note in &plan.notes {
        writeln!(out, "! {note}")?;
    }
    if !plan.waits.is_empty() {
        let keys: Vec<&str> = plan.waits.iter().map(|key| key.as_str()).collect();
        writeln!(out, "! changes of {} will wait for others to agree", keys.join(", "))?;
    }
    let ImportPlan { created, changed, removed, unchanged, .. } = plan;
    writeln!(out, "{created} created, {changed} changed, {removed} removed, {unchanged} unchanged")
}

/// An error with every problem of the file on a line of its own.
fn located(error: AppError) -> Failure {
    let AppError::Invalid(problems) = error else { return error.into() };
    let lines: Vec<String> = problems.iter().map(|problem| format!("{}: {}", problem.field, problem.message)).collect();
    format!("the file cannot be imported\n{}", lines.join("\n")).into()
}

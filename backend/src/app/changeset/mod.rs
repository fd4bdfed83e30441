//! The one write path for everything that alters an answer: checked, numbered and recorded in one transaction.
//!
//! [`submit`] is what a person asks for: it is applied at once where nobody else has to agree, and waits where somebody
//! has. Both ways, `prepare` locks the project's row first, and `Prepared::apply` the counter's row last. The counter
//! is the publish lock: what is done while it is held is a handful of statements. [`set_killed`] is the same without the
//! project lock, so that a kill waits for nobody's import.

mod archive;
mod draft;
pub(in crate::app) mod effect;
mod environment;
mod flag;
mod freeze;
mod kill;
mod member;
mod merge;
mod policy;
pub mod proposal;
mod protection;
mod reference;
mod render;
pub mod review;
mod sdk_key;
mod segment;
mod share;
mod submit;
mod unprotect;
mod variant;

use std::collections::BTreeSet;

pub use draft::check_name;
pub(super) use draft::invalid_at;
pub(super) use flag::check_texts;
pub use kill::{KillOrder, lift_due, set_killed};
pub use merge::explained;
pub use protection::Protection;
pub(in crate::app) use protection::Verdict;
pub(super) use render::published_bytes;
use shared::model::change::{CHANGES_MAX, Change};
use shared::model::changeset::{ChangesetState, Note, Via};
use shared::model::id::{ChangesetId, EnvironmentId, FlagId, ProjectId, SdkKeyId};
use shared::model::problem::FieldProblem;
use shared::wire::api::changeset::ChangesetDetail;
use shared::wire::api::environment::CreateEnvironment;
use shared::wire::api::sdk_key::UpdateSdkKey;
use sqlx::PgConnection;
pub use submit::{Way, ask, submit};
pub(in crate::app) use submit::{ask_in, digest_of_plan, footprint};
use time::OffsetDateTime;
pub use unprotect::unprotect;

use crate::app::changeset::draft::Draft;
use crate::app::changeset::render::Pending;
use crate::auth::permission::Actor;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::changeset::NewChangeset;
use crate::store::environment::Environment;
use crate::store::sdk_key::SdkKey;

/// One thing that is written: what people ask for, or what has a permission of its own and waits for nobody.
#[derive(Clone, Debug)]
pub enum Write {
    /// What people ask for.
    Change(Change),
    /// Adds an environment at the end of the promotion order.
    CreateEnvironment(CreateEnvironment),
    /// Adds an SDK key.
    CreateSdkKey(SdkKey),
    /// Changes what an SDK key is called, where it may be used from, and when it ends.
    UpdateSdkKey {
        /// Which.
        key: SdkKeyId,
        /// What changes.
        update: UpdateSdkKey,
    },
    /// Adds an SDK key that takes over from another one, which ends with the overlap.
    RotateSdkKey {
        /// The new one; it names the old one.
        key: SdkKey,
        /// When the old one is refused from, unless it ends before.
        old_ends_at: OffsetDateTime,
    },
    /// Revokes an SDK key for good.
    RevokeSdkKey {
        /// Which.
        key: SdkKeyId,
    },
}

impl From<Change> for Write {
    fn from(change: Change) -> Self {
        Self::Change(change)
    }
}

/// Documents are written and checked, and what edges must hold is rendered; what is left is to give it a number, or to
/// roll the transaction back.
pub(in crate::app) struct Prepared {
    draft: Draft,
    pending: Vec<Pending>,
}

/// How a prepared changeset goes into history.
pub(in crate::app) struct Record<'a> {
    /// Its id: a new one, or that of the changeset that waited.
    pub(in crate::app) id: ChangesetId,
    /// Who; absent when the product itself acted.
    pub(in crate::app) author: Option<&'a Actor>,
    /// Through what.
    pub(in crate::app) via: Via,
    /// Why.
    pub(in crate::app) note: &'a Note,
    /// Why the policy was passed over, when it was.
    pub(in crate::app) break_glass: Option<&'a str>,
}

/// Locks the project's row, writes documents and checks them, and renders what edges must hold. Nobody is asked whether
/// they may: see [`submit`].
pub(in crate::app) async fn prepare(
    state: &AppState,
    tx: &mut PgConnection,
    project: ProjectId,
    author: &Actor,
    writes: Vec<Write>,
    note: &Note,
) -> Result<Prepared, AppError> {
    if writes.len() > CHANGES_MAX {
        let message = format!("{} changes; at most {CHANGES_MAX} fit into one changeset", writes.len());
        return Err(AppError::field("changes", message));
    }
    let project_key = store::project::lock(tx, project).await?;
    let environments = store::environment::list(tx, project).await?;
    let now = state.clock.now();
    let mut draft = Draft::new(project, project_key, environments, author.clone(), note.clone(), now);
    draft.is_single = writes.len() == 1;
    let are_several = writes.len() > 1;
    for (index, write) in writes.into_iter().enumerate() {
        let is_named = are_several && matches!(write, Write::Change(_));
        draft.write(state, tx, write).await.map_err(|error| if is_named { of_change(index, error) } else { error })?;
    }
    draft.check_references(tx).await?;
    draft.check_policies(tx).await?;
    draft.check_managers(tx).await?;
    let touched: Vec<FlagId> = draft.flags.iter().copied().collect();
    store::flag::touch(tx, &touched, author.user, now).await?;
    let pending = render::pending(tx, &draft).await?;
    Ok(Prepared { draft, pending })
}

impl Prepared {
    /// Environments with other answers than before, in promotion order. SDK keys have a permission of their own.
    pub(in crate::app) fn touched(&self) -> Vec<&Environment> {
        let touched: BTreeSet<EnvironmentId> = self.pending.iter().filter_map(Pending::environment_touched).collect();
        self.draft.environments.iter().filter(|e| touched.contains(&e.id)).collect()
    }

    /// Environments where other rules hold than before, in promotion order: policies, freezes, who may approve.
    pub(in crate::app) fn governed(&self) -> Vec<&Environment> {
        self.draft.environments.iter().filter(|e| self.draft.governed.contains(&e.id)).collect()
    }

    /// Gives it a number and writes the rows of `state`; nothing but the commit may follow.
    pub(in crate::app) async fn apply(
        self,
        state: &AppState,
        tx: &mut PgConnection,
        record: Record<'_>,
    ) -> Result<ChangesetDetail, AppError> {
        let Self { draft, pending } = self;
        // From here on the counter is held: nothing but what needs the number.
        let revision = store::changeset::take_revision(tx).await?;
        let rows = render::finish(tx, &draft, pending, revision).await?;
        let new = NewChangeset {
            id: record.id,
            project: Some(draft.project),
            author: record.author.map(|author| author.user),
            via: record.via,
            note: record.note.as_str(),
            break_glass: record.break_glass,
            revision,
            applied_at: state.clock.now(),
        };
        store::changeset::insert(tx, &new, &draft.entries).await?;
        store::state::save(tx, &rows).await?;
        let touched = draft.environments.iter().filter(|e| rows.iter().any(|row| row.environment == e.id));
        applied(&new, touched.map(|environment| environment.key.as_str()))
    }
}

/// Applies what waits for nobody: what has a permission of its own, which the caller has checked.
pub(in crate::app) async fn apply(
    state: &AppState,
    project: ProjectId,
    author: &Actor,
    writes: Vec<Write>,
    note: &Note,
) -> Result<ChangesetDetail, AppError> {
    let mut tx = state.pool.begin().await?;
    let done = apply_in(state, &mut tx, project, author, writes, note).await?;
    tx.commit().await?;
    note_commit(state, &done);
    Ok(done)
}

/// The same in a transaction that began with something else, such as a new project; nothing but the commit may follow.
pub(in crate::app) async fn apply_in(
    state: &AppState,
    tx: &mut PgConnection,
    project: ProjectId,
    author: &Actor,
    writes: Vec<Write>,
    note: &Note,
) -> Result<ChangesetDetail, AppError> {
    let prepared = prepare(state, tx, project, author, writes, note).await?;
    if !prepared.touched().is_empty() || !prepared.governed().is_empty() {
        return Err(AppError::internal("what alters answers or rules goes through submit"));
    }
    let record = Record { id: state.clock.id(), author: Some(author), via: author.via, note, break_glass: None };
    prepared.apply(state, tx, record).await
}

/// Tells who waits for the revision that it is committed.
pub(in crate::app) fn note_commit(state: &AppState, done: &ChangesetDetail) {
    if let Some(revision) = done.revision {
        state.live.note_commit(revision, state.clock.now());
    }
}

/// What is wrong with one of several changes, seen from the body's root.
fn of_change(index: usize, error: AppError) -> AppError {
    match error {
        AppError::Invalid(problems) => {
            let located = problems.into_iter().map(|problem| {
                let FieldProblem { field, message } = problem;
                FieldProblem { field: format!("changes[{index}].{field}"), message }
            });
            AppError::Invalid(located.collect())
        }
        other => other,
    }
}

/// What an applied changeset answers.
fn applied<'a>(
    new: &NewChangeset<'_>,
    environments: impl Iterator<Item = &'a str>,
) -> Result<ChangesetDetail, AppError> {
    Ok(ChangesetDetail {
        id: new.id,
        state: ChangesetState::Applied,
        revision: Some(new.revision),
        applied_at: Some(new.applied_at.into()),
        environments: environments.map(str::parse).collect::<Result<_, _>>().map_err(AppError::internal)?,
        requested: None,
    })
}

/// Fails when somebody changed the thing since the author saw it.
pub(in crate::app) fn check_version(noun: &'static str, expected: u64, actual: u64) -> Result<(), AppError> {
    if expected == actual { Ok(()) } else { Err(AppError::Stale { noun, expected, actual }) }
}

/// The moment that a changeset writes everywhere.
type At = OffsetDateTime;

//! The one write path for everything that alters an answer: checked, numbered and recorded in one transaction.
//!
//! [`apply`] locks the project's row first and the counter's row last. The counter is the publish lock: what is done
//! while it is held is a handful of statements. [`set_killed`] is the same without the project lock, so that a kill
//! waits for nobody's import.

mod draft;
mod environment;
mod flag;
mod kill;
mod reference;
mod render;
mod sdk_key;
mod segment;

pub use draft::check_name;
pub(super) use draft::invalid_at;
pub use kill::{KillOrder, lift_due, set_killed};
use shared::model::changeset::Note;
use shared::model::flag::{FlagConfig, FlagDefinition};
use shared::model::id::{EnvironmentId, FlagId, ProjectId, SdkKeyId};
use shared::model::key::{EnvironmentKey, FlagKey, SegmentKey};
use shared::model::segment::SegmentDefinition;
use shared::wire::api::changeset::ChangesetDetail;
use shared::wire::api::environment::CreateEnvironment;
use shared::wire::api::flag::UpdateFlag;
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::app::changeset::draft::Draft;
use crate::auth::permission::Actor;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::changeset::NewChangeset;

/// The most things one changeset may touch; larger imports are applied in slices.
pub const CHANGES_MAX: usize = 1_000;

/// One thing that a changeset does.
#[derive(Clone, Debug)]
pub enum Change {
    /// Makes a flag with its configs.
    CreateFlag(NewFlag),
    /// Changes what is the same in every environment.
    UpdateFlag {
        /// Which.
        flag: FlagKey,
        /// The version that the author saw.
        expected: u64,
        /// What changes.
        update: UpdateFlag,
    },
    /// Replaces a flag's config in one environment.
    SaveConfig {
        /// Which.
        flag: FlagKey,
        /// Where.
        environment: EnvironmentKey,
        /// The version that the author saw; 0 where there was none.
        expected: u64,
        /// The whole config.
        config: FlagConfig,
    },
    /// Makes a segment.
    CreateSegment {
        /// Who is in it.
        definition: SegmentDefinition,
        /// For people.
        name: String,
    },
    /// Replaces who is in a segment.
    UpdateSegment {
        /// The version that the author saw.
        expected: u64,
        /// Who is in it.
        definition: SegmentDefinition,
        /// For people.
        name: String,
    },
    /// Removes a segment that no config and no other segment names.
    DeleteSegment {
        /// Which.
        segment: SegmentKey,
    },
    /// Adds an environment at the end of the promotion order.
    CreateEnvironment(CreateEnvironment),
    /// Adds an SDK key.
    CreateSdkKey(store::sdk_key::SdkKey),
    /// Revokes an SDK key for good.
    RevokeSdkKey {
        /// Which.
        key: SdkKeyId,
    },
}

/// A flag to be made.
#[derive(Clone, Debug)]
pub struct NewFlag {
    /// Its id.
    pub id: FlagId,
    /// What decides its answers.
    pub definition: FlagDefinition,
    /// For people.
    pub name: String,
    /// For people.
    pub description: String,
    /// Words of people.
    pub tags: Vec<String>,
    /// How it starts, by environment.
    pub configs: Vec<(EnvironmentId, FlagConfig)>,
}

/// Applies changes of one person, all or nothing, and gives them a number.
pub async fn apply(
    state: &AppState,
    project: ProjectId,
    author: &Actor,
    changes: Vec<Change>,
    note: &Note,
) -> Result<ChangesetDetail, AppError> {
    let mut tx = state.pool.begin().await?;
    let done = apply_in(state, &mut tx, project, author, changes, note).await?;
    tx.commit().await?;
    state.live.note_commit(done.revision, state.clock.now());
    Ok(done)
}

/// The same in a transaction that began with something else, such as a new project; nothing but the commit may follow.
pub(super) async fn apply_in(
    state: &AppState,
    tx: &mut PgConnection,
    project: ProjectId,
    author: &Actor,
    changes: Vec<Change>,
    note: &Note,
) -> Result<ChangesetDetail, AppError> {
    if changes.len() > CHANGES_MAX {
        let message = format!("{} changes; at most {CHANGES_MAX} fit into one changeset", changes.len());
        return Err(AppError::field("changes", message));
    }
    let project_key = store::project::lock(tx, project).await?;
    let environments = store::environment::list(tx, project).await?;
    let now = state.clock.now();
    let mut draft = Draft::new(project, project_key, environments, author.clone(), note.clone(), now);
    for change in changes {
        draft.write(state, tx, change).await?;
    }
    draft.check_references(tx).await?;
    let touched: Vec<FlagId> = draft.flags.iter().copied().collect();
    store::flag::touch(tx, &touched, author.user, now).await?;
    let pending = render::pending(tx, &draft).await?;

    // From here on the counter is held: nothing but what needs the number.
    let revision = store::changeset::take_revision(tx).await?;
    let rows = render::finish(tx, &draft, pending, revision).await?;
    let new = NewChangeset {
        id: state.clock.id(),
        project: Some(project),
        author: Some(author.user),
        note: note.as_str(),
        revision,
        applied_at: state.clock.now(),
    };
    store::changeset::insert(tx, &new, &draft.entries).await?;
    store::state::save(tx, &rows).await?;

    let touched = draft.environments.iter().filter(|e| rows.iter().any(|row| row.environment == e.id));
    detail(&new, touched.map(|environment| environment.key.as_str()))
}

fn detail<'a>(
    new: &NewChangeset<'_>,
    environments: impl Iterator<Item = &'a str>,
) -> Result<ChangesetDetail, AppError> {
    let environments = environments.map(str::parse).collect::<Result<_, _>>().map_err(AppError::internal)?;
    Ok(ChangesetDetail { id: new.id, revision: new.revision, applied_at: new.applied_at.into(), environments })
}

/// Fails when somebody changed the thing since the author saw it.
fn check_version(noun: &'static str, expected: u64, actual: u64) -> Result<(), AppError> {
    if expected == actual { Ok(()) } else { Err(AppError::Stale { noun, expected, actual }) }
}

/// The moment that a changeset writes everywhere.
type At = OffsetDateTime;

//! What a person does with flags.

mod bulk;
mod compare;
mod copy;
mod create;
mod detail;
mod list;
mod query;
mod variant;

use std::collections::BTreeMap;

pub use bulk::bulk;
pub use compare::{CompareQuery, compare, promote};
pub use copy::copy;
pub use create::create;
pub use detail::detail;
pub use list::{list, tags};
pub use query::{FlagQuery, LifetimeFilter, Order, Sort, parse as parse_query};
use shared::model::change::{Change, FlagChange};
use shared::model::changeset::Note;
use shared::model::flag::FlagConfig;
use shared::model::id::{EnvironmentId, FlagId, ProjectId};
use shared::model::key::{EnvironmentKey, FlagKey};
use shared::model::permission::Permission;
use shared::wire::api::changeset::ChangesetDetail;
use shared::wire::api::flag::{DeleteFlag, KillFlag, SaveConfig, StateShape, UpdateFlag};
use sqlx::PgConnection;
use time::OffsetDateTime;
pub use variant::variants;

use crate::app::changeset::{self, KillOrder};
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::flag::Flag;

/// The longest reason of a kill, in characters.
const REASON_CHARS_MAX: usize = 500;

/// Changes what is the same in every environment.
pub async fn update(
    state: &AppState,
    who: &InProject,
    flag: FlagKey,
    version: u64,
    body: UpdateFlag,
) -> Result<ChangesetDetail, AppError> {
    let UpdateFlag { name, description, tags, owner, lifetime, kind, client_visible, variants, replacement, note } =
        body;
    let mut update = FlagChange { name, description, tags, owner, lifetime, kind, client_visible, variants };
    let mut changes = Vec::new();
    if !replacement.is_empty() {
        let found = find(&mut *state.pool.acquire().await?, who.id(), &flag).await?;
        update.variants = Some(variant::with_replaced(&found.definition, update.variants, &replacement)?);
        for ((variant, with), version) in replacement.into_iter().zip(version + 1..) {
            changes.push(Change::ReplaceVariant { flag: flag.clone(), version, variant, with });
        }
    }
    changes.insert(0, Change::UpdateFlag { flag, version, update });
    changeset::submit(state, who, changes, &note).await
}

/// Takes a flag out of service in every environment.
pub async fn archive(
    state: &AppState,
    who: &InProject,
    flag: FlagKey,
    version: u64,
    note: &Note,
) -> Result<ChangesetDetail, AppError> {
    changeset::submit(state, who, vec![Change::ArchiveFlag { flag, version }], note).await
}

/// Puts an archived flag back into service, as it was.
pub async fn unarchive(
    state: &AppState,
    who: &InProject,
    flag: FlagKey,
    version: u64,
    note: &Note,
) -> Result<ChangesetDetail, AppError> {
    changeset::submit(state, who, vec![Change::RestoreFlag { flag, version }], note).await
}

/// Removes an archived flag for good.
pub async fn delete(
    state: &AppState,
    who: &InProject,
    flag: FlagKey,
    version: u64,
    body: DeleteFlag,
) -> Result<ChangesetDetail, AppError> {
    if body.key != flag.as_str() {
        let message = format!("'{}' is not '{flag}'; type the key of the flag that is to go", body.key);
        return Err(AppError::field("key", message));
    }
    changeset::submit(state, who, vec![Change::DeleteFlag { flag, version }], &body.note).await
}

/// Replaces a flag's config in one environment.
pub async fn save_config(
    state: &AppState,
    who: &InProject,
    place: (FlagKey, EnvironmentKey),
    version: u64,
    body: SaveConfig,
) -> Result<ChangesetDetail, AppError> {
    let (flag, environment) = place;
    let change = Change::SaveConfig { flag, environment, version, config: body.config };
    match changeset::submit(state, who, vec![change.clone()], &body.note).await {
        Err(stale @ AppError::Stale { .. }) => Err(changeset::explained(state, who.id(), &change, stale).await),
        done => done,
    }
}

/// Turns a flag off at once, whatever its config says.
pub async fn kill(
    state: &AppState,
    who: &InProject,
    key: &FlagKey,
    body: KillFlag,
) -> Result<ChangesetDetail, AppError> {
    let reason = body.reason.trim().to_owned();
    let length = reason.chars().count();
    if length == 0 || length > REASON_CHARS_MAX || reason.contains('\0') {
        return Err(AppError::field("reason", format!("a reason has 1 to {REASON_CHARS_MAX} characters")));
    }
    let until = body.until.map(OffsetDateTime::from);
    if until.is_some_and(|until| until <= state.clock.now()) {
        return Err(AppError::field("until", "the time has passed already; choose a later one or leave it out"));
    }
    let (flag, environments) = place(state, who, key, &body.environments).await?;
    let note = Note::try_from(reason.clone()).map_err(AppError::internal)?;
    let order = KillOrder::Kill { reason, until };
    changeset::set_killed(state, who.id(), &who.actor, (flag, key.as_str()), &environments, &order, &note).await
}

/// Lifts a kill; the flag answers again what its config says.
pub async fn restore(
    state: &AppState,
    who: &InProject,
    key: &FlagKey,
    environment: EnvironmentKey,
    note: &Note,
) -> Result<ChangesetDetail, AppError> {
    let (flag, environments) = place(state, who, key, &[environment]).await?;
    changeset::set_killed(state, who.id(), &who.actor, (flag, key.as_str()), &environments, &KillOrder::Lift, note)
        .await
}

/// Finds a flag or says that there is none.
pub async fn find(db: &mut PgConnection, project: ProjectId, key: &FlagKey) -> Result<Flag, AppError> {
    store::flag::find(db, project, key.as_str()).await?.ok_or_else(|| AppError::not_found("flag", key))
}

/// The same, archived or not.
pub(super) async fn find_any(db: &mut PgConnection, project: ProjectId, key: &FlagKey) -> Result<Flag, AppError> {
    store::flag::find_any(db, project, key.as_str()).await?.ok_or_else(|| AppError::not_found("flag", key))
}

/// What most users get while the flag is not killed, as stored in a column.
pub(super) fn shape_text(config: &FlagConfig) -> &'static str {
    match StateShape::of(config, false) {
        StateShape::On => "on",
        StateShape::Part => "part",
        StateShape::Off | StateShape::Killed => "off",
    }
}

/// The flag, and the environments in which the person may kill.
async fn place(
    state: &AppState,
    who: &InProject,
    key: &FlagKey,
    environments: &[EnvironmentKey],
) -> Result<(FlagId, Vec<EnvironmentId>), AppError> {
    if environments.is_empty() {
        return Err(AppError::field("environments", "name at least one environment"));
    }
    let mut db = state.pool.acquire().await?;
    let flag = find(&mut db, who.id(), key).await?;
    let known: BTreeMap<String, EnvironmentId> =
        store::environment::list(&mut db, who.id()).await?.into_iter().map(|e| (e.key, e.id)).collect();
    let mut ids = Vec::with_capacity(environments.len());
    for key in environments {
        let id = known.get(key.as_str()).ok_or_else(|| AppError::not_found("environment", key))?;
        if !who.permissions.in_environment(*id, Permission::Kill) {
            return Err(AppError::Forbidden(format!("the permission {} in {key}", Permission::Kill)));
        }
        if !ids.contains(id) {
            ids.push(*id);
        }
    }
    // Always in the same order, so that two kills never wait for each other.
    ids.sort_unstable();
    Ok((flag.id, ids))
}

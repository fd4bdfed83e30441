//! A changeset in the making: documents are written, what edges must hold is still to be rendered.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;
use shared::model::change::Change;
use shared::model::changeset::Note;
use shared::model::flag::NAME_CHARS_MAX;
use shared::model::id::{EnvironmentId, FlagId, ProjectId, SegmentId};
use shared::model::key::FlagKey;
use shared::model::permission::Permission;
use shared::model::problem::FieldProblem;
use shared::wire::state::StateKey;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::app::changeset::reference::Saved;
use crate::app::changeset::{At, Write};
use crate::auth::permission::Actor;
use crate::error::AppError;
use crate::state::AppState;
use crate::store::changeset::Entry;
use crate::store::environment::Environment;

/// See the module.
pub(super) struct Draft {
    pub(super) project: ProjectId,
    pub(super) project_key: String,
    /// In promotion order, with those that the changeset itself adds.
    pub(super) environments: Vec<Environment>,
    pub(super) author: Actor,
    pub(super) note: Note,
    pub(super) at: At,
    /// One per touched thing, in order.
    pub(super) entries: Vec<Entry>,
    /// Flags whose values must be rendered anew.
    pub(super) flags: BTreeSet<FlagId>,
    /// Segments whose values must be rendered anew where a flag reaches them.
    pub(super) segments: BTreeSet<SegmentId>,
    /// Segments that a flag may reach from now on, or no more.
    pub(super) reached: BTreeSet<SegmentId>,
    /// Configs and segments that may refer to others.
    pub(super) saved: Vec<Saved>,
    /// Flags that are archived from now on.
    pub(super) archived: Vec<(FlagId, FlagKey)>,
    /// Whether this is its only change, so that fields need not be told apart.
    pub(super) is_single: bool,
    /// Flags that lost variants.
    pub(super) narrower: Vec<FlagId>,
    /// Values that are rendered already: SDK keys.
    pub(super) bodies: Vec<(StateKey, String)>,
    /// Environments that must be rewritten although no value in them changes: new ones.
    pub(super) touched: BTreeSet<EnvironmentId>,
    /// Environments where other rules hold from now on: policies, freezes, who may approve.
    pub(super) governed: BTreeSet<EnvironmentId>,
    /// Environments whose policy was written, and must be one that can be met.
    pub(super) checked_policies: BTreeSet<EnvironmentId>,
    /// People who managed members of the project before, and do not any more.
    pub(super) former_managers: Vec<String>,
    /// What the author must be allowed beside editing where answers change; somewhere, where no environment is named.
    required: BTreeSet<(Permission, Option<EnvironmentId>)>,
}

impl Draft {
    pub(super) fn new(
        project: ProjectId,
        project_key: String,
        environments: Vec<Environment>,
        author: Actor,
        note: Note,
        at: At,
    ) -> Self {
        Self {
            project,
            project_key,
            environments,
            author,
            note,
            at,
            entries: Vec::new(),
            flags: BTreeSet::new(),
            segments: BTreeSet::new(),
            reached: BTreeSet::new(),
            saved: Vec::new(),
            archived: Vec::new(),
            is_single: true,
            narrower: Vec::new(),
            bodies: Vec::new(),
            touched: BTreeSet::new(),
            governed: BTreeSet::new(),
            checked_policies: BTreeSet::new(),
            former_managers: Vec::new(),
            required: BTreeSet::new(),
        }
    }

    pub(super) async fn write(
        &mut self,
        state: &AppState,
        db: &mut PgConnection,
        write: Write,
    ) -> Result<(), AppError> {
        match write {
            Write::Change(change) => self.change(state, db, change).await,
            Write::CreateEnvironment(new) => self.create_environment(state, db, new).await,
            Write::CreateSdkKey(key) => self.create_sdk_key(db, key).await,
            Write::UpdateSdkKey { key, update } => self.update_sdk_key(db, key, update).await,
            Write::RotateSdkKey { key, old_ends_at } => self.rotate_sdk_key(db, key, old_ends_at).await,
            Write::RevokeSdkKey { key } => self.revoke_sdk_key(db, key).await,
        }
    }

    async fn change(&mut self, state: &AppState, db: &mut PgConnection, change: Change) -> Result<(), AppError> {
        if !is_rule(&change) {
            self.require(Permission::Edit, None);
        }
        match change {
            Change::CreateFlag(new) => self.create_flag(state, db, new).await,
            Change::UpdateFlag { flag, version, update } => self.update_flag(db, &flag, version, update).await,
            Change::SaveConfig { flag, environment, version, config } => {
                self.save_config(db, &flag, &environment, version, config).await
            }
            Change::ReplaceVariant { flag, version, variant, with } => {
                self.replace_variant(db, &flag, version, (&variant, &with)).await
            }
            Change::ArchiveFlag { flag, version } => self.archive_flag(db, &flag, version).await,
            Change::RestoreFlag { flag, version } => self.restore_flag(db, &flag, version).await,
            Change::DeleteFlag { flag, version } => self.delete_flag(db, &flag, version).await,
            Change::CreateSegment { definition, name } => self.create_segment(state, db, definition, name).await,
            Change::UpdateSegment { version, definition, name } => {
                self.update_segment(db, version, definition, name).await
            }
            Change::DeleteSegment { segment } => self.delete_segment(db, &segment).await,
            Change::SetShare { flag, environment, rule, version, shares } => {
                self.set_share(db, (&flag, &environment, rule), version, &shares).await
            }
            Change::CreateFreeze(freeze) => self.create_freeze(state, db, freeze).await,
            Change::UpdateFreeze { id, version, freeze } => self.update_freeze(db, id, version, freeze).await,
            Change::DeleteFreeze { id, version } => self.delete_freeze(db, id, version).await,
            Change::SetPolicy { environment, version, policy } => {
                self.set_policy(db, &environment, version, policy).await
            }
            Change::SetMember { person, version, role, environments } => {
                self.set_member(db, person, version, role, environments).await
            }
        }
    }

    /// Notes what the author must be allowed.
    pub(super) fn require(&mut self, permission: Permission, environment: Option<EnvironmentId>) {
        self.required.insert((permission, environment));
    }

    /// What the author must be allowed beside editing where answers change.
    pub(super) fn required(&self) -> impl Iterator<Item = (Permission, Option<EnvironmentId>)> + '_ {
        self.required.iter().copied()
    }

    pub(super) fn environment(&self, key: &str) -> Result<&Environment, AppError> {
        let found = self.environments.iter().find(|environment| environment.key == key);
        found.ok_or_else(|| AppError::not_found("environment", key))
    }

    /// Notes a touched thing for history.
    pub(super) fn record(
        &mut self,
        environment: Option<EnvironmentId>,
        entity: (&'static str, Uuid, &str),
        before: Option<&impl Serialize>,
        after: Option<&impl Serialize>,
    ) -> Result<(), AppError> {
        self.entries.push(Entry {
            environment,
            entity: entity.0,
            entity_id: Some(entity.1),
            entity_key: entity.2.to_owned(),
            before: before.map(json).transpose()?,
            after: after.map(json).transpose()?,
        });
        Ok(())
    }
}

/// Whether a change alters what people may do, and no answer; it has a permission of its own.
fn is_rule(change: &Change) -> bool {
    matches!(
        change,
        Change::SetPolicy { .. }
            | Change::SetMember { .. }
            | Change::CreateFreeze(_)
            | Change::UpdateFreeze { .. }
            | Change::DeleteFreeze { .. }
    )
}

pub(super) fn json(value: &impl Serialize) -> Result<Value, AppError> {
    serde_json::to_value(value).map_err(AppError::internal)
}

/// Problems of a part of the body, seen from the body's root.
pub(in crate::app) fn invalid_at(prefix: &str, problems: Vec<FieldProblem>) -> AppError {
    AppError::Invalid(located(prefix, Err(problems)))
}

/// What a check of a part found, seen from the body's root.
pub(super) fn located(prefix: &str, checked: Result<(), Vec<FieldProblem>>) -> Vec<FieldProblem> {
    let problems = checked.err().unwrap_or_default();
    problems.into_iter().map(|p| FieldProblem { field: format!("{prefix}.{}", p.field), ..p }).collect()
}

/// A name for people: 1 to 100 characters.
pub fn check_name(name: &str) -> Result<(), AppError> {
    let length = name.trim().chars().count();
    if length == 0 || length > NAME_CHARS_MAX || name.contains('\0') {
        return Err(AppError::field("name", format!("a name has 1 to {NAME_CHARS_MAX} characters")));
    }
    Ok(())
}

//! Going back is an ordinary changeset: the inverse changes, on versions as they stand, through the one write path.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use shared::model::change::{CHANGES_MAX, Change, FlagChange};
use shared::model::changeset::Note;
use shared::model::flag::FlagConfig;
use shared::model::id::{FlagId, UserId};
use shared::model::key::{EnvironmentKey, FlagKey, RoleKey};
use shared::model::policy::Policy;
use shared::model::problem::FieldProblem;
use shared::wire::api::history::{LeftOut, RevertFlag, RevertRevision, Reverted};
use sqlx::PgConnection;

use crate::app::changeset;
use crate::app::history::then::{DescribedFlag, DescribedSegment, Moment, latest, read, resolve};
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::begin_bounded;
use crate::store::environment::Environment;
use crate::store::history::{EntryRow, Later};

/// What can be undone; everything else says why not.
const UNDONE: [&str; 5] = ["config", "flag", "segment", "policy", "member"];

/// Inverse changes in the making.
struct Plan<'a> {
    who: &'a InProject,
    environments: Vec<Environment>,
    changes: Vec<Change>,
    left_out: Vec<LeftOut>,
}

/// What one entry comes to: a change, or why there is none.
type Undone = Result<Change, String>;

/// A membership as history keeps it.
#[derive(Deserialize)]
struct Membership {
    role: RoleKey,
    #[serde(default)]
    environments: BTreeMap<EnvironmentKey, RoleKey>,
}

/// Undoes all that a revision did and that can be undone. Refused where something changed since, unless that is to be lost.
pub async fn revert_revision(
    state: &AppState,
    who: &InProject,
    revision: u64,
    body: RevertRevision,
) -> Result<Reverted, AppError> {
    let mut tx = begin_bounded(&state.pool).await?;
    let found = store::history::find(&mut tx, who.id(), revision).await?;
    found.ok_or_else(|| AppError::not_found("revision", revision))?;
    let most = i64::try_from(CHANGES_MAX).unwrap_or(i64::MAX);
    let rows = store::history::list_entries_from(&mut tx, revision, 0, most).await?;
    if !body.force {
        check_unchanged(&rows, &store::history::list_later(&mut tx, revision).await?)?;
    }
    let environments = store::environment::list(&mut tx, who.id()).await?;
    let mut plan = Plan { who, environments, changes: Vec::new(), left_out: Vec::new() };
    // Backwards: what was made last may need what was made first.
    for row in rows.iter().rev() {
        match plan.undo(&mut tx, row).await? {
            Ok(change) => plan.changes.push(change),
            Err(reason) => plan.leave_out(row, reason),
        }
    }
    drop(tx);
    plan.submit(state, &body.note).await
}

/// Brings a flag back to how it was at a revision, on versions as they stand.
pub async fn revert_flag(
    state: &AppState,
    who: &InProject,
    key: &FlagKey,
    body: RevertFlag,
) -> Result<Reverted, AppError> {
    let mut tx = begin_bounded(&state.pool).await?;
    let (revision, _) = resolve(&mut tx, who.id(), Moment::Revision(body.revision)).await?;
    let environments = store::environment::list(&mut tx, who.id()).await?;
    let rows = store::history::entries_at(&mut tx, who.id(), key.as_str(), &["flag", "config"], revision).await?;
    let flag = store::flag::find(&mut tx, who.id(), key.as_str()).await?;
    let flag = flag.ok_or_else(|| AppError::not_found("flag", key))?;
    let configs = store::config::list(&mut tx, &[flag.id]).await?;
    let then = latest(&rows, "flag", None).filter(|row| row.after.is_some());
    let then = then.ok_or_else(|| AppError::not_found("flag", format!("{key} at r{revision}")))?;
    let mut plan = Plan { who, environments, changes: Vec::new(), left_out: Vec::new() };
    if body.definition {
        let described: DescribedFlag = read(then, "flag")?;
        plan.changes.extend(flag_change(key, &flag, described));
    }
    for environment in plan.wanted(body.environments.as_deref())? {
        let row = latest(&rows, "config", Some(environment.id.uuid())).filter(|row| row.after.is_some());
        let stored = configs.iter().find(|config| config.environment_id == environment.id);
        let Some(row) = row else {
            let environment = environment.key.parse().map_err(AppError::internal)?;
            let reason = format!("had no config here at r{revision}");
            plan.left_out.push(LeftOut {
                entity: "config".into(),
                key: key.to_string(),
                environment: Some(environment),
                reason,
            });
            continue;
        };
        let config: FlagConfig = read(row, "config")?;
        if stored.is_none_or(|stored| stored.config != config) {
            plan.changes.push(Change::SaveConfig {
                flag: key.clone(),
                environment: environment.key.parse().map_err(AppError::internal)?,
                version: stored.map_or(0, |stored| stored.version),
                config,
            });
        }
    }
    drop(tx);
    plan.submit(state, &body.note).await
}

/// Fails when something that would be undone was changed again, naming by what.
fn check_unchanged(rows: &[EntryRow], later: &[Later]) -> Result<(), AppError> {
    let mut problems = Vec::new();
    for row in rows.iter().filter(|row| UNDONE.contains(&row.entity.as_str())) {
        let Some(later) = later.iter().find(|later| later.ordinal == row.ordinal) else { continue };
        let place = row.environment.as_deref().map(|key| format!(" in {key}")).unwrap_or_default();
        let who = later.who.as_deref().map(|name| format!(" by {name}")).unwrap_or_default();
        problems.push(FieldProblem {
            field: format!("{}[{}]", row.entity, row.entity_key),
            message: format!(
                "{} '{}'{place} was changed again by r{}{who}",
                row.entity, row.entity_key, later.revision
            ),
        });
    }
    if problems.is_empty() { Ok(()) } else { Err(AppError::Changed(problems)) }
}

impl Plan<'_> {
    /// What undoes an entry.
    async fn undo(&self, db: &mut PgConnection, row: &EntryRow) -> Result<Undone, AppError> {
        match row.entity.as_str() {
            "config" => self.undo_config(db, row).await,
            "flag" => self.undo_flag(db, row).await,
            "segment" => self.undo_segment(db, row).await,
            "policy" => self.undo_policy(db, row).await,
            "member" => self.undo_member(db, row).await,
            "kill" => Ok(Err("kills and their ends are not undone; kill or restore the flag instead".into())),
            "sdk_key" => Ok(Err("keys are not undone; revoke this one or make another".into())),
            "environment" => Ok(Err("environments are not removed".into())),
            other => Ok(Err(format!("nothing undoes a change of kind {other}"))),
        }
    }

    async fn undo_config(&self, db: &mut PgConnection, row: &EntryRow) -> Result<Undone, AppError> {
        let Some(config) = row.before.as_ref() else {
            return Ok(Err("the config did not exist before and cannot be removed; turn the flag off here".into()));
        };
        let Some(config) = known::<FlagConfig>(config) else { return Ok(Err(unreadable())) };
        let Some(environment) = self.environment(row) else { return Ok(Err("the environment is gone".into())) };
        let (Some(id), Ok(flag)) = (row.entity_id, row.entity_key.parse::<FlagKey>()) else {
            return Ok(Err(unreadable()));
        };
        if store::flag::find(db, self.who.id(), flag.as_str()).await?.is_none() {
            return Ok(Err("the flag is archived or gone; restore it first".into()));
        }
        let stored = store::config::list(db, &[FlagId::from(id)]).await?;
        let stored = stored.into_iter().find(|config| config.environment_id == environment.id);
        if stored.as_ref().is_some_and(|stored| stored.config == config) {
            return Ok(Err(already()));
        }
        let environment = environment.key.parse().map_err(AppError::internal)?;
        let version = stored.map_or(0, |stored| stored.version);
        Ok(Ok(Change::SaveConfig { flag, environment, version, config }))
    }

    async fn undo_flag(&self, db: &mut PgConnection, row: &EntryRow) -> Result<Undone, AppError> {
        let Some(before) = row.before.as_ref() else {
            return Ok(Err("the flag did not exist before; archive it instead".into()));
        };
        let Some(described) = known::<DescribedFlag>(before) else { return Ok(Err(unreadable())) };
        let key = described.definition.key.clone();
        let Some(flag) = store::flag::find(db, self.who.id(), key.as_str()).await? else {
            return Ok(Err("the flag is archived or gone; restore it first".into()));
        };
        Ok(flag_change(&key, &flag, described).ok_or_else(already))
    }

    async fn undo_segment(&self, db: &mut PgConnection, row: &EntryRow) -> Result<Undone, AppError> {
        let stored = store::segment::find(db, self.who.id(), &row.entity_key).await?;
        let Some(before) = row.before.as_ref() else {
            return match (stored, row.entity_key.parse()) {
                (Some(_), Ok(segment)) => Ok(Ok(Change::DeleteSegment { segment })),
                _ => Ok(Err(already())),
            };
        };
        let Some(DescribedSegment { definition, name }) = known(before) else { return Ok(Err(unreadable())) };
        Ok(match stored {
            None => Ok(Change::CreateSegment { definition, name }),
            Some(stored) if stored.definition == definition && stored.name == name => Err(already()),
            Some(stored) => Ok(Change::UpdateSegment { version: stored.version, definition, name }),
        })
    }

    async fn undo_policy(&self, db: &mut PgConnection, row: &EntryRow) -> Result<Undone, AppError> {
        let Some(environment) = self.environment(row) else { return Ok(Err("the environment is gone".into())) };
        let policy = match row.before.as_ref().map(known::<Policy>) {
            None => None,
            Some(Some(policy)) => Some(policy),
            Some(None) => return Ok(Err(unreadable())),
        };
        let stored = store::policy::list(db, self.who.id()).await?;
        let stored = stored.into_iter().find(|stored| stored.environment_id == environment.id);
        if stored.as_ref().and_then(|stored| stored.policy.as_ref()) == policy.as_ref() {
            return Ok(Err(already()));
        }
        let version = stored.map_or(0, |stored| stored.version);
        let environment = environment.key.parse().map_err(AppError::internal)?;
        Ok(Ok(Change::SetPolicy { environment, version, policy }))
    }

    async fn undo_member(&self, db: &mut PgConnection, row: &EntryRow) -> Result<Undone, AppError> {
        let Some(person) = row.entity_id.map(UserId::from) else { return Ok(Err(unreadable())) };
        let (role, environments) = match row.before.as_ref().map(known::<Membership>) {
            None => (None, BTreeMap::new()),
            Some(Some(before)) => (Some(before.role), before.environments),
            Some(None) => return Ok(Err(unreadable())),
        };
        let version = store::member::version(db, self.who.id(), person).await?;
        Ok(Ok(Change::SetMember { person, version, role, environments }))
    }

    fn environment(&self, row: &EntryRow) -> Option<&Environment> {
        self.environments.iter().find(|environment| Some(environment.id.uuid()) == row.environment_id)
    }

    /// The environments of these keys; all when none is named.
    fn wanted(&self, keys: Option<&[EnvironmentKey]>) -> Result<Vec<Environment>, AppError> {
        let Some(keys) = keys else { return Ok(self.environments.clone()) };
        let find = |key: &EnvironmentKey| {
            let found = self.environments.iter().find(|environment| environment.key == key.as_str());
            found.cloned().ok_or_else(|| AppError::not_found("environment", key))
        };
        keys.iter().map(find).collect()
    }

    fn leave_out(&mut self, row: &EntryRow, reason: String) {
        self.left_out.push(LeftOut {
            entity: row.entity.clone(),
            key: row.entity_key.clone(),
            environment: row.environment.as_deref().and_then(|key| key.parse().ok()),
            reason,
        });
    }

    async fn submit(self, state: &AppState, note: &Note) -> Result<Reverted, AppError> {
        if self.changes.is_empty() {
            let reasons: Vec<&str> = self.left_out.iter().take(3).map(|left| left.reason.as_str()).collect();
            let reasons = if reasons.is_empty() { "everything is so already".into() } else { reasons.join("; ") };
            return Err(AppError::field("revision", format!("nothing is left to undo: {reasons}")));
        }
        let changeset = changeset::submit(state, self.who, self.changes, note).await?;
        Ok(Reverted { changeset, left_out: self.left_out })
    }
}

/// What makes a flag as it was; nothing when it is so already.
fn flag_change(key: &FlagKey, flag: &store::flag::Flag, then: DescribedFlag) -> Option<Change> {
    let DescribedFlag { definition, name, description, tags, owner, lifetime, archived: _ } = then;
    let now = &flag.definition;
    let update = FlagChange {
        name: (flag.name != name).then_some(name),
        description: (flag.description != description).then_some(description),
        tags: (flag.tags != tags).then_some(tags),
        owner: owner.filter(|owner| flag.owner.as_ref().map(|now| now.id) != Some(*owner)),
        lifetime: (flag.lifetime != lifetime).then_some(lifetime),
        kind: (now.kind != definition.kind).then_some(definition.kind),
        client_visible: (now.client_visible != definition.client_visible).then_some(definition.client_visible),
        variants: (now.variants != definition.variants).then_some(definition.variants),
    };
    let is_empty = update == FlagChange::default();
    (!is_empty).then(|| Change::UpdateFlag { flag: key.clone(), version: flag.version, update })
}

fn known<T: DeserializeOwned>(document: &Value) -> Option<T> {
    T::deserialize(document).ok()
}

fn unreadable() -> String {
    "what was there before is written in a way that this version cannot read".into()
}

fn already() -> String {
    "it is so already".into()
}

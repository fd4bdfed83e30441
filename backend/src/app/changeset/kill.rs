//! Kills: numbered and recorded like every write, but nothing can hold them up. No expected version, no validation, no
//! project lock; the kill flips `killed` in the row of `state` that it finds once it holds the counter.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use shared::model::changeset::{Note, Via};
use shared::model::id::{EnvironmentId, FlagId, ProjectId};
use shared::model::timestamp::Timestamp;
use shared::wire::api::changeset::ChangesetDetail;
use shared::wire::state::{Entity, StateKey};
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::app::changeset::{applied, note_commit, render};
use crate::auth::permission::Actor;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::changeset::{Entry, NewChangeset};
use crate::store::kill::{Due, Kill};

/// What to do with the kill of a flag.
#[derive(Clone, Debug)]
pub enum KillOrder {
    /// Off now.
    Kill {
        /// Why.
        reason: String,
        /// When it ends by itself.
        until: Option<OffsetDateTime>,
    },
    /// Back to what its config says.
    Lift,
}

/// A flag in some environments.
struct Scope<'a> {
    project: ProjectId,
    flag: FlagId,
    flag_key: &'a str,
    environments: &'a [EnvironmentId],
}

/// Kills a flag in environments, or lifts its kills there.
pub async fn set_killed(
    state: &AppState,
    project: ProjectId,
    author: &Actor,
    flag: (FlagId, &str),
    environments: &[EnvironmentId],
    order: &KillOrder,
    note: &Note,
) -> Result<ChangesetDetail, AppError> {
    let mut tx = state.pool.begin().await?;
    let now = state.clock.now();
    let scope = Scope { project, flag: flag.0, flag_key: flag.1, environments };
    let before = store::kill::list(&mut tx, &[flag.0]).await?;
    for environment in environments {
        match order {
            KillOrder::Kill { reason, until } => {
                store::kill::save(&mut tx, flag.0, *environment, reason, *until, author.user, now).await?;
            }
            KillOrder::Lift => {
                if !store::kill::delete(&mut tx, flag.0, *environment).await? {
                    return Err(AppError::not_found("kill of flag", flag.1));
                }
            }
        }
    }
    if let KillOrder::Kill { reason, .. } = order {
        let reason = format!("{} was killed: {reason}", flag.1);
        store::plan::pause_killed(&mut tx, project, flag.1, environments, author.user, &reason, now).await?;
    }
    store::flag::touch_unless_held(&mut tx, flag.0, author.user, now).await?;
    let after = match order {
        KillOrder::Kill { reason, until } => Some(written(reason, *until)),
        KillOrder::Lift => None,
    };
    let done = number(state, &mut tx, &scope, Some(author), (&before, after), note).await?;
    tx.commit().await?;
    note_commit(state, &done);
    Ok(done)
}

/// Lifts a kill whose time has come; nothing happens when somebody moved or lifted it meanwhile.
pub async fn lift_due(state: &AppState, due: &Due) -> Result<(), AppError> {
    let mut tx = state.pool.begin().await?;
    let before = store::kill::list(&mut tx, &[due.flag_id]).await?;
    if !store::kill::delete_due(&mut tx, due.flag_id, due.environment_id, state.clock.now()).await? {
        return Ok(());
    }
    let scope = Scope {
        project: due.project_id,
        flag: due.flag_id,
        flag_key: &due.flag_key,
        environments: &[due.environment_id],
    };
    let note = Note::try_from("the time of the kill is over".to_owned()).map_err(AppError::internal)?;
    let done = number(state, &mut tx, &scope, None, (&before, None), &note).await?;
    tx.commit().await?;
    note_commit(state, &done);
    tracing::info!(flag.key = due.flag_key, revision = done.revision, "a kill ended at its time");
    Ok(())
}

async fn number(
    state: &AppState,
    tx: &mut PgConnection,
    scope: &Scope<'_>,
    author: Option<&Actor>,
    (before, after): (&[Kill], Option<Value>),
    note: &Note,
) -> Result<ChangesetDetail, AppError> {
    let project_key = store::project::key(tx, scope.project).await?;
    let revision = store::changeset::take_revision(tx).await?;
    let environments = store::environment::list(tx, scope.project).await?;
    let keys: Vec<String> = scope
        .environments
        .iter()
        .map(|id| StateKey { environment: *id, entity: Entity::Flag(scope.flag) }.to_string())
        .collect();
    let held = store::state::list_by_key(tx, &keys).await?;
    let killed = after.is_some();
    let mut rows = Vec::new();
    for row in held.iter().filter(|row| row.killed != killed) {
        rows.push(render::with_killed(row, killed, revision)?);
    }
    let touched: BTreeSet<EnvironmentId> = rows.iter().map(|row| row.environment).collect();
    let named = |id: &EnvironmentId| environments.iter().find(|environment| environment.id == *id);
    for environment in touched.iter().filter_map(named) {
        rows.push(render::environment_row(environment, &project_key, revision)?);
    }
    let entries: Vec<Entry> = scope
        .environments
        .iter()
        .map(|environment| Entry {
            environment: Some(*environment),
            entity: "kill",
            entity_id: Some(scope.flag.uuid()),
            entity_key: scope.flag_key.to_owned(),
            before: before.iter().find(|kill| kill.environment_id == *environment).map(described),
            after: after.clone(),
        })
        .collect();
    let new = NewChangeset {
        id: state.clock.id(),
        project: Some(scope.project),
        author: author.map(|author| author.user),
        via: author.map_or(Via::Schedule, |author| author.via),
        note: note.as_str(),
        break_glass: None,
        revision,
        applied_at: state.clock.now(),
    };
    store::changeset::insert(tx, &new, &entries).await?;
    store::state::save(tx, &rows).await?;
    applied(&new, touched.iter().filter_map(named).map(|environment| environment.key.as_str()))
}

fn described(kill: &Kill) -> Value {
    written(&kill.reason, kill.until_at)
}

/// A kill as history keeps it.
fn written(reason: &str, until: Option<OffsetDateTime>) -> Value {
    json!({ "reason": reason, "until": until.map(Timestamp::from) })
}

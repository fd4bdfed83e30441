//! After a database was restored: what only the bucket has stays there until a person says that it is to go.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use shared::model::id::EnvironmentId;
use shared::wire::api::restored::{OnlyPublished, RestoredDetail, RestoredList};
use shared::wire::state::{self, Entity, Envelope, StateKey};

use crate::auth::permission::Actor;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::bucket_only::Restored;
use crate::store::changeset::{Entry, NewChangeset};
use crate::store::state::StateRow;

/// The times at which a restored database met the bucket, newest first.
pub async fn list(state: &AppState) -> Result<RestoredList, AppError> {
    let found = store::bucket_only::list(&mut *state.pool.acquire().await?).await?;
    Ok(RestoredList { items: found.into_iter().map(detail).collect() })
}

/// Deletes from the bucket what only it had when the database was restored.
pub async fn confirm(state: &AppState, who: &Actor, restored: u64) -> Result<RestoredDetail, AppError> {
    let mut tx = state.pool.begin().await?;
    let keys = store::bucket_only::list_waiting(&mut tx, restored).await?;
    if keys.is_empty() {
        return Err(AppError::not_found("restored database with something to confirm", format!("r{restored}")));
    }
    let known: BTreeSet<EnvironmentId> =
        store::state::list_revisions(&mut tx).await?.into_iter().map(|(environment, _)| environment).collect();
    let touched: Vec<String> = keys
        .iter()
        .map(|(environment, _)| *environment)
        .collect::<BTreeSet<_>>()
        .intersection(&known)
        .map(|environment| StateKey { environment: *environment, entity: Entity::Environment }.to_string())
        .collect();
    // From here on the counter is held.
    let revision = store::changeset::take_revision(&mut tx).await?;
    let mut rows = Vec::with_capacity(keys.len() + touched.len());
    for (environment, key) in keys.iter().filter(|(environment, _)| known.contains(environment)) {
        rows.push(tombstone(*environment, key.clone(), revision)?);
    }
    for mut row in store::state::list_by_key(&mut tx, &touched).await? {
        let envelope: Envelope = serde_json::from_str(&row.value).map_err(AppError::internal)?;
        row.value = serde_json::to_string(&Envelope { revision, ..envelope }).map_err(AppError::internal)?;
        row.revision = revision;
        rows.push(row);
    }
    let entry = Entry {
        environment: None,
        entity: "restored_confirmed",
        entity_id: None,
        entity_key: format!("r{restored}"),
        before: None,
        after: Some(json!({ "restored": restored, "deleted": keys.len() })),
    };
    let new = NewChangeset {
        id: state.clock.id(),
        project: None,
        author: Some(who.user),
        via: who.via,
        note: "what only the bucket had is deleted",
        break_glass: None,
        revision,
        applied_at: state.clock.now(),
    };
    store::changeset::insert(&mut tx, &new, &[entry]).await?;
    store::state::save(&mut tx, &rows).await?;
    store::bucket_only::confirm(&mut tx, restored, revision).await?;
    let found = store::bucket_only::list(&mut tx).await?;
    tx.commit().await?;
    let number = i64::try_from(restored).unwrap_or(i64::MAX);
    let found = found.into_iter().find(|found| found.revision == number);
    found.map(detail).ok_or_else(|| AppError::not_found("restored database", format!("r{restored}")))
}

/// What takes a value away from edges, whatever their version.
pub fn tombstone(environment: EnvironmentId, key: String, revision: u64) -> Result<StateRow, AppError> {
    let envelope = Envelope { format: state::FORMAT, revision, killed: false, deleted: true, body: None };
    let value = serde_json::to_string(&envelope).map_err(AppError::internal)?;
    Ok(StateRow { environment, key, revision, killed: false, deleted: true, bytes: 0, value })
}

fn detail(found: Restored) -> RestoredDetail {
    let after = found.after.unwrap_or(Value::Null);
    let number = |field: &str| after[field].as_u64().unwrap_or(0);
    let only = after["only_published"].as_array().cloned().unwrap_or_default();
    RestoredDetail {
        revision: u64::try_from(found.revision).unwrap_or(0),
        at: found.at.into(),
        only_published: only
            .into_iter()
            .filter_map(|item| serde_json::from_value::<OnlyPublished>(item).ok())
            .collect(),
        only_published_total: number("only_published_total"),
        waiting: u64::try_from(found.waiting).unwrap_or(0),
    }
}

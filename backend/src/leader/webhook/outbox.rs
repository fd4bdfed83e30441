//! Makes deliveries of what happened: the history above a cursor, and notes. Both are taken and told in one transaction,
//! so each webhook hears of each event exactly once, whoever leads and whatever crashes.

use std::collections::HashMap;

use serde_json::{Map, Value};
use shared::model::id::ProjectId;
use shared::model::webhook::EventType;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::app::webhook::event;
use crate::error::AppError;
use crate::leader::webhook::history;
use crate::state::AppState;
use crate::store;
use crate::store::webhook::delivery::NewDelivery;
use crate::store::webhook::outbox::{Listener, Note};

/// Changesets taken at once.
const CHANGESETS: i64 = 50;
/// Notes taken at once.
const NOTES: i64 = 200;

/// Something to tell.
#[derive(Debug)]
pub(super) struct Event {
    /// Names it; no other event has this name.
    pub(super) key: String,
    /// Whose; absent for all projects.
    pub(super) project: Option<Uuid>,
    /// Its changeset's number.
    pub(super) revision: Option<i64>,
    /// When.
    pub(super) at: OffsetDateTime,
    /// What happened.
    pub(super) kind: EventType,
    /// Where; empty for everywhere.
    pub(super) environments: Vec<Uuid>,
    /// What there is to know.
    pub(super) data: Map<String, Value>,
}

impl Event {
    fn is_for(&self, listener: &Listener) -> bool {
        let is_new = match self.revision {
            Some(revision) => revision > listener.from_revision,
            None => self.at >= listener.created_at,
        };
        let (types, places) = (&listener.event_types, &listener.environment_ids);
        is_new
            && self.project.is_none_or(|project| project == listener.project_id.uuid())
            && (types.is_empty() || types.iter().any(|kind| kind == self.kind.as_str()))
            && (places.is_empty()
                || self.environments.is_empty()
                || self.environments.iter().any(|environment| places.contains(environment)))
    }
}

/// Makes deliveries of the oldest that was not told; true when there may be more.
pub async fn fan_out(state: &AppState) -> Result<bool, AppError> {
    let mut db = state.pool.acquire().await?;
    if !store::webhook::outbox::is_due(&mut db).await? {
        return Ok(false);
    }
    drop(db);
    let mut tx = state.pool.begin().await?;
    let cursor = store::webhook::outbox::cursor(&mut tx).await?;
    let listeners = store::webhook::outbox::list_listeners(&mut tx).await?;
    let applied = store::webhook::outbox::list_applied(&mut tx, cursor, CHANGESETS).await?;
    let notes = store::webhook::outbox::take_notes(&mut tx, NOTES).await?;
    let is_more = applied.len() as i64 == CHANGESETS || notes.len() as i64 == NOTES;
    let until = applied.last().map_or(cursor, |last| u64::try_from(last.revision).unwrap_or(cursor));
    if !listeners.is_empty() {
        let touched = store::webhook::outbox::list_touched(&mut tx, cursor, until).await?;
        let mut ids: Vec<Uuid> = touched.iter().filter_map(|entry| entry.environment_id).collect();
        ids.extend(notes.iter().flat_map(|note| note.environment_ids.iter().copied()));
        let keys = store::webhook::outbox::environment_keys(&mut tx, &ids).await?;
        let mut events = history::events(&applied, &touched, &keys);
        events.extend(notes.into_iter().filter_map(noted));
        events.sort_by_key(|event| event.at);
        let new = deliveries(state, &events, &listeners, &keys)?;
        store::webhook::delivery::insert(&mut tx, &new, state.clock.now()).await?;
    }
    store::webhook::outbox::move_cursor(&mut tx, until).await?;
    tx.commit().await?;
    Ok(is_more)
}

fn noted(note: Note) -> Option<Event> {
    let Ok(kind) = note.kind.parse() else {
        // Written by a newer version; its own leader would tell it.
        tracing::warn!(event.type = note.kind, "an event of an unknown type is not told");
        return None;
    };
    let Value::Object(data) = note.data else { return None };
    Some(Event {
        key: format!("e{}", note.number),
        project: note.project_id,
        revision: None,
        at: note.at,
        kind,
        environments: note.environment_ids,
        data,
    })
}

fn deliveries(
    state: &AppState,
    events: &[Event],
    listeners: &[Listener],
    keys: &[(Uuid, String)],
) -> Result<Vec<NewDelivery>, AppError> {
    let mut new = Vec::new();
    for event in events {
        let mut bodies: HashMap<ProjectId, String> = HashMap::new();
        for listener in listeners.iter().filter(|listener| event.is_for(listener)) {
            let body = match bodies.get(&listener.project_id) {
                Some(body) => body.clone(),
                None => {
                    let body = body(event, &listener.project, keys)?;
                    bodies.insert(listener.project_id, body.clone());
                    body
                }
            };
            let (id, webhook, kind) = (state.clock.id(), listener.id, event.kind.as_str());
            new.push(NewDelivery { id, webhook, event_key: event.key.clone(), kind, body });
        }
    }
    Ok(new)
}

fn body(event: &Event, project: &str, keys: &[(Uuid, String)]) -> Result<String, AppError> {
    let mut data = event.data.clone();
    data.insert("project".into(), project.into());
    let named = keys.iter().filter(|(id, _)| event.environments.contains(id));
    let named: Vec<&str> = named.map(|(_, key)| key.as_str()).collect();
    if !named.is_empty() {
        data.insert("environments".into(), named.into());
    }
    event::body(event.kind, event.at, data)
}

//! Keeps [`Live`] current: what edges say over NATS, what other backends commit, and a tick for what only time changes.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_nats::{Client, Message};
use futures::StreamExt;
use serde::Deserialize;
use shared::model::id::{EnvironmentId, ProcessId, ProjectId};
use shared::wire::api::event::{AddedCounts, Changed, ChangesetMoved, EnvironmentAdded, Event};
use shared::wire::edge::{GOODBYE_SUBJECT, Goodbye, HEARTBEAT_SUBJECT, RECEIPT_SUBJECT};
use sqlx::postgres::PgListener;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::app;
use crate::error::{AppError, chain};
use crate::leader::ingest;
use crate::live::Audience;
use crate::state::AppState;
use crate::store;
use crate::store::edge::Departure;

/// Viewers hear of edges and counts at most this often.
const TICK: Duration = Duration::from_secs(1);
/// Wait before following a dependency again that was gone.
const RETRY: Duration = Duration::from_secs(1);

/// What viewers have not been told yet.
#[derive(Debug, Default)]
struct News {
    edges: AtomicBool,
    /// Evaluations that were added, where that is known; absent when nothing was.
    counts: Mutex<Option<Added>>,
    /// An edge said something; one may have left.
    heard: Notify,
}

/// Evaluations added by environment.
#[derive(Debug, Default, PartialEq, Eq)]
struct Added {
    environments: BTreeMap<EnvironmentId, u64>,
    /// Some were added without saying where.
    is_anywhere: bool,
}

/// Runs until stopped; a dependency that is gone is waited for.
pub async fn listen(state: AppState, bus: Client, stop: CancellationToken) {
    let news = News::default();
    tokio::select! {
        () = follow_edges(&state, &bus, &news) => {}
        () = follow_database(&state, &news) => {}
        () = write_departures(&state, &news) => {}
        () = tick(&state, &news) => {}
        () = stop.cancelled() => {}
    }
    // What was being written when the process was asked to stop; edges usually stop just before it.
    match tokio::time::timeout(RETRY, write_departed(&state)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(error = %chain(&error), "edges that left are not written down"),
        Err(_) => tracing::warn!("edges that left are not written down in time"),
    }
}

async fn follow_edges(state: &AppState, bus: &Client, news: &News) {
    loop {
        // One subscription keeps the order of an edge's messages.
        match bus.subscribe("fluxgate.edge.*").await {
            Ok(mut messages) => {
                while let Some(message) = messages.next().await {
                    heard(state, &message, news);
                    news.heard.notify_one();
                }
            }
            Err(error) => tracing::warn!(error = %chain(&error), "cannot listen to edges yet"),
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Writes down at once which edges left: a backend that stops right after them would forget it, and list them for ever.
/// Beside the listening, so that a database that is gone holds up no receipt.
async fn write_departures(state: &AppState, news: &News) {
    loop {
        news.heard.notified().await;
        while let Err(error) = write_departed(state).await {
            tracing::warn!(error = %chain(&error), "edges that left cannot be written down yet");
            tokio::time::sleep(RETRY).await;
        }
    }
}

async fn write_departed(state: &AppState) -> Result<(), AppError> {
    for (edge, how) in state.live.departed() {
        store::edge::depart(&mut *state.pool.acquire().await?, &edge, how, state.clock.now()).await?;
        state.live.departure_written(edge.heartbeat.process);
    }
    Ok(())
}

fn heard(state: &AppState, message: &Message, news: &News) {
    let now = state.clock.now();
    let subject = message.subject.as_str();
    let read = match subject {
        RECEIPT_SUBJECT => serde_json::from_slice(&message.payload).map(|receipt| {
            let detail = state.live.receipt(&receipt, now);
            let audience = Audience::Environment(receipt.environment);
            state.live.tell(Some(audience), Event::Receipt(detail));
            news.edges.store(true, Ordering::Relaxed);
        }),
        HEARTBEAT_SUBJECT => serde_json::from_slice(&message.payload).map(|heartbeat| {
            if state.live.heard(heartbeat, now) {
                news.edges.store(true, Ordering::Relaxed);
            }
        }),
        GOODBYE_SUBJECT => serde_json::from_slice::<Goodbye>(&message.payload).map(|goodbye| {
            state.live.depart(goodbye.process, Departure::Goodbye { counted: goodbye.counted });
            news.edges.store(true, Ordering::Relaxed);
        }),
        _ => Ok(()),
    };
    if let Err(error) = read {
        tracing::warn!(subject, error = %error, "an edge says what this version cannot read");
    }
}

async fn follow_database(state: &AppState, news: &News) {
    loop {
        if let Err(error) = follow_database_once(state, news).await {
            tracing::warn!(error = %chain(&error), "cannot listen to the database yet");
        }
        tokio::time::sleep(RETRY).await;
        // What was said meanwhile is lost; viewers ask for everything again.
        state.live.tell(None, Event::Resync);
    }
}

async fn follow_database_once(state: &AppState, news: &News) -> Result<(), AppError> {
    let mut listener = PgListener::connect_with(&state.pool).await?;
    listener
        .listen_all([store::changeset::CHANNEL, store::review::CHANNEL, store::edge::CHANNEL, ingest::CHANNEL])
        .await?;
    let edges = store::edge::list(&mut *state.pool.acquire().await?).await?;
    state.live.load(edges);
    // `None` means that the connection was lost and made anew; notifications in between are gone.
    while let Some(notification) = listener.try_recv().await? {
        match notification.channel() {
            store::changeset::CHANNEL => {
                if let Ok(revision) = notification.payload().parse() {
                    state.live.note_commit(revision, state.clock.now());
                    tell_changed(state, revision).await?;
                }
            }
            store::review::CHANNEL => tell_moved(state, notification.payload()),
            store::edge::CHANNEL => {
                if let Ok(process) = notification.payload().parse::<ProcessId>() {
                    state.live.forget(process);
                    news.edges.store(true, Ordering::Relaxed);
                }
            }
            _ => news.add_counts(notification.payload()),
        }
    }
    Ok(())
}

async fn tell_changed(state: &AppState, revision: u64) -> Result<(), AppError> {
    let summary = store::changeset::summary(&mut *state.pool.acquire().await?, revision).await?;
    let Some(summary) = summary else { return Ok(()) };
    let (Some(id), Some(key)) = (summary.project_id, summary.project) else {
        state.live.tell(None, Event::Resync);
        return Ok(());
    };
    let changed = Changed {
        revision,
        project: key.parse().map_err(AppError::internal)?,
        environments: summary.environments,
        flags: summary.flags.iter().filter_map(|key| key.parse().ok()).collect(),
        by: summary.author.unwrap_or_else(|| "FluxGate".into()),
    };
    state.live.tell(Some(Audience::Project(id)), Event::Changed(changed));
    Ok(())
}

/// Tells the members of a project where a changeset stands.
fn tell_moved(state: &AppState, payload: &str) {
    #[derive(Deserialize)]
    struct Payload {
        project_id: ProjectId,
        #[serde(flatten)]
        moved: ChangesetMoved,
    }
    match serde_json::from_str::<Payload>(payload) {
        Ok(Payload { project_id, moved }) => {
            state.live.tell(Some(Audience::Project(project_id)), Event::Changeset(moved));
        }
        Err(error) => tracing::warn!(error = %error, "another backend says of a changeset what this one cannot read"),
    }
}

impl News {
    fn add_counts(&self, payload: &str) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get_or_insert_default().add(payload);
    }

    fn take_counts(&self) -> Option<Added> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Added {
    /// Adds what a notification says: `{"<environment id>": <evaluations>}`, or nothing when that was too long for it.
    fn add(&mut self, payload: &str) {
        let said: BTreeMap<EnvironmentId, u64> = serde_json::from_str(payload).unwrap_or_default();
        self.is_anywhere |= said.is_empty();
        for (environment, added) in said {
            let sum = self.environments.entry(environment).or_default();
            *sum = sum.saturating_add(added);
        }
    }

    fn is_in(&self, environment: EnvironmentId) -> bool {
        self.is_anywhere || self.environments.contains_key(&environment)
    }
}

async fn tick(state: &AppState, news: &News) {
    let mut silent = 0;
    // The project of an environment never changes.
    let mut projects = HashMap::new();
    loop {
        tokio::time::sleep(TICK).await;
        let silent_now = state.live.silent(state.clock.now());
        if news.edges.swap(false, Ordering::Relaxed) || silent_now != silent {
            silent = silent_now;
            state.live.tell(None, Event::Edges);
        }
        if let Some(added) = news.take_counts() {
            // A database that is slow holds up no news of edges for long.
            let told = tokio::time::timeout(TICK, tell_counts(state, &added, &mut projects)).await;
            if let Err(error) = told.unwrap_or_else(|_| Err(AppError::internal("not within a second"))) {
                tracing::warn!(error = %chain(&error), "viewers are not told all new counts");
            }
        }
    }
}

/// Tells each project what was added in it, and those who watch a flag how often it was evaluated.
async fn tell_counts(
    state: &AppState,
    added: &Added,
    projects: &mut HashMap<EnvironmentId, ProjectId>,
) -> Result<(), AppError> {
    if added.is_anywhere {
        state.live.tell(None, Event::Counts(AddedCounts::default()));
    }
    let mut told: BTreeMap<ProjectId, Vec<EnvironmentAdded>> = BTreeMap::new();
    for (environment, count) in &added.environments {
        if !projects.contains_key(environment) {
            let found = store::environment::project_of(&mut *state.pool.acquire().await?, *environment).await?;
            projects.extend(found.map(|project| (*environment, project)));
        }
        if let Some(project) = projects.get(environment) {
            let line = EnvironmentAdded { environment: *environment, added: *count };
            told.entry(*project).or_default().push(line);
        }
    }
    for (project, environments) in told {
        state.live.tell(Some(Audience::Project(project)), Event::Counts(AddedCounts { environments }));
    }
    let mut watched = state.live.watched();
    watched.retain(|(flag, _)| added.is_in(flag.environment));
    if !watched.is_empty() {
        for event in app::count::flag_minutes(state, &watched).await? {
            state.live.tell(event.audience, event.event);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_summed_and_without_a_place_it_is_anywhere() {
        let environment = "018f0000-0000-7000-8000-000000000001";
        let mut added = Added::default();
        added.add(&format!("{{\"{environment}\": 3}}"));
        added.add(&format!("{{\"{environment}\": 4}}"));
        let id = environment.parse().expect("an id");
        assert_eq!(added, Added { environments: BTreeMap::from([(id, 7)]), is_anywhere: false });
        assert!(added.is_in(id) && !added.is_in(uuid::Uuid::nil().into()));
        for unknown in ["", "{}", "what a newer version says"] {
            let mut added = Added::default();
            added.add(unknown);
            assert!(added.is_anywhere && added.is_in(id), "{unknown}");
        }
    }
}

//! The event stream that keeps every page current.

use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderName;
use axum::response::sse::{self, Sse};
use axum::response::{AppendHeaders, IntoResponse};
use futures::Stream;
use serde::Deserialize;
use shared::model::id::{EnvironmentId, ProjectId, UserId};
use shared::model::key::{EnvironmentKey, FlagKey, ProjectKey};
use shared::wire::api::event::Event;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;
use utoipa::IntoParams;

use crate::app;
use crate::auth::permission::SignedIn;
use crate::error::AppError;
use crate::http::input::Query;
use crate::live::{Audience, LiveEvent, Watching};
use crate::state::AppState;
use crate::store;

/// A comment is sent this often, and the session looked at again.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// A flag whose counts are told as they come in; all three or none.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct WatchQuery {
    /// Key of its project.
    #[param(value_type = Option<String>)]
    project: Option<ProjectKey>,
    /// Key of the environment.
    #[param(value_type = Option<String>)]
    environment: Option<EnvironmentKey>,
    /// Its key.
    #[param(value_type = Option<String>)]
    flag: Option<FlagKey>,
}

/// Follows changes, receipts, edges and counts, and the counts of one flag where one is named. Ends with the session.
#[utoipa::path(get, path = "/api/v1/events", tag = "events", params(WatchQuery),
               responses((status = 200, body = Event, content_type = "text/event-stream")))]
pub async fn follow_events(
    State(state): State<AppState>,
    who: SignedIn,
    Query(query): Query<WatchQuery>,
) -> Result<impl IntoResponse, AppError> {
    let watching = watch(&state, &who, query).await?;
    let viewer = Viewer {
        events: state.live.subscribe(),
        people: state.live.subscribe_people(),
        watching,
        projects: HashMap::new(),
        environments: HashMap::new(),
        who,
        state,
        next: Instant::now(),
    };
    // Proxies that buffer would hold events back.
    let headers = AppendHeaders([(HeaderName::from_static("x-accel-buffering"), "no")]);
    Ok((headers, Sse::new(stream(viewer))))
}

struct Viewer {
    state: AppState,
    who: SignedIn,
    events: Receiver<LiveEvent>,
    people: Receiver<Option<UserId>>,
    watching: Option<Watching>,
    /// Whether they may see a project, as looked up within the last heartbeat.
    projects: HashMap<ProjectId, bool>,
    /// The project of an environment, which never changes.
    environments: HashMap<EnvironmentId, ProjectId>,
    next: Instant,
}

async fn watch(state: &AppState, who: &SignedIn, query: WatchQuery) -> Result<Option<Watching>, AppError> {
    let WatchQuery { project, environment, flag } = query;
    let is_there = [("project", project.is_some()), ("environment", environment.is_some()), ("flag", flag.is_some())];
    let (Some(project), Some(environment), Some(flag)) = (project, environment, flag) else {
        let absent = is_there.iter().find(|(_, is_there)| !is_there).map_or("flag", |(name, _)| *name);
        let is_none = is_there.iter().all(|(_, is_there)| !is_there);
        let message =
            "is needed to watch a flag, as are project, environment and flag together; or leave all three out";
        return if is_none { Ok(None) } else { Err(AppError::field(absent, message)) };
    };
    let mut db = state.pool.acquire().await?;
    let found = who.in_project(&mut db, project.as_str()).await?;
    let found = found.ok_or_else(|| AppError::not_found("project", &project))?;
    drop(db);
    app::count::watch(state, found.id(), &environment, &flag).await
}

fn stream(viewer: Viewer) -> impl Stream<Item = Result<sse::Event, Infallible>> {
    futures::stream::unfold(viewer, |mut viewer| async {
        let event = viewer.next_event().await?;
        Some((Ok(event), viewer))
    })
}

impl Viewer {
    /// The next thing to send; `None` ends the stream.
    async fn next_event(&mut self) -> Option<sse::Event> {
        loop {
            tokio::select! {
                () = self.state.stopping.cancelled() => return None,
                () = tokio::time::sleep_until(self.next) => {
                    self.next = Instant::now() + HEARTBEAT;
                    if !self.look_again().await {
                        return None;
                    }
                    return Some(sse::Event::default().comment("hb"));
                }
                told = self.people.recv() => {
                    let is_other = matches!(told, Ok(Some(person)) if person != self.who.user.id);
                    if !is_other && !self.look_again().await {
                        return None;
                    }
                }
                event = self.events.recv() => match event {
                    Ok(event) if self.may_see(event.audience).await => {
                        return sse::Event::default().json_data(event.event).ok();
                    }
                    Ok(_) => {}
                    Err(RecvError::Lagged(_)) => return sse::Event::default().json_data(Event::Resync).ok(),
                    Err(RecvError::Closed) => return None,
                }
            }
        }
    }

    /// Looks again at who they are and what they may see; false when the stream is to end. True also while the database
    /// does not answer: what is shown is not new to them.
    async fn look_again(&mut self) -> bool {
        self.projects.clear();
        let Ok(mut db) = self.state.pool.acquire().await else { return true };
        self.who.look_again(&mut db, self.state.clock.now()).await.unwrap_or(true)
    }

    async fn may_see(&mut self, audience: Option<Audience>) -> bool {
        if let Some(Audience::Watching(flag)) = audience
            && self.watching.as_ref().map(Watching::flag) != Some(flag)
        {
            return false;
        }
        let sees_all = self.who.is_admin && self.who.scope().is_none_or(|scope| scope.project.is_none());
        if sees_all || audience.is_none() {
            return true;
        }
        let project = match audience {
            Some(Audience::Project(id)) => Some(id),
            Some(Audience::Watching(flag)) => self.project_of(flag.environment).await,
            Some(Audience::Environment(id)) => self.project_of(id).await,
            None => None,
        };
        let Some(project) = project else { return false };
        if let Some(known) = self.projects.get(&project) {
            return *known;
        }
        let may = self.is_member(project).await;
        self.projects.insert(project, may);
        may
    }

    async fn project_of(&mut self, environment: EnvironmentId) -> Option<ProjectId> {
        if let Some(known) = self.environments.get(&environment) {
            return Some(*known);
        }
        let mut db = self.state.pool.acquire().await.ok()?;
        let found = store::environment::project_of(&mut db, environment).await.ok()??;
        self.environments.insert(environment, found);
        Some(found)
    }

    async fn is_member(&self, project: ProjectId) -> bool {
        if !self.who.reaches(project) {
            return false;
        }
        if self.who.is_admin {
            return true;
        }
        let Ok(mut db) = self.state.pool.acquire().await else { return false };
        store::project::is_member(&mut db, project, self.who.user.id).await.unwrap_or(false)
    }
}

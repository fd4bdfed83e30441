//! The event stream that keeps every page current.

use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderName;
use axum::response::sse::{self, Sse};
use axum::response::{AppendHeaders, IntoResponse};
use futures::Stream;
use shared::model::id::{EnvironmentId, ProjectId};
use shared::wire::api::event::Event;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use crate::auth::permission::SignedIn;
use crate::error::AppError;
use crate::live::{Audience, LiveEvent};
use crate::state::AppState;
use crate::store;

/// A comment is sent this often, and the session looked at again.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Follows changes, receipts, edges and counts. Ends with the session.
#[utoipa::path(get, path = "/api/v1/events", tag = "events",
               responses((status = 200, body = Event, content_type = "text/event-stream")))]
pub async fn follow_events(State(state): State<AppState>, who: SignedIn) -> Result<impl IntoResponse, AppError> {
    let viewer = Viewer {
        events: state.live.subscribe(),
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
    /// Whether they may see a project, as looked up within the last heartbeat.
    projects: HashMap<ProjectId, bool>,
    /// The project of an environment, which never changes.
    environments: HashMap<EnvironmentId, ProjectId>,
    next: Instant,
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
                    self.projects.clear();
                    if !self.is_signed_in().await {
                        return None;
                    }
                    return Some(sse::Event::default().comment("hb"));
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

    /// True also while the database does not answer: what is shown is not new to them.
    async fn is_signed_in(&self) -> bool {
        let Ok(mut db) = self.state.pool.acquire().await else { return true };
        let found = store::session::find(&mut db, self.who.session, self.state.clock.now()).await;
        !matches!(found, Ok(None))
    }

    async fn may_see(&mut self, audience: Option<Audience>) -> bool {
        if self.who.is_admin || audience.is_none() {
            return true;
        }
        let project = match audience {
            Some(Audience::Project(id)) => Some(id),
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
        let Ok(mut db) = self.state.pool.acquire().await else { return false };
        store::project::is_member(&mut db, project, self.who.user.id).await.unwrap_or(false)
    }
}

//! The projects that I may see, with their environments: loaded once, kept for every page.

use leptos::prelude::*;
use shared::model::id::EnvironmentId;
use shared::wire::api::environment::EnvironmentSummary;
use shared::wire::api::event::Event;
use shared::wire::api::project::{ProjectDetail, ProjectList};

use crate::api;
use crate::remote::Remote;
use crate::session::Session;

/// A context of the whole app.
#[derive(Clone, Copy)]
pub struct Projects(Remote<ProjectList>);

impl Projects {
    /// Loads them as soon as somebody is signed in.
    pub fn start(session: Session) -> Self {
        let list = Remote::new(move || session.is_signed_in().then_some(()), |()| api::project::list());
        Self(list.follow(|event| matches!(event, Event::Resync)))
    }

    /// The projects of the app.
    pub fn get() -> Self {
        expect_context()
    }

    /// All; `None` while they are loaded; tracked.
    pub fn list(self) -> Option<Vec<ProjectDetail>> {
        self.0.with(|list| list.map(|list| list.items.clone()))
    }

    /// Why there are none; tracked.
    pub fn failure(self) -> Option<String> {
        self.0.failure().map(|error| error.sentence())
    }

    /// Asks again.
    pub fn reload(self) {
        self.0.reload();
    }

    /// One by its key; tracked.
    pub fn find(self, key: &str) -> Option<ProjectDetail> {
        self.0.with(|list| list?.items.iter().find(|project| project.key.as_str() == key).cloned())
    }

    /// A project's environments in promotion order; tracked.
    pub fn environments(self, project: &str) -> Vec<EnvironmentSummary> {
        self.find(project).map(|project| project.environments).unwrap_or_default()
    }

    /// An environment of any project by its id; tracked.
    pub fn environment(self, id: EnvironmentId) -> Option<(ProjectDetail, EnvironmentSummary)> {
        self.0.with(|list| {
            list?.items.iter().find_map(|project| {
                let environment = project.environments.iter().find(|environment| environment.id == id)?;
                Some((project.clone(), environment.clone()))
            })
        })
    }
}

//! Addresses that only lead on.

use leptos::prelude::*;

use crate::component::status::{Failed, Loading};
use crate::layout::navigation::current_project;
use crate::navigation::Navigation;
use crate::piece::project::Projects;
use crate::route::Route;

/// `/`: the flags of the only project, or all projects.
#[component]
pub fn Root() -> impl IntoView {
    let (navigation, projects) = (Navigation::get(), Projects::get());
    let project = current_project(navigation.route(), projects);
    Effect::new(move |_| {
        let Some(list) = projects.list() else { return };
        match (list.as_slice(), project.get_untracked()) {
            ([_only], Some(project)) => navigation.replace(&Route::Flags { project }.link()),
            _ => navigation.replace(&Route::Projects.link()),
        }
    });
    move || match projects.failure() {
        Some(text) => view! { <Failed text=text retry=move || projects.reload()/> }.into_any(),
        None => view! { <Loading text="Loading projects"/> }.into_any(),
    }
}

/// `/p/{project}`: its flags.
#[component]
pub fn Home(project: String) -> impl IntoView {
    let navigation = Navigation::get();
    Effect::new(move |_| navigation.replace(&Route::Flags { project: project.clone() }.link()));
}

//! The left bar: which project, and its sections.

use leptos::prelude::*;

use crate::component::icon::Icon;
use crate::component::menu::Menu;
use crate::piece::project::Projects;
use crate::route::Route;
use crate::storage::{self, Keep};

const LAST_PROJECT: &str = "project";

/// The project of the page, or the one looked at last, for pages that belong to none.
pub fn current_project(route: Memo<Option<Route>>, projects: Projects) -> Memo<Option<String>> {
    Memo::new(move |last: Option<&Option<String>>| {
        if let Some(project) = route.with(|route| route.as_ref()?.project().map(str::to_owned)) {
            storage::write_text(Keep::Browser, LAST_PROJECT, Some(&project));
            return Some(project);
        }
        let known = projects.list()?;
        let remembered = last.cloned().flatten().or_else(|| storage::read_text(Keep::Browser, LAST_PROJECT));
        let remembered = remembered.filter(|key| known.iter().any(|project| project.key.as_str() == key));
        remembered.or_else(|| Some(known.first()?.key.to_string()))
    })
}

/// Sections as links; the current one is marked.
#[component]
pub fn MainNavigation(route: Memo<Option<Route>>) -> impl IntoView {
    let projects = Projects::get();
    let project = current_project(route, projects);
    let flags = move || project.get().map(|project| Route::Flags { project });
    let keys = move || project.get().map(|project| Route::Keys { project });
    let is_flags = move || {
        matches!(
            route.get(),
            Some(Route::Flags { .. } | Route::Flag { .. } | Route::NewFlag { .. } | Route::Project { .. })
        )
    };
    let is_keys = move || matches!(route.get(), Some(Route::Keys { .. }));
    let is_edges = move || matches!(route.get(), Some(Route::Edges));
    view! {
        <ProjectSwitcher route=route project=project/>
        <ul class="sections">
                {move || flags().map(|flags| view! { <Section icon=Icon::Flag name="Flags" link=flags.link() is_current=is_flags/> })}
                <Section icon=Icon::Server name="Edges" link=Route::Edges.link() is_current=is_edges/>
                {move || keys().map(|keys| view! { <Section icon=Icon::Key name="SDK keys" link=keys.link() is_current=is_keys/> })}
        </ul>
    }
}

#[component]
fn Section(icon: Icon, name: &'static str, link: String, #[prop(into)] is_current: Signal<bool>) -> impl IntoView {
    view! {
        <li>
            <a class="section" href=link aria-current=move || is_current.get().then_some("page")>{icon.view()}{name}</a>
        </li>
    }
}

/// Keeps the section when the project changes.
#[component]
fn ProjectSwitcher(route: Memo<Option<Route>>, project: Memo<Option<String>>) -> impl IntoView {
    let projects = Projects::get();
    let name = Memo::new(move |_| {
        let key = project.get()?;
        Some(projects.find(&key).map_or(key, |project| project.name))
    });
    let label = move || format!("Project: {}", name.get().unwrap_or_else(|| "none".into()));
    let items = move || {
        projects.list().unwrap_or_default().into_iter().map(move |item| {
            let key = item.key.to_string();
            let link = route.get().map_or(Route::Flags { project: key.clone() }, |route| route.in_project(&key)).link();
            let is_current = project.with(|project| project.as_deref() == Some(key.as_str()));
            view! { <a href=link aria-current=is_current.then_some("true")>{item.name}</a> }
        })
    };
    view! {
        <Menu
            label=label
            button=move || view! {
                <span class="project-name">{move || name.get().unwrap_or_else(|| "Projects".into())}</span>
                {Icon::ChevronDown.view()}
            }
        >
            <p class="menu-title">"Projects"</p>
            {move || items().collect_view()}
            <hr/>
            <a href=Route::Projects.link()>"All projects"</a>
        </Menu>
    }
}

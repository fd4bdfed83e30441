//! Where the page is: project › section › thing.

use leptos::prelude::*;

use crate::piece::project::Projects;
use crate::route::Route;

/// Links to everything above the page; the last one is the page itself.
#[component]
pub fn Breadcrumbs(route: Memo<Option<Route>>) -> impl IntoView {
    let projects = Projects::get();
    let crumbs = move || {
        let Some(route) = route.get() else { return Vec::new() };
        let mut crumbs: Vec<(String, String)> = Vec::new();
        if let Some(key) = route.project() {
            let flags = Route::Flags { project: key.into() }.link();
            let name = projects.find(key).map_or_else(|| key.into(), |project| project.name);
            crumbs.push((name, Route::Project { project: key.into() }.link()));
            if !matches!(route, Route::Keys { .. } | Route::Project { .. }) {
                crumbs.push(("Flags".into(), flags));
            }
        }
        match &route {
            Route::NewFlag { .. } => crumbs.push(("New flag".into(), route.link())),
            Route::Flag { flag, .. } => crumbs.push((flag.clone(), route.link())),
            Route::Keys { .. } => crumbs.push(("SDK keys".into(), route.link())),
            Route::Edges => crumbs.push(("Edges".into(), route.link())),
            Route::Projects | Route::Root => crumbs.push(("Projects".into(), Route::Projects.link())),
            Route::Setup | Route::SignIn | Route::Project { .. } | Route::Flags { .. } => {}
        }
        crumbs
    };
    let items = move || {
        let crumbs = crumbs();
        let last = crumbs.len().saturating_sub(1);
        crumbs.into_iter().enumerate().map(move |(at, (name, link))| {
            let is_last = at == last;
            view! { <li><a href=link aria-current=is_last.then_some("page")>{name}</a></li> }
        })
    };
    view! { <nav class="crumbs" aria-label="Breadcrumbs"><ol>{move || items().collect_view()}</ol></nav> }
}

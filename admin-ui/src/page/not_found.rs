//! No page has this address.

use leptos::prelude::*;

use crate::layout::page_head::PageHead;
use crate::navigation::Navigation;
use crate::piece::project::Projects;
use crate::route::Route;

/// Offers the way back, and a search for the last part of the address.
#[component]
pub fn NotFound() -> impl IntoView {
    let here = Navigation::get().here();
    let path = here.split('?').next().unwrap_or_default().to_owned();
    let last = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default().to_owned();
    let projects = Projects::get();
    let search = move || {
        let project = projects.list()?.first()?.key.to_string();
        let link = Route::Flags { project }.link_with("q", &last);
        Some(view! { <p><a href=link>{format!("Search the flags for “{last}”")}</a></p> })
    };
    view! {
        <PageHead title="There is no such page"/>
        <div class="stack">
            <p>"Nothing has the address " <code translate="no">{path}</code> "."</p>
            {search}
            <p><a href=Route::Root.link()>"Go to the start"</a></p>
        </div>
    }
}

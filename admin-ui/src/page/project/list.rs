//! All projects I may see.

use leptos::prelude::*;
use shared::wire::api::project::ProjectDetail;

use crate::component::status::{Empty, Failed, Loading};
use crate::format;
use crate::layout::page_head::PageHead;
use crate::piece::environment::EnvironmentName;
use crate::piece::project::Projects;
use crate::route::Route;

/// One row per project.
#[component]
pub fn ProjectListPage() -> impl IntoView {
    let projects = Projects::get();
    view! {
        <PageHead title="Projects"/>
        {move || match (projects.list(), projects.failure()) {
            (Some(list), _) if list.is_empty() => view! {
                <Empty title="You cannot see any project yet">
                    <p>"A project groups flags, environments and people. Ask an admin to add you to one."</p>
                </Empty>
            }
            .into_any(),
            (Some(list), _) => {
                view! { <ul class="projects">{list.into_iter().map(|project| view! { <Row project=project/> }).collect_view()}</ul> }
                    .into_any()
            }
            (None, Some(text)) => view! { <Failed text=text retry=move || projects.reload()/> }.into_any(),
            (None, None) => view! { <Loading text="Loading projects"/> }.into_any(),
        }}
    }
}

#[component]
fn Row(project: ProjectDetail) -> impl IntoView {
    let link = Route::Flags { project: project.key.to_string() }.link();
    let environments =
        project.environments.into_iter().map(|environment| view! { <EnvironmentName environment=environment/> });
    view! {
        <li class="project">
            <a class="strong" href=link>{project.name}</a>
            <span class="muted">{format::plural(project.flags, "flag")}</span>
            <span class="row">{environments.collect_view()}</span>
        </li>
    }
}

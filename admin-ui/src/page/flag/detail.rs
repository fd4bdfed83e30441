//! One flag: its head, and its targeting in the chosen environment.

use leptos::prelude::*;
use shared::wire::api::environment::EnvironmentSummary;
use shared::wire::api::event::Event;
use shared::wire::api::flag::{FlagDetail, FlagEnvironment};

use super::draft::{Editing, is_any_kept};
use super::draft_bar::DraftBar;
use super::evaluations::Evaluations;
use super::header::{Header, StateLine};
use super::kill::KillDialog;
use super::kill_banner::KillBanner;
use super::review::{Review, Saving};
use super::targeting::Targeting;
use crate::api;
use crate::component::status::{Failed, Loading};
use crate::layout::page_head::PageHead;
use crate::navigation::Navigation;
use crate::piece::project::Projects;
use crate::remote::Remote;
use crate::route::Route;
use crate::storage::{self, Keep};

/// A changeset that names so many flags may have left some out.
const NAMED_FLAGS_MAX: usize = 50;

/// What lies over the page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layer {
    Review,
    Kill,
}

/// The page at `/p/{project}/flags/{flag}`.
#[component]
pub fn FlagPage(project: String, flag: String) -> impl IntoView {
    let (navigation, projects) = (Navigation::get(), Projects::get());
    let detail = Remote::new(|| Some(()), {
        let (project, flag) = (project.clone(), flag.clone());
        move |()| {
            let (project, flag) = (project.clone(), flag.clone());
            async move { api::flag::find(&project, &flag).await }
        }
    })
    .follow({
        let (project, flag) = (project.clone(), flag.clone());
        move |event| match event {
            Event::Changed(changed) if changed.project.as_str() == project => {
                changed.flags.len() >= NAMED_FLAGS_MAX || changed.flags.iter().any(|key| key.as_str() == flag)
            }
            _ => false,
        }
    });
    let environments = {
        let project = project.clone();
        Memo::new(move |_| projects.environments(&project))
    };
    let environment = chosen_environment(&project, environments);
    ask_before_losing_drafts();

    let tab = {
        let flag = flag.clone();
        Signal::derive(move || match environment.get() {
            Some(environment) => format!("{flag} · {}", environment.key),
            None => flag.clone(),
        })
    };
    let refused = {
        let project = project.clone();
        Signal::derive(move || match projects.find(&project) {
            Some(project) if !project.can_edit => {
                Some(format!("Needs the right to change flags in {}; ask an admin.", project.name))
            }
            _ => None,
        })
    };
    let kill = move || navigation.set_query("do", Some("kill"));
    let failure = Memo::new(move |_| detail.failure());
    let is_loaded = detail.is_loaded();
    let list = Route::Flags { project: project.clone() }.link_with("q", &flag);
    let body = {
        let (project, flag) = (project.clone(), flag.clone());
        move || {
            view! {
                <Loaded project=project.clone() flag=flag.clone() detail=detail environments=environments environment=environment refused=refused/>
            }
        }
    };
    view! {
        <PageHead title=flag.clone() tab=tab is_code=true>
            {move || is_loaded.get().then(|| view! { <super::header::KillButton refused=refused on_press=kill/> })}
        </PageHead>
        {move || match (failure.get(), is_loaded.get()) {
            (Some(error), _) if error.status() == Some(404) => view! {
                <Failed text=format!("There is no flag {flag} in this project. It may have been archived.")/>
                <p class="after"><a href=list.clone()>"Search the flags for it"</a></p>
            }
            .into_any(),
            (Some(error), _) => view! { <Failed text=error.sentence() retry=move || detail.reload()/> }.into_any(),
            (None, true) => body().into_any(),
            (None, false) => view! { <Loading text="Loading the flag" lines=8/> }.into_any(),
        }}
    }
}

#[component]
fn Loaded(
    project: String,
    flag: String,
    detail: Remote<FlagDetail>,
    environments: Memo<Vec<EnvironmentSummary>>,
    environment: Memo<Option<EnvironmentSummary>>,
    refused: Signal<Option<String>>,
) -> impl IntoView {
    // Shown only once it is loaded, and it never becomes unloaded again.
    let Some(first) = untrack(|| detail.data()) else { return ().into_any() };
    let current = Memo::new(move |_| detail.data().unwrap_or_else(|| first.clone()));
    let bound = (project.clone(), flag.clone());
    view! {
        <Header project=project flag=flag detail=current environments=environments environment=environment/>
        {move || {
            // Everything below belongs to one environment, so it is made anew for another one.
            let environment = environment.get()?;
            let key = environment.key.clone();
            let is_there = current.with_untracked(|detail| detail.environments.iter().any(|e| e.environment == key));
            let (project, flag) = bound.clone();
            Some(if is_there {
                view! { <InEnvironment project=project flag=flag detail=current remote=detail environment=environment refused=refused/> }.into_any()
            } else {
                let waits = if environment.is_protected { "; it may be waiting for others to agree" } else { "" };
                view! { <p class="muted">{format!("This flag has no config in {} yet{waits}.", environment.name)}</p> }.into_any()
            })
        }}
    }
    .into_any()
}

#[component]
fn InEnvironment(
    project: String,
    flag: String,
    detail: Memo<FlagDetail>,
    remote: Remote<FlagDetail>,
    environment: EnvironmentSummary,
    refused: Signal<Option<String>>,
) -> impl IntoView {
    let navigation = Navigation::get();
    let key = environment.key.clone();
    let find = move |detail: &FlagDetail| detail.environments.iter().find(|e| e.environment == key).cloned();
    let Some(first) = detail.with_untracked(&find) else { return ().into_any() };
    let server: Memo<FlagEnvironment> = Memo::new(move |_| detail.with(&find).unwrap_or_else(|| first.clone()));
    let definition = Memo::new(move |_| detail.with(|detail| detail.definition.clone()));
    let editing = Editing::start(project.clone(), flag.clone(), environment.clone(), definition, server, refused);
    provide_context(editing);
    let saving = Saving::new(remote);
    provide_context(saving);

    let wanted = navigation.query("do");
    let layer = Memo::new(move |_| match wanted.get().as_deref() {
        Some("review") if editing.has_draft() => Some(Layer::Review),
        Some("kill") => Some(Layer::Kill),
        _ => None,
    });
    let close = move || navigation.set_query("do", None);
    let hue = environment.hue.to_string();
    let label = format!("{flag} in {}", environment.name);
    view! {
        <section class="in-environment" data-hue=hue aria-label=label>
            <KillBanner remote=remote/>
            <StateLine/>
            <Targeting/>
            <Evaluations project=project flag=flag environment=environment/>
        </section>
        <DraftBar/>
        {move || match layer.get() {
            Some(Layer::Review) => view! { <Review on_close=close/> }.into_any(),
            Some(Layer::Kill) => view! { <KillDialog detail=detail remote=remote on_close=close/> }.into_any(),
            None => ().into_any(),
        }}
    }
    .into_any()
}

/// The environment in the address; else the one used last, else the last one, written into the address at once.
fn chosen_environment(project: &str, environments: Memo<Vec<EnvironmentSummary>>) -> Memo<Option<EnvironmentSummary>> {
    let navigation = Navigation::get();
    let wanted = navigation.query("env");
    let storage_name = format!("environment.{project}");
    let chosen = {
        let storage_name = storage_name.clone();
        Memo::new(move |_| {
            let find = |key: &str| environments.with(|all| all.iter().find(|e| e.key.as_str() == key).cloned());
            let wanted = wanted.get().and_then(|key| find(&key));
            let last = || storage::read_text(Keep::Browser, &storage_name).and_then(|key| find(&key));
            wanted.or_else(last).or_else(|| environments.with(|all| all.last().cloned()))
        })
    };
    Effect::new(move |_| {
        let Some(environment) = chosen.get() else { return };
        storage::write_text(Keep::Browser, &storage_name, Some(environment.key.as_str()));
        if wanted.get().as_deref() != Some(environment.key.as_str()) {
            navigation.replace_query("env", Some(environment.key.as_str()));
        }
    });
    chosen
}

/// Drafts live as long as the browser's tab, so closing it asks first.
fn ask_before_losing_drafts() {
    let handle = window_event_listener(leptos::ev::beforeunload, |event| {
        if is_any_kept() {
            event.prevent_default();
        }
    });
    on_cleanup(move || handle.remove());
}

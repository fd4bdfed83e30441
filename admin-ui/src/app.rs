//! The app: what every page can reach, and which page an address shows.

use leptos::prelude::*;

use crate::clock::Clock;
use crate::component::status::Failed;
use crate::component::toast::{ToastRegion, Toasts};
use crate::layout::session_ended::SessionEnded;
use crate::layout::shell::Shell;
use crate::live::Live;
use crate::navigation::Navigation;
use crate::page;
use crate::piece::project::Projects;
use crate::route::Route;
use crate::session::{Session, State};

/// What surrounds the page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Setup,
    SignIn,
    Inside,
    Asking,
    Outside,
}

/// Everything.
#[component]
pub fn App() -> impl IntoView {
    let navigation = Navigation::start();
    provide_context(navigation);
    provide_context(Clock::start());
    provide_context(Toasts::new());
    let session = Session::start();
    provide_context(session);
    provide_context(Live::start(session));
    provide_context(Projects::start(session));

    let route = navigation.route();
    // A renewed or ended session must not rebuild the page under its drafts.
    let is_inside = Memo::new(move |_| matches!(session.state(), State::SignedIn(_) | State::Ended(_)));
    let is_asking = Memo::new(move |_| session.state() == State::Unknown);

    Effect::new(move |_| {
        let is_public = matches!(route.get(), Some(Route::Setup | Route::SignIn));
        if session.state() == State::SignedOut && !is_public {
            navigation.replace(&Route::SignIn.link_with("next", &navigation.here()));
        }
    });

    let place = Memo::new(move |_| match route.get() {
        Some(Route::Setup) => Place::Setup,
        Some(Route::SignIn) => Place::SignIn,
        _ if is_inside.get() => Place::Inside,
        _ if is_asking.get() => Place::Asking,
        _ => Place::Outside,
    });

    view! {
        {move || match place.get() {
            Place::Setup => view! { <page::setup::SetupPage/> }.into_any(),
            Place::SignIn => view! { <page::sign_in::SignInPage/> }.into_any(),
            Place::Inside => view! { <Shell route=route>{move || page(route.get())}</Shell> }.into_any(),
            Place::Asking => view! { <p class="starting" role="status">"FluxGate is starting …"</p> }.into_any(),
            Place::Outside => view! { <Unreachable/> }.into_any(),
        }}
        <SessionEnded/>
        <ToastRegion/>
    }
}

fn page(route: Option<Route>) -> AnyView {
    match route {
        Some(Route::Root) => view! { <page::project::home::Root/> }.into_any(),
        Some(Route::Projects) => view! { <page::project::list::ProjectListPage/> }.into_any(),
        Some(Route::Project { project }) => view! { <page::project::home::Home project=project/> }.into_any(),
        Some(Route::Flags { project }) => view! { <page::flag::list::FlagListPage project=project/> }.into_any(),
        Some(Route::NewFlag { project }) => view! { <page::flag::create::CreateFlagPage project=project/> }.into_any(),
        Some(Route::Flag { project, flag }) => {
            view! { <page::flag::detail::FlagPage project=project flag=flag/> }.into_any()
        }
        Some(Route::Keys { project }) => view! { <page::sdk_key::list::SdkKeyPage project=project/> }.into_any(),
        Some(Route::Edges) => view! { <page::edge::list::EdgePage/> }.into_any(),
        Some(Route::Setup | Route::SignIn) | None => view! { <page::not_found::NotFound/> }.into_any(),
    }
}

/// Shown when it cannot even be asked who is signed in.
#[component]
fn Unreachable() -> impl IntoView {
    let session = Session::get();
    let reason = move || match session.state() {
        State::Unreachable(reason) => Some(reason),
        _ => None,
    };
    move || {
        reason().map(|reason| {
            view! { <main class="alone"><Failed text=reason retry=Callback::new(move |()| session.ask())/></main> }
        })
    }
}

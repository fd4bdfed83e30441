//! The frame: skip link, left bar, top bar, and the page in `main`.

use leptos::prelude::*;

use crate::component::button::IconButton;
use crate::component::icon::Icon;
use crate::layout::account::Account;
use crate::layout::breadcrumbs::Breadcrumbs;
use crate::layout::live::LiveIndicator;
use crate::layout::navigation::MainNavigation;
use crate::route::Route;

/// Stays while pages come and go.
#[component]
pub fn Shell(route: Memo<Option<Route>>, children: Children) -> impl IntoView {
    // Only narrow screens can close the left bar; there it lies over the page.
    let is_open = RwSignal::new(false);
    Effect::new(move |_| {
        route.track();
        is_open.set(false);
    });
    let keys = window_event_listener(leptos::ev::keydown, move |event| {
        if event.key() == "Escape" {
            is_open.set(false);
        }
    });
    on_cleanup(move || keys.remove());
    view! {
        <a class="skip" href="#content">"Skip to content"</a>
        <div class="shell">
            <nav class="side" aria-label="Main" data-open=move || is_open.get().to_string()>
                <a class="brand" href=Route::Root.link()>"FluxGate"</a>
                <MainNavigation route=route/>
            </nav>
            {move || is_open.get().then(|| view! { <div class="side-scrim" on:click=move |_| is_open.set(false)></div> })}
            <header class="top">
                <span class="top-menu">
                    <IconButton icon=Icon::Menu label="Navigation" on_press=move || is_open.update(|open| *open = !*open)/>
                </span>
                <Breadcrumbs route=route/>
                <LiveIndicator/>
                <Account/>
            </header>
            <main id="content" tabindex="-1">{children()}</main>
        </div>
    }
}

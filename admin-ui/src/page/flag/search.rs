//! Searching the flags of a project: the address holds the text, the server finds.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;

use crate::component::button::{Button, ButtonKind};
use crate::component::icon::Icon;
use crate::component::status::Empty;
use crate::navigation::Navigation;

/// A search begins after so long without a key press.
const TYPING: Duration = Duration::from_millis(120);

/// Writes the address while typing; the server searches.
#[component]
pub fn Search() -> impl IntoView {
    let navigation = Navigation::get();
    let q = navigation.query("q");
    let typed = RwSignal::new(q.get_untracked().unwrap_or_default());
    let presses = StoredValue::new(0_u32);
    Effect::new(move |_| {
        // Back and Forward change the address under the field.
        let q = q.get().unwrap_or_default();
        if typed.with_untracked(|typed| typed.trim() != q) {
            typed.set(q);
        }
    });
    let input = move |text: String| {
        typed.set(text.clone());
        presses.update_value(|presses| *presses += 1);
        let mine = presses.get_value();
        spawn_local(async move {
            gloo_timers::future::sleep(TYPING).await;
            if presses.try_get_value() == Some(mine) {
                let text = text.trim();
                navigation.replace_query("q", (!text.is_empty()).then_some(text));
            }
        });
    };
    let keys = window_event_listener(leptos::ev::keydown, move |event| {
        let target = event.target().and_then(|t| t.dyn_into::<web_sys::Element>().ok());
        let is_typing =
            target.is_some_and(|target| target.matches("input, textarea, select, dialog *").unwrap_or(false));
        if event.key() == "/" && !is_typing && !event.ctrl_key() && !event.meta_key() {
            event.prevent_default();
            let field = document().query_selector(".search input").ok().flatten();
            if let Some(field) = field.and_then(|f| f.dyn_into::<web_sys::HtmlElement>().ok()) {
                let _ = field.focus();
            }
        }
    });
    on_cleanup(move || keys.remove());
    view! {
        <div class="search field">
            <span class="search-icon">{Icon::Search.view()}</span>
            <input
                type="search"
                aria-label="Filter flags"
                placeholder="Filter by key, name, tag …   /"
                autocomplete="off"
                spellcheck="false"
                prop:value=typed
                on:input=move |event| input(event_target_value(&event))
            />
        </div>
    }
}

/// Says what was searched for, and drops it.
#[component]
pub fn NoMatch() -> impl IntoView {
    let navigation = Navigation::get();
    let q = navigation.query("q");
    view! {
        <Empty title="No flag matches">
            <p>{move || format!("No key, name, tag or description holds “{}”.", q.get().unwrap_or_default())}</p>
            <Button kind=ButtonKind::Secondary on_press=move || navigation.replace_query("q", None)>"Clear the filter"</Button>
        </Empty>
    }
}

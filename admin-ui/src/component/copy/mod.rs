//! Copies a text.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen_futures::JsFuture;

use crate::component::button::Button;
use crate::component::icon::Icon;

/// A button that copies and says so.
#[component]
pub fn CopyButton(
    #[prop(into)] text: Signal<String>,
    /// "Copy", "Copy key" …
    #[prop(default = "Copy")]
    label: &'static str,
) -> impl IntoView {
    let outcome = RwSignal::new(None::<&'static str>);
    let press = move || {
        let promise = window().navigator().clipboard().write_text(&text.get_untracked());
        spawn_local(async move {
            // Browsers refuse on pages without TLS; the text stays selectable.
            let is_done = JsFuture::from(promise).await.is_ok();
            outcome.try_set(Some(if is_done { "Copied" } else { "Select and copy by hand" }));
            set_timeout(move || _ = outcome.try_set(None), Duration::from_secs(4));
        });
    };
    view! {
        <Button icon=Icon::Copy on_press=press>
            <span role="status">{move || outcome.get().unwrap_or(label)}</span>
        </Button>
    }
}

//! Loading, failed and empty: what stands where data is not.

use leptos::prelude::*;

use crate::component::button::Button;

/// Shapes of the coming content; they appear only after a moment.
#[component]
pub fn Loading(
    /// What is loaded: "Loading flags".
    #[prop(into)]
    text: String,
    #[prop(default = 5)] lines: usize,
) -> impl IntoView {
    view! {
        <div class="loading" aria-busy="true">
            <p class="hidden" role="status">{text}</p>
            {(0..lines).map(|_| view! { <div class="loading-line"></div> }).collect_view()}
        </div>
    }
}

/// What went wrong, and another try.
#[component]
pub fn Failed(
    #[prop(into)] text: Signal<String>,
    #[prop(optional, into)] retry: Option<Callback<()>>,
) -> impl IntoView {
    view! {
        <div class="failed" role="alert">
            <p>{text}</p>
            {retry.map(|retry| view! { <Button on_press=retry>"Try again"</Button> })}
        </div>
    }
}

/// Nothing there yet: what this is and how to fill it.
#[component]
pub fn Empty(#[prop(into)] title: String, children: Children) -> impl IntoView {
    view! {
        <div class="empty">
            <h2>{title}</h2>
            {children()}
        </div>
    }
}

/// What the backend said against a write, above the buttons of its form.
#[component]
pub fn Refusal(#[prop(into)] text: Signal<Option<String>>) -> impl IntoView {
    view! { <div class="refusal-place" role="alert">{move || text.get().map(|text| view! { <p class="refusal">{text}</p> })}</div> }
}

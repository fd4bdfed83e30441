//! A choice from a short fixed list.

use leptos::prelude::*;

use super::{FieldError, described_by};
use crate::component::id::unique;

/// A native select. Options are pairs of value and text.
#[component]
pub fn SelectField(
    #[prop(into)] label: Signal<String>,
    #[prop(into)] options: Signal<Vec<(String, String)>>,
    #[prop(into)] value: Signal<String>,
    #[prop(into)] on_change: Callback<String>,
    #[prop(optional, into)] error: Signal<Option<String>>,
    #[prop(optional)] hide_label: bool,
    /// Options are keys, never translated.
    #[prop(optional)]
    is_code: bool,
) -> impl IntoView {
    let id = unique("field");
    let error_id = format!("{id}-error");
    let described = {
        let error_id = error_id.clone();
        move || described_by(None, error.with(Option::is_some).then_some(error_id.as_str()))
    };
    let options = move || {
        options.get().into_iter().map(move |(key, text)| {
            let own = key.clone();
            view! { <option value=key prop:selected=move || value.with(|value| *value == own)>{text}</option> }
        })
    };
    view! {
        <div class="field">
            <label for=id.clone() class:hidden=hide_label>{label}</label>
            <select
                id=id
                class:mono=is_code
                translate=is_code.then_some("no")
                aria-invalid=move || error.with(Option::is_some).then_some("true")
                aria-describedby=described
                on:change=move |event| on_change.run(event_target_value(&event))
            >
                {move || options().collect_view()}
            </select>
            <FieldError id=error_id error=error/>
        </div>
    }
}

//! One of few, and yes or no.

use leptos::prelude::*;

use super::described_by;
use crate::component::id::unique;

/// One option of [`Choices`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Its value.
    pub value: String,
    /// What a person reads.
    pub text: String,
}

impl Choice {
    /// An option.
    pub fn new(value: &str, text: &str) -> Self {
        Self { value: value.into(), text: text.into() }
    }
}

/// Radio buttons in one row.
#[component]
pub fn Choices(
    #[prop(into)] label: String,
    options: Vec<Choice>,
    #[prop(into)] value: Signal<String>,
    #[prop(into)] on_change: Callback<String>,
    #[prop(optional)] hide_label: bool,
) -> impl IntoView {
    let name = unique("choice");
    let options = options.into_iter().map(move |Choice { value: own, text }| {
        let is_chosen = {
            let own = own.clone();
            move || value.with(|value| *value == own)
        };
        let chosen = own.clone();
        view! {
            <label class="choice">
                <input
                    type="radio"
                    name=name.clone()
                    value=own
                    prop:checked=is_chosen
                    on:change=move |_| on_change.run(chosen.clone())
                />
                <span>{text}</span>
            </label>
        }
    });
    view! {
        <fieldset class="choices">
            <legend class:hidden=hide_label>{label}</legend>
            <div class="choices-row">{options.collect_view()}</div>
        </fieldset>
    }
}

/// A box to tick.
#[component]
pub fn CheckField(
    #[prop(into)] label: String,
    #[prop(into)] checked: Signal<bool>,
    #[prop(into)] on_change: Callback<bool>,
    #[prop(optional, into)] hint: Option<String>,
) -> impl IntoView {
    let hint_id = unique("hint");
    let described = described_by(hint.is_some().then_some(hint_id.as_str()), None);
    view! {
        <div class="check">
            <label class="choice">
                <input
                    type="checkbox"
                    prop:checked=checked
                    aria-describedby=described
                    on:change=move |event| on_change.run(event_target_checked(&event))
                />
                <span>{label}</span>
            </label>
            {hint.map(|hint| view! { <p class="field-hint" id=hint_id>{hint}</p> })}
        </div>
    }
}

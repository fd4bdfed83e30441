//! Text, passwords and longer text.

use leptos::prelude::*;

use super::{FieldError, described_by};
use crate::component::id::unique;

/// One line of text.
#[component]
pub fn TextField(
    #[prop(into)] label: Signal<String>,
    #[prop(into)] value: Signal<String>,
    #[prop(into)] on_input: Callback<String>,
    #[prop(optional, into)] error: Signal<Option<String>>,
    #[prop(optional, into)] hint: Option<String>,
    /// `text`, `email`, `search` …
    #[prop(default = "text")]
    kind: &'static str,
    #[prop(default = "off")] autocomplete: &'static str,
    /// Set for numbers: `decimal`.
    #[prop(optional)]
    inputmode: Option<&'static str>,
    /// Keys and code are set in the code font and never translated.
    #[prop(optional)]
    is_code: bool,
    #[prop(optional)] autofocus: bool,
    /// The label is read but not shown.
    #[prop(optional)]
    hide_label: bool,
    /// Stands after the field: `%`.
    #[prop(optional)]
    unit: Option<&'static str>,
    /// Told when the field is left.
    #[prop(optional, into)]
    on_blur: Option<Callback<()>>,
    /// Told when Enter is pressed; without it Enter sends the form.
    #[prop(optional, into)]
    on_enter: Option<Callback<()>>,
) -> impl IntoView {
    let id = unique("field");
    let (hint_id, error_id) = (format!("{id}-hint"), format!("{id}-error"));
    let described = {
        let (hint_id, error_id) = (hint.is_some().then(|| hint_id.clone()), error_id.clone());
        move || described_by(hint_id.as_deref(), error.with(Option::is_some).then_some(error_id.as_str()))
    };
    view! {
        <div class="field">
            <label for=id.clone() class:hidden=hide_label>{label}</label>
            <div class="field-line">
                <input
                    id=id.clone()
                    type=kind
                    autocomplete=autocomplete
                    inputmode=inputmode
                    autofocus=autofocus
                    class:mono=is_code
                    spellcheck="false"
                    translate=is_code.then_some("no")
                    aria-invalid=move || error.with(Option::is_some).then_some("true")
                    aria-describedby=described
                    prop:value=value
                    on:input=move |event| on_input.run(event_target_value(&event))
                    on:blur=move |_| {
                        if let Some(on_blur) = on_blur {
                            on_blur.run(());
                        }
                    }
                    on:keydown=move |event| {
                        if let Some(on_enter) = on_enter
                            && event.key() == "Enter"
                        {
                            event.prevent_default();
                            on_enter.run(());
                        }
                    }
                />
                {unit.map(|unit| view! { <span class="field-unit">{unit}</span> })}
            </div>
            {hint.map(|hint| view! { <p class="field-hint" id=hint_id>{hint}</p> })}
            <FieldError id=error_id error=error/>
        </div>
    }
}

/// A password with a button that shows it.
#[component]
pub fn PasswordField(
    #[prop(into)] label: String,
    #[prop(into)] value: Signal<String>,
    #[prop(into)] on_input: Callback<String>,
    #[prop(optional, into)] error: Signal<Option<String>>,
    #[prop(optional, into)] hint: Option<String>,
    #[prop(default = "current-password")] autocomplete: &'static str,
    #[prop(optional)] autofocus: bool,
) -> impl IntoView {
    let is_shown = RwSignal::new(false);
    let id = unique("field");
    let (hint_id, error_id) = (format!("{id}-hint"), format!("{id}-error"));
    let described = {
        let (hint_id, error_id) = (hint.is_some().then(|| hint_id.clone()), error_id.clone());
        move || described_by(hint_id.as_deref(), error.with(Option::is_some).then_some(error_id.as_str()))
    };
    view! {
        <div class="field">
            <label for=id.clone()>{label}</label>
            <div class="field-line">
                <input
                    id=id
                    type=move || if is_shown.get() { "text" } else { "password" }
                    autocomplete=autocomplete
                    autofocus=autofocus
                    spellcheck="false"
                    aria-invalid=move || error.with(Option::is_some).then_some("true")
                    aria-describedby=described
                    prop:value=value
                    on:input=move |event| on_input.run(event_target_value(&event))
                />
                <button
                    type="button"
                    class="field-button"
                    aria-pressed=move || if is_shown.get() { "true" } else { "false" }
                    on:click=move |_| is_shown.update(|shown| *shown = !*shown)
                >
                    {move || if is_shown.get() { "Hide" } else { "Show" }}
                    <span class="hidden">" password"</span>
                </button>
            </div>
            {hint.map(|hint| view! { <p class="field-hint" id=hint_id>{hint}</p> })}
            <FieldError id=error_id error=error/>
        </div>
    }
}

/// Several lines of text.
#[component]
pub fn TextArea(
    #[prop(into)] label: Signal<String>,
    #[prop(into)] value: Signal<String>,
    #[prop(into)] on_input: Callback<String>,
    #[prop(optional, into)] error: Signal<Option<String>>,
    #[prop(optional, into)] hint: Option<String>,
    #[prop(default = 2)] rows: u32,
    #[prop(optional)] is_code: bool,
    #[prop(optional)] autofocus: bool,
    #[prop(optional)] hide_label: bool,
) -> impl IntoView {
    let id = unique("field");
    let (hint_id, error_id) = (format!("{id}-hint"), format!("{id}-error"));
    let described = {
        let (hint_id, error_id) = (hint.is_some().then(|| hint_id.clone()), error_id.clone());
        move || described_by(hint_id.as_deref(), error.with(Option::is_some).then_some(error_id.as_str()))
    };
    view! {
        <div class="field">
            <label for=id.clone() class:hidden=hide_label>{label}</label>
            <textarea
                id=id
                rows=rows
                class:mono=is_code
                autofocus=autofocus
                translate=is_code.then_some("no")
                aria-invalid=move || error.with(Option::is_some).then_some("true")
                aria-describedby=described
                prop:value=value
                on:input=move |event| on_input.run(event_target_value(&event))
            ></textarea>
            {hint.map(|hint| view! { <p class="field-hint" id=hint_id>{hint}</p> })}
            <FieldError id=error_id error=error/>
        </div>
    }
}

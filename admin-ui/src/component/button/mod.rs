//! Buttons: one primary in a view; the rest are secondary, quiet or dangerous.

use leptos::prelude::*;

use crate::component::icon::Icon;
use crate::component::id::unique;

/// How much a button weighs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ButtonKind {
    /// The one thing the view is for.
    Primary,
    /// Everything else.
    #[default]
    Secondary,
    /// Stands in a row of many.
    Quiet,
    /// Leads to something dangerous.
    Warning,
    /// Does something dangerous.
    Danger,
}

impl ButtonKind {
    /// Its name in the sheet.
    pub fn name(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Secondary => "secondary",
            Self::Quiet => "quiet",
            Self::Warning => "warning",
            Self::Danger => "danger",
        }
    }
}

/// A button with its text. While busy it ignores presses; refused it stays visible and says why.
#[component]
pub fn Button(
    #[prop(optional)] kind: ButtonKind,
    /// Something is under way.
    #[prop(optional, into)]
    busy: Signal<bool>,
    /// Why it cannot be used now.
    #[prop(optional, into)]
    refused: Signal<Option<String>>,
    #[prop(optional)] icon: Option<Icon>,
    /// Sends the form it stands in.
    #[prop(optional)]
    submit: bool,
    #[prop(optional)] autofocus: bool,
    /// Told when pressed.
    #[prop(optional, into)]
    on_press: Option<Callback<()>>,
    children: Children,
) -> impl IntoView {
    let reason_id = unique("reason");
    let described = reason_id.clone();
    let is_refused = move || refused.with(Option::is_some);
    view! {
        <button
            class="button"
            data-kind=kind.name()
            type=if submit { "submit" } else { "button" }
            autofocus=autofocus
            aria-busy=move || busy.get().then_some("true")
            aria-disabled=move || (busy.get() || is_refused()).then_some("true")
            aria-describedby=move || is_refused().then(|| described.clone())
            title=move || refused.get()
            on:click=move |event| {
                if busy.get_untracked() || refused.with_untracked(Option::is_some) {
                    event.prevent_default();
                } else if let Some(on_press) = on_press {
                    on_press.run(());
                }
            }
        >
            {icon.map(Icon::view)}
            <span class="button-text">{children()}</span>
            {move || busy.get().then(|| view! { <span class="spinner" aria-hidden="true"></span> })}
        </button>
        {move || refused.get().map(|reason| view! { <span class="hidden" id=reason_id.clone()>{reason}</span> })}
    }
}

/// A button that shows only an icon; its label is read and shown as a tip.
#[component]
pub fn IconButton(
    icon: Icon,
    #[prop(into)] label: Signal<String>,
    #[prop(optional, into)] disabled: Signal<bool>,
    #[prop(into)] on_press: Callback<()>,
) -> impl IntoView {
    view! {
        <button
            class="icon-button"
            type="button"
            aria-label=label
            title=label
            aria-disabled=move || disabled.get().then_some("true")
            on:click=move |_| {
                if !disabled.get_untracked() {
                    on_press.run(());
                }
            }
        >
            {icon.view()}
        </button>
    }
}

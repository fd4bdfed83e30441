//! Who gets what: targets, rules, default, off variant. Sentences first, fields when edited.

use leptos::prelude::*;
use shared::model::key::VariantKey;

use super::default_serve::{DefaultSection, OffSection};
use super::draft::{Editing, Part};
use super::rules::RulesSection;
use super::targets::TargetsSection;
use crate::component::button::{Button, ButtonKind};

/// All sections.
#[component]
pub fn Targeting() -> impl IntoView {
    view! {
        <div class="targeting">
            <TargetsSection/>
            <RulesSection/>
            <DefaultSection/>
            <OffSection/>
        </div>
    }
}

/// A section with its name, its sentence, and fields in its place while it is edited.
#[component]
pub(super) fn Section(
    name: &'static str,
    part: Part,
    /// Where its errors stand in the config.
    path: &'static str,
    #[prop(into)] read: ViewFn,
    #[prop(into)] write: ViewFn,
) -> impl IntoView {
    let editing = Editing::get();
    let is_open = Memo::new(move |_| editing.open.get() == Some(part));
    let toggle = move || editing.open.set((!is_open.get_untracked()).then_some(part));
    view! {
        <section class="targeting-section" aria-label=name>
            <h2>{name}</h2>
            <div class="targeting-body">
                {move || if is_open.get() { write.run() } else { read.run() }}
                <Errors path=path/>
            </div>
            <EditButton name=name is_open=is_open on_press=toggle/>
        </section>
    }
}

/// "Edit" and "Done" of a section or rule.
#[component]
pub(super) fn EditButton(
    #[prop(into)] name: Signal<String>,
    is_open: Memo<bool>,
    #[prop(into)] on_press: Callback<()>,
) -> impl IntoView {
    let editing = Editing::get();
    view! {
        <Button kind=ButtonKind::Quiet refused=editing.refused on_press=on_press>
            {move || if is_open.get() { "Done" } else { "Edit" }}
            <span class="hidden">{move || format!(" {}", name.get())}</span>
        </Button>
    }
}

/// What is wrong with the part of the config at a path.
#[component]
pub(super) fn Errors(#[prop(into)] path: Signal<String>) -> impl IntoView {
    let editing = Editing::get();
    view! {
        <div role="alert">
            {move || {
                let problems = path.with(|path| editing.problems_at(path));
                problems.into_iter().map(|text| view! { <p class="field-error">{text}</p> }).collect_view()
            }}
        </div>
    }
}

/// The flag's variants as options of a select.
pub(super) fn variant_options(editing: Editing) -> Vec<(String, String)> {
    editing.definition.with(|definition| {
        let option = |variant: &shared::model::variant::Variant| {
            let key = variant.key.to_string();
            let text = match variant.value.chars().count() {
                0 => format!("{key} (empty)"),
                1..=30 if variant.value != key => format!("{key} ({})", variant.value),
                _ => key.clone(),
            };
            (key, text)
        };
        definition.variants.iter().map(option).collect()
    })
}

/// All variants of the flag; tracked.
pub(super) fn variants(editing: Editing) -> Vec<VariantKey> {
    editing.definition.with(|definition| definition.variants.iter().map(|variant| variant.key.clone()).collect())
}

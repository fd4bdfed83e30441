//! What everyone else gets, and what everyone gets while the flag is off.

use leptos::prelude::*;
use shared::model::rule::Serve;

use super::draft::{Editing, Part};
use super::serve::{ServeBar, ServeEditor};
use super::targeting::{Section, variant_options};
use crate::component::field::SelectField;
use crate::piece::sentence::{Sentence, words_of_serve};

/// The default serve.
#[component]
pub fn DefaultSection() -> impl IntoView {
    view! {
        <Section name="Default" part=Part::Default path="default_serve" read=|| view! { <ReadDefault/> } write=|| view! { <WriteDefault/> }/>
    }
}

#[component]
fn ReadDefault() -> impl IntoView {
    let editing = Editing::get();
    let serve = Memo::new(move |_| editing.config.with(|config| config.default_serve.clone()));
    let text = Signal::derive(move || {
        let is_alone = editing.config.with(|config| config.targets.is_empty() && config.rules.is_empty());
        let everyone = if is_alone { "Everyone" } else { "Everyone else" };
        match serve.get() {
            Serve::Variant(variant) => format!("{everyone} gets {variant}."),
            Serve::Split(split) => format!("{everyone} is divided by {}.", split.bucket_by),
        }
    });
    let words = Signal::derive(move || serve.with(words_of_serve));
    view! {
        <p><Sentence text=text words=words/></p>
        {move || view! { <ServeBar serve=serve.get()/> }}
    }
}

#[component]
fn WriteDefault() -> impl IntoView {
    let editing = Editing::get();
    let base = untrack(|| editing.base().default_serve);
    let value = Signal::derive(move || editing.config.with(|config| config.default_serve.clone()));
    let set = move |serve: Serve| editing.edit(|config| config.default_serve = serve);
    view! { <div class="editor"><ServeEditor value=value base=Some(base) on_change=set is_default=true/></div> }
}

/// The off variant.
#[component]
pub fn OffSection() -> impl IntoView {
    view! {
        <Section name="Off variant" part=Part::Off path="off_variant" read=|| view! { <ReadOff/> } write=|| view! { <WriteOff/> }/>
    }
}

#[component]
fn ReadOff() -> impl IntoView {
    let editing = Editing::get();
    let variant = move || editing.config.with(|config| config.off_variant.as_ref().map(ToString::to_string));
    move || match variant() {
        Some(variant) => view! {
            <p>"Everyone gets "<span class="word" translate="no">{variant}</span>" while the flag is off or killed."</p>
        }
        .into_any(),
        None => {
            view! { <p>"None: applications use the default in their own code while the flag is off or killed."</p> }
                .into_any()
        }
    }
}

#[component]
fn WriteOff() -> impl IntoView {
    let editing = Editing::get();
    let value = Signal::derive(move || {
        editing.config.with(|config| config.off_variant.as_ref().map(ToString::to_string).unwrap_or_default())
    });
    let options = move || {
        let none = (String::new(), "none: use the code's own default".to_owned());
        variant_options(editing).into_iter().chain([none]).collect::<Vec<_>>()
    };
    let set = move |key: String| editing.edit(|config| config.off_variant = key.parse().ok());
    view! {
        <div class="editor">
            <SelectField label="While the flag is off, everyone gets" options=Signal::derive(options) value=value on_change=set/>
        </div>
    }
}

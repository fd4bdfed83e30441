//! Named keys that get a variant before any rule is looked at.

use leptos::prelude::*;
use shared::model::flag::Target;
use shared::model::key::VariantKey;

use super::draft::{Editing, Part};
use super::targeting::{Section, variants};
use crate::component::tokens::Tokens;
use crate::format;

/// `3 keys get on · 1 key gets off`.
#[component]
pub fn TargetsSection() -> impl IntoView {
    view! { <Section name="Targets" part=Part::Targets path="targets" read=|| view! { <Read/> } write=|| view! { <Write/> }/> }
}

#[component]
fn Read() -> impl IntoView {
    let editing = Editing::get();
    let text = move || {
        editing.config.with(|config| {
            let part = |target: &Target| {
                let count = target.keys.len() as u64;
                let verb = if count == 1 { "gets" } else { "get" };
                format!("{} {verb} {}", format::plural(count, "key"), target.variant)
            };
            let parts: Vec<String> = config.targets.iter().map(part).collect();
            if parts.is_empty() { "No named keys.".into() } else { parts.join(" · ") }
        })
    };
    view! { <p>{text}</p> }
}

#[component]
fn Write() -> impl IntoView {
    let editing = Editing::get();
    let field = move |variant: VariantKey| {
        let own = variant.clone();
        let keys = Signal::derive(move || {
            editing.config.with(|config| {
                let targets = config.targets.iter().filter(|target| target.variant == own);
                targets.flat_map(|target| target.keys.iter().cloned()).collect::<Vec<_>>()
            })
        });
        let own = variant.clone();
        let set = move |keys: Vec<String>| editing.edit(|config| set_keys(&mut config.targets, &own, keys));
        view! { <Tokens label=format!("Keys that get {variant}") values=keys on_change=set/> }
    };
    view! {
        <div class="editor">
            <p class="muted">"Compared with targetingKey, before any rule."</p>
            <For each=move || variants(editing) key=Clone::clone let(variant)>{field(variant)}</For>
        </div>
    }
}

/// Gives a variant these keys; a key that another variant had moves over.
fn set_keys(targets: &mut Vec<Target>, variant: &VariantKey, keys: Vec<String>) {
    for target in targets.iter_mut() {
        if target.variant != *variant {
            target.keys.retain(|key| !keys.contains(key));
        }
    }
    match targets.iter_mut().find(|target| target.variant == *variant) {
        Some(target) => target.keys = keys,
        None => targets.push(Target { variant: variant.clone(), keys }),
    }
    targets.retain(|target| !target.keys.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_belongs_to_one_variant() {
        let (on, off): (VariantKey, VariantKey) = ("on".parse().expect("a key"), "off".parse().expect("a key"));
        let mut targets = Vec::new();
        set_keys(&mut targets, &on, vec!["a".into(), "b".into()]);
        set_keys(&mut targets, &off, vec!["b".into()]);
        assert_eq!(
            targets,
            [Target { variant: on.clone(), keys: vec!["a".into()] }, Target { variant: off, keys: vec!["b".into()] }]
        );
        set_keys(&mut targets, &on, vec![]);
        assert_eq!(targets.len(), 1);
    }
}

//! The ordered list of rules.

use leptos::prelude::*;
use shared::model::condition::Condition;
use shared::model::flag::RULES_MAX;
use shared::model::id::RuleId;
use shared::model::rule::{Rule, Serve};
use wasm_bindgen::JsCast;

use super::draft::{Editing, Part};
use super::rule::RuleCard;
use crate::clock;
use crate::component::button::{Button, ButtonKind};
use crate::component::icon::Icon;

/// Rules in order, the first match wins.
#[component]
pub fn RulesSection() -> impl IntoView {
    let editing = Editing::get();
    let ids =
        Memo::new(move |_| editing.config.with(|config| config.rules.iter().map(|rule| rule.id).collect::<Vec<_>>()));
    let told = RwSignal::new(String::new());
    let step = move |(id, down): (RuleId, bool)| {
        let all = ids.get_untracked();
        let Some(at) = all.iter().position(|other| *other == id) else { return };
        let to = if down { at + 1 } else { at.wrapping_sub(1) };
        if to >= all.len() {
            return;
        }
        editing.edit(|config| config.rules.swap(at, to));
        let name = untrack(|| editing.rule(id)).map(|rule| rule.name).filter(|name| !name.is_empty());
        told.set(format!("Rule {} moved to {} of {}", name.unwrap_or_else(|| (at + 1).to_string()), to + 1, all.len()));
        // Moving an element in the page takes its focus away.
        request_animation_frame(move || focus(id));
    };
    let step = Callback::new(step);
    let add = move || {
        let Some(first) =
            editing.definition.with_untracked(|definition| definition.variants.first().map(|v| v.key.clone()))
        else {
            return;
        };
        let id = RuleId::from(clock::new_id());
        editing.edit(|config| {
            config.rules.push(Rule {
                id,
                name: String::new(),
                paused: false,
                conditions: Condition::default(),
                serve: Serve::Variant(first),
            });
        });
        editing.open.set(Some(Part::Rule(id)));
    };
    let is_full = Signal::derive(move || {
        let reason = ids.with(|ids| ids.len() >= RULES_MAX).then(|| format!("A flag has at most {RULES_MAX} rules."));
        editing.refused.get().or(reason)
    });
    view! {
        <section class="targeting-section wide" aria-label="Rules">
            <h2>"Rules"</h2>
            <div class="targeting-body">
                <p class="muted">
                    {move || if ids.with(Vec::is_empty) { "No rules: the default answers for everyone." } else { "The first match wins." }}
                </p>
                <ol class="rules">
                    <For each=move || ids.get() key=|id| *id let(id)>
                        <RuleCard id=id ids=ids on_step=step/>
                    </For>
                </ol>
                <div>
                    <Button kind=ButtonKind::Quiet icon=Icon::Plus refused=is_full on_press=add>"Add rule"</Button>
                </div>
                <p class="hidden" role="status">{told}</p>
            </div>
        </section>
    }
}

/// The id of a rule's element in the page.
pub(super) fn element_id(id: RuleId) -> String {
    format!("rule-{id}")
}

fn focus(id: RuleId) {
    let card = document().get_element_by_id(&element_id(id));
    let button = card.and_then(|card| card.query_selector(".rule-actions button").ok().flatten());
    if let Some(button) = button.and_then(|button| button.dyn_into::<web_sys::HtmlElement>().ok()) {
        let _ = button.focus();
    }
}

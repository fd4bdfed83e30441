//! One rule: its sentence, or its fields while it is edited.

use leptos::prelude::*;
use shared::model::condition::Condition;
use shared::model::id::RuleId;
use shared::model::rule::{Rule, Serve};
use shared::sentence;

use super::condition::ConditionEditor;
use super::draft::{Editing, Part};
use super::rules::element_id;
use super::serve::{ServeBar, ServeEditor};
use super::targeting::{EditButton, Errors};
use crate::component::field::TextField;
use crate::component::icon::Icon;
use crate::component::menu::Menu;
use crate::format;
use crate::piece::sentence::{Sentence, words_of_condition, words_of_serve};

/// Number, name, sentence, bar and menu; Alt+↑ and Alt+↓ move it.
#[component]
pub fn RuleCard(id: RuleId, ids: Memo<Vec<RuleId>>, on_step: Callback<(RuleId, bool)>) -> impl IntoView {
    let editing = Editing::get();
    let rule = Memo::new(move |_| editing.rule(id));
    let at = Memo::new(move |_| ids.with(|ids| ids.iter().position(|other| *other == id).unwrap_or(0)));
    let is_open = Memo::new(move |_| editing.open.get() == Some(Part::Rule(id)));
    let is_paused = Memo::new(move |_| rule.with(|rule| rule.as_ref().is_some_and(|rule| rule.paused)));
    let name = Signal::derive(move || {
        let name = rule.with(|rule| rule.as_ref().map(|rule| rule.name.clone()).unwrap_or_default());
        if name.is_empty() { format!("rule {}", at.get() + 1) } else { format!("rule {} {name}", at.get() + 1) }
    });
    let toggle = move || editing.open.set((!is_open.get_untracked()).then_some(Part::Rule(id)));
    let keys = move |event: leptos::ev::KeyboardEvent| {
        let down = match event.key().as_str() {
            "ArrowUp" if event.alt_key() => false,
            "ArrowDown" if event.alt_key() => true,
            _ => return,
        };
        event.prevent_default();
        on_step.run((id, down));
    };
    view! {
        <li class="rule" id=element_id(id) data-paused=move || is_paused.get().to_string() on:keydown=keys>
            <span class="rule-number" aria-hidden="true">{move || at.get() + 1}</span>
            <div class="rule-body">
                {move || if is_open.get() { view! { <Write id=id rule=rule/> }.into_any() } else { view! { <Read rule=rule at=at/> }.into_any() }}
                <Errors path=Signal::derive(move || format!("rules[{}]", at.get()))/>
            </div>
            <div class="rule-actions">
                <EditButton name=name is_open=is_open on_press=toggle/>
                <RuleMenu id=id name=name at=at ids=ids is_paused=is_paused on_step=on_step/>
            </div>
        </li>
    }
}

#[component]
fn RuleMenu(
    id: RuleId,
    name: Signal<String>,
    at: Memo<usize>,
    ids: Memo<Vec<RuleId>>,
    is_paused: Memo<bool>,
    on_step: Callback<(RuleId, bool)>,
) -> impl IntoView {
    let editing = Editing::get();
    let is_first = move || at.get() == 0;
    let is_last = move || at.get() + 1 == ids.with(Vec::len);
    let pause = move |_| editing.edit_rule(id, |rule| rule.paused = !rule.paused);
    let remove = move |_| {
        if editing.open.get_untracked() == Some(Part::Rule(id)) {
            editing.open.set(None);
        }
        editing.edit(|config| config.rules.retain(|rule| rule.id != id));
    };
    view! {
        <Menu label=Signal::derive(move || format!("Actions for {}", name.get())) button=|| Icon::More.view()>
            <button class="menu-item" type="button" aria-disabled=move || is_first().then_some("true")
                on:click=move |_| on_step.run((id, false))>{Icon::ArrowUp.view()}"Move up"</button>
            <button class="menu-item" type="button" aria-disabled=move || is_last().then_some("true")
                on:click=move |_| on_step.run((id, true))>{Icon::ArrowDown.view()}"Move down"</button>
            <button class="menu-item" type="button" on:click=pause>
                {move || if is_paused.get() { Icon::Play.view() } else { Icon::Pause.view() }}
                {move || if is_paused.get() { "Resume" } else { "Pause" }}
            </button>
            <button class="menu-item" type="button" on:click=remove>{Icon::Cross.view()}"Remove"</button>
        </Menu>
    }
}

#[component]
fn Read(rule: Memo<Option<Rule>>, at: Memo<usize>) -> impl IntoView {
    let editing = Editing::get();
    let name = move || rule.with(|rule| rule.as_ref().map(|rule| rule.name.clone()).unwrap_or_default());
    let is_paused = move || rule.with(|rule| rule.as_ref().is_some_and(|rule| rule.paused));
    let text = Signal::derive(move || rule.with(|rule| rule.as_ref().map(rule_sentence).unwrap_or_default()));
    let words = Signal::derive(move || {
        rule.with(|rule| {
            let Some(rule) = rule else { return Vec::new() };
            words_of_condition(&rule.conditions).into_iter().chain(words_of_serve(&rule.serve)).collect()
        })
    });
    let serve = Memo::new(move |_| rule.with(|rule| rule.as_ref().map(|rule| rule.serve.clone())));
    let absent = move || rule.with(|rule| rule.as_ref().map(|rule| negated(&rule.conditions)).unwrap_or_default());
    // A rule for everyone that serves one variant leaves nothing to the rules below it.
    let covered_by = Memo::new(move |_| {
        let at = at.get();
        editing.config.with(|config| {
            config.rules.iter().take(at).position(|rule| {
                !rule.paused && rule.conditions.is_everyone() && matches!(rule.serve, Serve::Variant(_))
            })
        })
    });
    view! {
        <p class="row">
            {move || {
                let name = name();
                (!name.is_empty()).then(|| view! { <span class="rule-name">{name}</span> })
            }}
            {move || is_paused().then(|| view! { <span class="badge">"paused"</span> })}
            {move || covered_by.get().map(|above| view! {
                <span class="badge" data-kind="warn">{format!("▲ never matches: rule {} covers it", above + 1)}</span>
            })}
        </p>
        <p class="rule-sentence"><Sentence text=text words=words/></p>
        {move || serve.get().map(|serve| view! { <ServeBar serve=serve/> })}
        {move || {
            let absent = absent();
            (!absent.is_empty()).then(|| view! { <p class="muted">{format!("Users without {} do not match.", format::list(&absent))}</p> })
        }}
    }
}

#[component]
fn Write(id: RuleId, rule: Memo<Option<Rule>>) -> impl IntoView {
    let editing = Editing::get();
    let name =
        Signal::derive(move || rule.with(|rule| rule.as_ref().map(|rule| rule.name.clone()).unwrap_or_default()));
    let conditions = Signal::derive(move || {
        let conditions = rule.with(|rule| rule.as_ref().map(|rule| rule.conditions.clone()).unwrap_or_default());
        // A single comparison is edited as a list of one, so that others can be added.
        match conditions {
            leaf @ Condition::Leaf(_) => Condition::All(vec![leaf]),
            group => group,
        }
    });
    let base = untrack(|| editing.base_rule(id)).map(|rule| rule.serve);
    let first = untrack(|| rule.with(|rule| rule.as_ref().map(|rule| rule.serve.clone())));
    let serve = first.map(|first| {
        let serve = Signal::derive(move || {
            rule.with(|rule| rule.as_ref().map(|rule| rule.serve.clone())).unwrap_or_else(|| first.clone())
        });
        let set = move |serve: Serve| editing.edit_rule(id, |rule| rule.serve = serve);
        view! { <ServeEditor value=serve base=base on_change=set is_default=false/> }
    });
    view! {
        <div class="editor">
            <TextField label="Name" value=name on_input=move |text| editing.edit_rule(id, |rule| rule.name = text)/>
            <ConditionEditor
                value=conditions
                on_change=move |conditions| editing.edit_rule(id, |rule| rule.conditions = conditions)
                depth=1
            />
            {serve}
        </div>
    }
}

/// `If plan is pro or team → on`.
fn rule_sentence(rule: &Rule) -> String {
    let serve = match &rule.serve {
        Serve::Variant(variant) => format!("→ {variant}"),
        Serve::Split(split) => format!("→ divided by {}", split.bucket_by),
    };
    match sentence::condition(&rule.conditions) {
        everyone if everyone.is_empty() => format!("Everyone {serve}"),
        some => format!("If {some} {serve}"),
    }
}

/// Attributes of negated comparisons: who lacks one matches neither way.
fn negated(condition: &Condition) -> Vec<String> {
    let mut found = match condition {
        Condition::All(members) | Condition::Any(members) => members.iter().flat_map(negated).collect(),
        Condition::Leaf(leaf) if leaf.negate && leaf.operator.takes_attribute() && leaf.operator.takes_values() => {
            vec![leaf.attribute.clone()]
        }
        Condition::Leaf(_) => Vec::new(),
    };
    found.dedup();
    found
}

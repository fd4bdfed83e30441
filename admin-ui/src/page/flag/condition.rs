//! Conditions as fields: groups of "all" and "any", and comparisons.

use leptos::prelude::*;
use shared::model::condition::{CONDITION_DEPTH_MAX, Condition, Leaf, Operator};
use shared::sentence;
use shared::wire::api::segment::SegmentList;

use super::draft::Editing;
use crate::api;
use crate::component::button::{Button, ButtonKind, IconButton};
use crate::component::field::{CheckField, Choice, Choices, SelectField, TextField};
use crate::component::icon::Icon;
use crate::component::tokens::Tokens;
use crate::remote::Remote;

/// The project's segments, loaded once for all conditions of an editor.
#[derive(Clone, Copy)]
struct Segments(Remote<SegmentList>);

/// A group with its members; groups inside groups to the depth that `shared` allows.
#[component]
pub fn ConditionEditor(
    #[prop(into)] value: Signal<Condition>,
    #[prop(into)] on_change: Callback<Condition>,
    /// 1 for the outermost group.
    depth: usize,
    /// Takes the group away.
    #[prop(optional, into)]
    on_remove: Option<Callback<()>>,
) -> impl IntoView {
    if depth == 1 {
        let project = Editing::get().project.get_value();
        provide_context(Segments(Remote::new(
            || Some(()),
            move |()| {
                let project = project.clone();
                async move { api::segment::list(&project).await }
            },
        )));
    }
    let count = Memo::new(move |_| value.with(|value| members(value).len()));
    let mode = Signal::derive(move || {
        value.with(|value| if matches!(value, Condition::Any(_)) { "any" } else { "all" }.to_owned())
    });
    let set_mode = move |mode: String| {
        let members = members(&value.get_untracked()).to_vec();
        on_change.run(if mode == "any" { Condition::Any(members) } else { Condition::All(members) });
    };
    let set_members = move |change: &dyn Fn(&mut Vec<Condition>)| {
        let mut group = value.get_untracked();
        if let Condition::All(members) | Condition::Any(members) = &mut group {
            change(members);
        }
        on_change.run(group);
    };
    let add_leaf = move || set_members(&|members| members.push(new_leaf()));
    let add_group = move || set_members(&|members| members.push(Condition::Any(vec![new_leaf()])));
    let member = move |at: usize| {
        let own = Signal::derive(move || value.with(|value| members(value).get(at).cloned().unwrap_or_default()));
        let set = Callback::new(move |new: Condition| {
            set_members(&|members| {
                if let Some(member) = members.get_mut(at) {
                    *member = new.clone();
                }
            });
        });
        let remove = Callback::new(move |()| {
            set_members(&|members| {
                if at < members.len() {
                    members.remove(at);
                }
            });
        });
        let is_group = Memo::new(move |_| own.with(|own| !matches!(own, Condition::Leaf(_))));
        move || {
            if is_group.get() {
                view! { <ConditionEditor value=own on_change=set depth=depth + 1 on_remove=remove/> }.into_any()
            } else {
                view! { <LeafRow value=own on_change=set on_remove=remove number=at + 1/> }.into_any()
            }
        }
    };
    view! {
        <fieldset class="group">
            <legend class="strong">{if depth == 1 { "Who it is for" } else { "Group" }}</legend>
            {move || (depth == 1 && count.get() == 0).then(|| view! { <p class="muted">"Everyone. Add a condition to narrow it down."</p> })}
            {move || (count.get() > 1 || depth > 1).then(|| view! {
                <Choices label="Which of these must hold" hide_label=true value=mode on_change=set_mode
                    options=vec![Choice::new("all", "all of these"), Choice::new("any", "any of these")]/>
            })}
            <For each=move || 0..count.get() key=|at| *at let(at)>{member(at)}</For>
            <div class="row">
                <Button kind=ButtonKind::Quiet icon=Icon::Plus on_press=add_leaf>"Condition"</Button>
                {(depth < CONDITION_DEPTH_MAX).then(|| view! {
                    <Button kind=ButtonKind::Quiet icon=Icon::Plus on_press=add_group>"Group"</Button>
                })}
                {on_remove.map(|on_remove| view! { <Button kind=ButtonKind::Quiet on_press=on_remove>"Remove group"</Button> })}
            </div>
        </fieldset>
    }
    // Groups hold groups, so the type must end somewhere.
    .into_any()
}

/// Attribute, comparison, values.
#[component]
fn LeafRow(
    value: Signal<Condition>,
    on_change: Callback<Condition>,
    on_remove: Callback<()>,
    number: usize,
) -> impl IntoView {
    let leaf = Memo::new(move |_| match value.get() {
        Condition::Leaf(leaf) => leaf,
        Condition::All(_) | Condition::Any(_) => empty_leaf(),
    });
    let edit = move |change: &dyn Fn(&mut Leaf)| {
        let mut new = leaf.get_untracked();
        change(&mut new);
        on_change.run(Condition::Leaf(new));
    };
    let comparison = Signal::derive(move || leaf.with(|leaf| comparison_name(leaf.operator, leaf.negate)));
    let compare = move |name: String| {
        let Some((operator, negate)) = comparisons().find(|(o, n)| comparison_name(*o, *n) == name) else { return };
        edit(&|leaf| {
            // What was typed may serve the new comparison too; keys of segments serve nothing else.
            let is_segment = |operator| operator == Operator::InSegment;
            if !operator.takes_values() || is_segment(leaf.operator) != is_segment(operator) {
                leaf.values.clear();
            }
            (leaf.operator, leaf.negate) = (operator, negate);
            leaf.ignore_case &= operator.can_ignore_case();
            if !operator.takes_attribute() {
                leaf.attribute.clear();
            }
        });
    };
    let operator = Memo::new(move |_| leaf.with(|leaf| leaf.operator));
    let values = Signal::derive(move || leaf.with(|leaf| leaf.values.clone()));
    let ignores_case = Signal::derive(move || leaf.with(|leaf| leaf.ignore_case));
    let set_ignore_case = move |ignores: bool| edit(&|leaf| leaf.ignore_case = ignores);
    let set_values = move |new: Vec<String>| edit(&|leaf| leaf.values.clone_from(&new));
    let options: Vec<(String, String)> = comparisons()
        .map(|(o, negate)| (comparison_name(o, negate), sentence::comparison(o, negate).to_owned()))
        .collect();
    view! {
        <fieldset class="condition">
            <legend class="hidden">{format!("Condition {number}")}</legend>
            {move || {
                if operator.get() == Operator::InSegment {
                    view! { <p class="muted condition-subject">"The user is"</p> }.into_any()
                } else {
                    view! {
                        <TextField label="Attribute" is_code=true value=Signal::derive(move || leaf.with(|leaf| leaf.attribute.clone()))
                            on_input=move |text: String| edit(&|leaf| leaf.attribute = text.trim().to_owned())/>
                    }
                    .into_any()
                }
            }}
            <SelectField label="Comparison" options=options.clone() value=comparison on_change=compare/>
            <div class="condition-values">
                {move || match operator.get() {
                    Operator::Exists => ().into_any(),
                    Operator::InSegment => view! {
                        <SegmentPicker values=values on_change=set_values/>
                    }
                    .into_any(),
                    operator => view! {
                        <Tokens label="Values, any of these" values=values on_change=set_values/>
                        {operator.can_ignore_case().then(|| view! {
                            <CheckField label="Ignore upper and lower case" checked=ignores_case on_change=set_ignore_case/>
                        })}
                    }
                    .into_any(),
                }}
            </div>
            <IconButton icon=Icon::Cross label=format!("Remove condition {number}") on_press=on_remove/>
        </fieldset>
    }
}

/// Segments that exist, to choose from.
#[component]
fn SegmentPicker(values: Signal<Vec<String>>, #[prop(into)] on_change: Callback<Vec<String>>) -> impl IntoView {
    let Segments(segments) = expect_context();
    let options = move || {
        let known = segments.with(|list| list.map(|list| list.items.clone()).unwrap_or_default());
        let unused = known.into_iter().filter(|segment| values.with(|v| !v.iter().any(|v| v == segment.key.as_str())));
        let option = unused.map(|segment| (segment.key.to_string(), segment.name));
        [(String::new(), "Add a segment …".to_owned())].into_iter().chain(option).collect::<Vec<_>>()
    };
    let add = move |key: String| {
        if !key.is_empty() {
            on_change.run(values.get_untracked().into_iter().chain([key]).collect());
        }
    };
    view! {
        <div class="stack-tight">
            <Tokens label="Segments, any of these" values=values on_change=on_change/>
            <SelectField label="Add a segment" hide_label=true options=Signal::derive(options) value="" on_change=add/>
        </div>
    }
}

fn members(condition: &Condition) -> &[Condition] {
    match condition {
        Condition::All(members) | Condition::Any(members) => members,
        Condition::Leaf(_) => std::slice::from_ref(condition),
    }
}

/// Every comparison there is, each followed by its negation.
fn comparisons() -> impl Iterator<Item = (Operator, bool)> {
    Operator::ALL.into_iter().flat_map(|operator| [(operator, false), (operator, true)])
}

fn comparison_name(operator: Operator, negate: bool) -> String {
    if negate { format!("not-{operator}") } else { operator.to_string() }
}

fn empty_leaf() -> Leaf {
    let (attribute, values) = (String::new(), Vec::new());
    Leaf { attribute, operator: Operator::Equals, values, negate: false, ignore_case: false }
}

fn new_leaf() -> Condition {
    Condition::Leaf(empty_leaf())
}

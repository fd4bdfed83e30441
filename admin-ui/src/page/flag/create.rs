//! Making a flag.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use shared::model::flag::FlagKind;
use shared::model::key::EnvironmentKey;
use shared::sentence;

use super::create_draft::{CreateDraft, VariantDraft, example_variants};
use super::create_start::{Preview, StartField};
use super::words;
use crate::api;
use crate::api::flag::Filter;
use crate::component::button::{Button, ButtonKind, IconButton};
use crate::component::field::{CheckField, Choice, Choices, SelectField, TextArea, TextField};
use crate::component::icon::Icon;
use crate::component::status::Refusal;
use crate::component::tokens::Tokens;
use crate::layout::page_head::PageHead;
use crate::navigation::{Navigation, focus_first_error};
use crate::piece::project::Projects;
use crate::remote::Write;
use crate::route::Route;

/// The page at `/p/{project}/new-flag`.
#[component]
pub fn CreateFlagPage(project: String) -> impl IntoView {
    let (navigation, projects) = (Navigation::get(), Projects::get());
    let environments = {
        let project = project.clone();
        Memo::new(move |_| projects.environments(&project))
    };
    let draft = CreateDraft::new();
    let write = Write::new();
    let submit = {
        let project = project.clone();
        move |event: leptos::ev::SubmitEvent| {
            event.prevent_default();
            draft.is_checked.set(true);
            let keys: Vec<EnvironmentKey> = environments.get_untracked().into_iter().map(|e| e.key).collect();
            let Some(body) = untrack(|| draft.parse(&keys)) else { return focus_first_error() };
            // The page opens where the flag does something, or where it matters most.
            let shown = keys.iter().rev().find(|key| body.start.contains_key(*key)).or(keys.last()).cloned();
            let route = Route::Flag { project: project.clone(), flag: body.definition.key.to_string() };
            let project = project.clone();
            write.run(async move { api::flag::create(&project, &body).await }, move |_| {
                navigation.go(&shown.map_or_else(|| route.link(), |key| route.link_with("env", key.as_str())));
            });
        }
    };
    let cancel = Route::Flags { project: project.clone() }.link();
    view! {
        <PageHead title="New flag"/>
        <form class="create" on:submit=submit novalidate="">
            <div class="stack create-form">
                <NameAndKey draft=draft project=project write=write/>
                <TypeAndVariants draft=draft write=write/>
                <KindField draft=draft/>
                <fieldset class="stack-tight">
                    <legend><h2>"Start in each environment"</h2></legend>
                    <ul class="create-start">
                        <For each=move || environments.get() key=|environment| environment.id let(environment)>
                            <StartField draft=draft environment=environment/>
                        </For>
                    </ul>
                </fieldset>
                <details class="more">
                    <summary>"Tags, description, browsers"</summary>
                    <div class="stack">
                        <Tokens label="Tags" values=draft.tags on_change=move |tags| draft.tags.set(tags)/>
                        <TextArea label="Description" value=draft.description on_input=move |text| draft.description.set(text)/>
                        <CheckField
                            label="Browsers may read it"
                            hint="Client keys, which anyone can read, may then ask for this flag."
                            checked=draft.client_visible
                            on_change=move |checked| draft.client_visible.set(checked)
                        />
                    </div>
                </details>
                <Refusal text=Signal::derive(move || write.error().map(|error| error.sentence()))/>
                <div class="row">
                    <Button kind=ButtonKind::Primary submit=true busy=Signal::derive(move || write.is_pending())>
                        {move || match draft.key_text() {
                            key if key.is_empty() => "Create flag".to_owned(),
                            key => format!("Create {key}"),
                        }}
                    </Button>
                    <a class="button" data-kind="quiet" href=cancel>"Cancel"</a>
                </div>
            </div>
            <Preview draft=draft environments=environments/>
        </form>
    }
}

#[component]
fn NameAndKey(draft: CreateDraft, project: String, write: Write) -> impl IntoView {
    let taken = RwSignal::new(None::<(String, bool)>);
    let asked = StoredValue::new(0_u32);
    Effect::new(move |_| {
        let key = draft.key_text();
        asked.update_value(|asked| *asked += 1);
        let mine = asked.get_value();
        if key.is_empty() || draft.key_error().is_some() {
            return;
        }
        let project = project.clone();
        spawn_local(async move {
            gloo_timers::future::sleep(Duration::from_millis(250)).await;
            if asked.try_get_value() != Some(mine) {
                return;
            }
            let filter = Filter { q: key.clone(), sort: "key".into(), after: None, limit: 20 };
            if let Ok(page) = api::flag::list(&project, &filter).await {
                taken.try_set(Some((key.clone(), page.items.iter().any(|flag| flag.key.as_str() == key))));
            }
        });
    });
    let is_taken =
        move || taken.with(|taken| taken.as_ref().filter(|(key, _)| *key == draft.key_text()).map(|(_, is)| *is));
    let key_error = move || {
        let is_taken =
            is_taken().filter(|taken| *taken).map(|_| "This project already has a flag with that key.".into());
        draft.key_error().or(is_taken).or_else(|| write.field("definition.key"))
    };
    view! {
        <TextField
            label="Name"
            autofocus=true
            value=draft.name
            on_input=move |text| draft.name.set(text)
            error=Signal::derive(move || draft.name_error().or_else(|| write.field("name")))
        />
        <div class="stack-tight">
            <TextField
                label="Key"
                hint="Applications ask for the flag by this; it cannot change."
                is_code=true
                value=Signal::derive(move || draft.key_text())
                on_input=move |text: String| draft.key.set(Some(text))
                error=Signal::derive(key_error)
            />
            {move || (is_taken() == Some(false)).then(|| view! { <p class="free">"● free"</p> })}
        </div>
    }
}

#[component]
fn TypeAndVariants(draft: CreateDraft, write: Write) -> impl IntoView {
    let options = words::VALUE_TYPES.map(|value_type| {
        let name = words::value_type(value_type);
        let text = name[..1].to_uppercase() + &name[1..];
        Choice::new(name, &text)
    });
    let choose = move |name: String| {
        if let Some(chosen) = words::VALUE_TYPES.into_iter().find(|value_type| words::value_type(*value_type) == name) {
            draft.value_type.set(chosen);
            draft.variants.set(example_variants(chosen));
        }
    };
    let is_boolean = Memo::new(move |_| draft.value_type.get() == shared::model::variant::ValueType::Boolean);
    let problem = move |field: String| {
        let own = draft.definition().err().and_then(|all| all.into_iter().find(|p| p.field == field));
        own.map(|problem| problem.message).or_else(|| write.field(&format!("definition.{field}")))
    };
    let edit = move |id: u32, change: fn(&mut VariantDraft, String), text: String| {
        draft.variants.update(|all| {
            if let Some(variant) = all.iter_mut().find(|variant| variant.id == id) {
                change(variant, text);
            }
        });
    };
    let row = move |id: u32| {
        let at = Memo::new(move |_| draft.variants.with(|all| all.iter().position(|v| v.id == id)));
        let text = move |read: fn(&VariantDraft) -> String| {
            Signal::derive(move || {
                draft.variants.with(|all| all.iter().find(|v| v.id == id).map(read).unwrap_or_default())
            })
        };
        let error = move |name: &'static str| {
            Signal::derive(move || at.get().and_then(|at| problem(format!("variants[{at}].{name}"))))
        };
        view! {
            <li class="variant-row">
                <TextField label="Variant" is_code=true value=text(|v| v.key.clone()) error=error("key")
                    on_input=move |text| edit(id, |variant, text| variant.key = text, text)/>
                <TextField label="Value" is_code=true value=text(|v| v.value.clone()) error=error("value")
                    on_input=move |text| edit(id, |variant, text| variant.value = text, text)/>
                <IconButton icon=Icon::Cross
                    label=Signal::derive(move || format!("Remove variant {}", text(|v| v.key.clone()).get()))
                    disabled=Signal::derive(move || draft.variants.with(Vec::len) < 2)
                    on_press=move || draft.variants.update(|all| all.retain(|variant| variant.id != id))/>
            </li>
        }
    };
    let add = move || {
        draft.variants.update(|all| {
            let id = all.iter().map(|variant| variant.id).max().map_or(0, |id| id + 1);
            all.push(VariantDraft { id, key: String::new(), value: String::new() });
        });
    };
    view! {
        <Choices
            label="Type"
            options=options.to_vec()
            value=Signal::derive(move || words::value_type(draft.value_type.get()).to_owned())
            on_change=choose
        />
        {move || {
            if is_boolean.get() {
                view! { <p class="muted">"Variants: "<code>"on"</code>" (true) and "<code>"off"</code>" (false)."</p> }.into_any()
            } else {
                view! {
                    <fieldset class="stack-tight">
                        <legend class="strong">"Variants"</legend>
                        <p class="muted">"The first one is served while the flag is on, the last one while it is off."</p>
                        <ul class="stack-tight">
                            <For each=move || draft.variants.get() key=|variant| variant.id let(variant)>{row(variant.id)}</For>
                        </ul>
                        {move || problem("variants".into()).map(|text| view! { <p class="field-error">{text}</p> })}
                        <div><Button icon=Icon::Plus on_press=add>"Add variant"</Button></div>
                    </fieldset>
                }
                .into_any()
            }
        }}
    }
}

#[component]
fn KindField(draft: CreateDraft) -> impl IntoView {
    let text = |kind: FlagKind| format!("{}: {}", sentence::kind(kind), words::kind_meaning(kind));
    let options: Vec<(String, String)> =
        words::KINDS.map(|kind| (sentence::kind(kind).to_owned(), text(kind))).to_vec();
    let choose = move |name: String| {
        if let Some(kind) = words::KINDS.into_iter().find(|kind| sentence::kind(*kind) == name) {
            draft.kind.set(kind);
        }
    };
    view! {
        <SelectField
            label="Kind"
            options=options
            value=Signal::derive(move || sentence::kind(draft.kind.get()).to_owned())
            on_change=choose
        />
    }
}

//! What a flag is, its environments as tabs, and how it stands in the chosen one.

use leptos::prelude::*;
use shared::sentence;
use shared::wire::api::environment::EnvironmentSummary;
use shared::wire::api::flag::{FlagDetail, StateShape};

use super::draft::{Editing, is_kept};
use super::review::Saving;
use super::words;
use crate::component::button::{Button, ButtonKind};
use crate::component::icon::Icon;
use crate::navigation::Navigation;
use crate::piece::receipt::Receipt;
use crate::piece::sentence::{Sentence, words_of_config};
use crate::piece::state::{Shape, word};
use crate::piece::when::When;

/// Leads to the kill dialog.
#[component]
pub fn KillButton(refused: Signal<Option<String>>, #[prop(into)] on_press: Callback<()>) -> impl IntoView {
    view! { <Button kind=ButtonKind::Warning icon=Icon::Octagon refused=refused on_press=on_press>"Kill…"</Button> }
}

/// Name, type, kind, tags, and the environment tabs.
#[component]
pub fn Header(
    project: String,
    flag: String,
    detail: Memo<FlagDetail>,
    environments: Memo<Vec<EnvironmentSummary>>,
    environment: Memo<Option<EnvironmentSummary>>,
) -> impl IntoView {
    let about = move || {
        detail.with(|detail| {
            let mut parts = Vec::new();
            if detail.name != detail.definition.key.as_str() {
                parts.push(detail.name.clone());
            }
            parts.push(words::value_type(detail.definition.value_type).into());
            parts.push(sentence::kind(detail.definition.kind).into());
            if detail.definition.client_visible {
                parts.push("browsers may read it".into());
            }
            parts.push(format!("made by {}", detail.created_by));
            parts.join(" · ")
        })
    };
    let tags = move || {
        detail.with(|detail| detail.tags.clone()).into_iter().map(|tag| view! { <span class="tag">{tag}</span> })
    };
    let description = move || detail.with(|detail| detail.description.clone());
    let tab = move |each: EnvironmentSummary| {
        view! { <EnvironmentTab project=project.clone() flag=flag.clone() detail=detail own=each chosen=environment/> }
    };
    view! {
        <div class="flag-head">
            <div class="stack-tight">
                <p class="row muted">{about} {move || tags().collect_view()}</p>
                {move || {
                    let text = description();
                    (!text.is_empty()).then(|| view! { <p class="flag-description">{text}</p> })
                }}
            </div>
            <nav class="environment-tabs" aria-label="Environment">
                <For each=move || environments.get() key=|each| each.id let(each)>{tab(each)}</For>
            </nav>
        </div>
    }
}

/// Hue, name and state; marked when a draft waits there.
#[component]
fn EnvironmentTab(
    project: String,
    flag: String,
    detail: Memo<FlagDetail>,
    own: EnvironmentSummary,
    chosen: Memo<Option<EnvironmentSummary>>,
) -> impl IntoView {
    let navigation = Navigation::get();
    let key = own.key.clone();
    let is_current = {
        let id = own.id;
        Memo::new(move |_| chosen.with(|chosen| chosen.as_ref().is_some_and(|chosen| chosen.id == id)))
    };
    let state = {
        let key = key.clone();
        Memo::new(move |_| {
            detail.with(|detail| {
                let found = detail.environments.iter().find(|e| e.environment == key)?;
                Some(StateShape::of(&found.config, found.kill.is_some()))
            })
        })
    };
    let has_draft = {
        let key = key.clone();
        // Looked up again whenever another environment is shown; the draft of the shown one has its own bar.
        move || chosen.with(Option::is_some) && !is_current.get() && is_kept(&project, &flag, key.as_str())
    };
    let link = move || {
        // Another environment begins without an open layer.
        let link = navigation.link_with("env", Some(key.as_str()));
        crate::route::Query::parse(link.split_once('?').map_or("", |(_, query)| query)).with("do", None).to_string()
    };
    view! {
        <a class="environment-tab" href=link data-hue=own.hue.to_string() aria-current=move || is_current.get().then_some("page")>
            {move || state.get().map(|state| view! { <Shape shape=state/> })}
            <span>{own.name.clone()}</span>
            <span class="hidden">{move || state.get().map(|state| format!(": {}", word(state)))}</span>
            {move || has_draft().then(|| view! { <span class="draft-mark">"draft"</span> })}
        </a>
    }
}

/// The state in one sentence, the receipt, and who changed it last.
#[component]
pub fn StateLine() -> impl IntoView {
    let (editing, saving, navigation) = (Editing::get(), Saving::get(), Navigation::get());
    let server = editing.server;
    let environment = editing.environment.get_value();
    let name = environment.name.to_lowercase();
    let is_killed = Memo::new(move |_| server.with(|server| server.kill.is_some()));
    let state = Memo::new(move |_| server.with(|server| StateShape::of(&server.config, server.kill.is_some())));
    let text = Signal::derive(move || {
        let text = editing.definition.with(|definition| {
            server.with(|server| sentence::config(definition, &server.config, server.kill.is_some()))
        });
        // "On. Everyone …" → "On in production. Everyone …"
        text.replacen(". ", &format!(" in {name}. "), 1)
    });
    let words = Signal::derive(move || server.with(|server| words_of_config(&server.config)));
    let is_on = Memo::new(move |_| editing.config.with(|config| config.enabled));
    let turn = move || {
        editing.edit(|config| config.enabled = !config.enabled);
        if editing.has_draft() {
            navigation.set_query("do", Some("review"));
        }
    };
    let revision = Signal::derive(move || saving.revision.get().max(server.with(|server| server.revision)));
    let note = move || server.with(|server| server.note.clone());
    view! {
        <div class="state-line">
            <div class="grow stack-tight">
                <p class="state-sentence" role="status"><Shape shape=state/>" "<Sentence text=text words=words/></p>
                <p class="muted">
                    "Changed " <When at=Signal::derive(move || server.with(|server| server.changed_at))/>
                    {move || format!(" by {}", server.with(|server| server.changed_by.clone()))}
                    {move || {
                        let note = note();
                        (!note.is_empty()).then(|| format!(": “{note}”"))
                    }}
                </p>
                <Receipt
                    project=editing.project.get_value()
                    environment=environment
                    revision=revision
                    saving=Signal::derive(move || saving.write.is_pending())
                />
            </div>
            <div class="row">
                {move || (!is_killed.get()).then(|| view! {
                    <Button refused=editing.refused on_press=turn>{move || if is_on.get() { "Turn off…" } else { "Turn on…" }}</Button>
                })}
            </div>
        </div>
    }
}

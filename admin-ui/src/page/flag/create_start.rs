//! How a new flag starts in each environment, and what people would get.

use leptos::prelude::*;
use shared::sentence;
use shared::wire::api::environment::EnvironmentSummary;
use shared::wire::api::flag::StateShape;

use super::create_draft::{CreateDraft, Start};
use super::split::parse_share;
use crate::component::field::{Choice, Choices, TextField};
use crate::piece::environment::EnvironmentName;
use crate::piece::sentence::{Sentence, words_of_config};
use crate::piece::state::Shape;

/// Off · on for everyone · for a share.
#[component]
pub fn StartField(draft: CreateDraft, environment: EnvironmentSummary) -> impl IntoView {
    let key = environment.key.clone();
    let start = {
        let key = key.clone();
        Memo::new(move |_| draft.start_in(&key))
    };
    let set = Callback::new(move |start: Start| draft.start.update(|all| drop(all.insert(key.clone(), start))));
    let choose = move |chosen: String| {
        set.run(match chosen.as_str() {
            "everyone" => Start::Everyone,
            "share" => Start::Share("10".into()),
            _ => Start::Off,
        });
    };
    let value = move || match start.get() {
        Start::Off => "off".to_owned(),
        Start::Everyone => "everyone".into(),
        Start::Share(_) => "share".into(),
    };
    let is_share = Memo::new(move |_| matches!(start.get(), Start::Share(_)));
    let share = Signal::derive(move || match start.get() {
        Start::Share(text) => text,
        Start::Off | Start::Everyone => String::new(),
    });
    let label = format!("Share in {}", environment.name);
    view! {
        <li class="create-start-row">
            <EnvironmentName environment=environment.clone()/>
            <Choices
                label=format!("Start in {}", environment.name)
                hide_label=true
                options=vec![
                    Choice::new("off", "off"),
                    Choice::new("everyone", "on for everyone"),
                    Choice::new("share", "for a share"),
                ]
                value=Signal::derive(value)
                on_change=choose
            />
            {move || {
                let label = label.clone();
                is_share.get().then(|| view! {
                    <div class="share-field">
                        <TextField label=label hide_label=true inputmode="decimal" unit="%" value=share
                            on_input=move |text| set.run(Start::Share(text))
                            error=Signal::derive(move || share.with(|text| parse_share(text).err()))/>
                    </div>
                })
            }}
        </li>
    }
}

/// What people would get in each environment.
#[component]
pub fn Preview(draft: CreateDraft, environments: Memo<Vec<EnvironmentSummary>>) -> impl IntoView {
    let line = move |environment: EnvironmentSummary| {
        let key = environment.key.clone();
        let preview = Memo::new(move |_| draft.preview(&key));
        let text = Signal::derive(move || {
            preview.with(|preview| match preview {
                Some((definition, config)) => sentence::config(definition, config, false),
                None => "…".into(),
            })
        });
        let words =
            Signal::derive(move || preview.with(|p| p.as_ref().map(|(_, c)| words_of_config(c)).unwrap_or_default()));
        let state = move || preview.with(|p| p.as_ref().map(|(_, config)| StateShape::of(config, false)));
        view! {
            <li class="preview-line">
                <EnvironmentName environment=environment/>
                <p>{move || state().map(|state| view! { <Shape shape=state/>" " })}<Sentence text=text words=words/></p>
            </li>
        }
    };
    view! {
        <aside class="create-preview" aria-label="Preview">
            <h2>"What people will get"</h2>
            <ul class="stack-tight">
                <For each=move || environments.get() key=|environment| environment.id let(environment)>{line(environment)}</For>
            </ul>
        </aside>
    }
}

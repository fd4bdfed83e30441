//! The drawer before every save: what changes, for whom, where, and how to go back.

use leptos::prelude::*;
use shared::model::changeset::{NOTE_CHARS_MAX, Note};
use shared::wire::api::changeset::ChangesetDetail;
use shared::wire::api::flag::{FlagDetail, SaveConfig};

use super::conflict::Conflict;
use super::draft::Editing;
use super::effect;
use crate::api;
use crate::component::button::{Button, ButtonKind};
use crate::component::dialog::{Dialog, DialogKind};
use crate::component::field::TextArea;
use crate::component::status::Refusal;
use crate::component::toast::Toasts;
use crate::piece::environment::EnvironmentName;
use crate::piece::sentence::{Sentence, words_of_config};
use crate::remote::{Remote, Write};

/// Saving a config, and what came of it. A context of one flag in one environment.
#[derive(Clone, Copy)]
pub struct Saving {
    /// The save under way.
    pub write: Write,
    /// The revision of the last save; 0 when there was none.
    pub revision: RwSignal<u64>,
    remote: Remote<FlagDetail>,
}

impl Saving {
    /// Nothing saved yet.
    pub fn new(remote: Remote<FlagDetail>) -> Self {
        Self { write: Write::new(), revision: RwSignal::new(0), remote }
    }

    /// The saving around this part of the page.
    pub fn get() -> Self {
        expect_context()
    }

    /// What was asked for was applied, and the receipt follows its revision from now on, or waits for others to agree.
    pub fn done(self, changeset: &ChangesetDetail) {
        if let Some(revision) = changeset.revision {
            self.revision.set(revision);
        }
        self.remote.reload();
    }
}

/// What came of a write, in a sentence that begins with `done` where it was applied.
pub fn outcome(changeset: &ChangesetDetail, done: &str) -> String {
    match changeset.revision {
        Some(revision) => format!("{done}, r{revision}."),
        None => "Approval requested; nothing changes until others agree.".to_owned(),
    }
}

/// What one line of the changes means to a reader who does not see its sign.
fn sign_word(line: &str) -> (&'static str, &'static str, &str) {
    let (sign, rest) = line.split_at(line.chars().next().map_or(0, char::len_utf8));
    match sign {
        "+" => ("+", "added: ", rest.trim_start()),
        "−" => ("−", "removed: ", rest.trim_start()),
        "~" => ("~", "changed: ", rest.trim_start()),
        _ => ("", "", line),
    }
}

/// Changes as a list of sentences.
#[component]
pub fn Changes(#[prop(into)] lines: Signal<Vec<String>>, #[prop(into)] words: Signal<Vec<String>>) -> impl IntoView {
    let items = move || {
        lines.get().into_iter().map(move |line| {
            let (sign, word, text) = sign_word(&line);
            let text = text.to_owned();
            // "Turned off" speaks of the flag, not of the variant.
            let is_switch = text.starts_with("Turned ");
            let words = Signal::derive(move || if is_switch { Vec::new() } else { words.get() });
            view! {
                <li class="change">
                    <span class="change-sign" aria-hidden="true">{sign}</span>
                    <span><span class="hidden">{word}</span><Sentence text=text words=words/></span>
                </li>
            }
        })
    };
    view! { <ul class="changes">{move || items().collect_view()}</ul> }
}

/// Open while `do=review` stands in the address.
#[component]
pub fn Review(#[prop(into)] on_close: Callback<()>) -> impl IntoView {
    let editing = Editing::get();
    let name = editing.environment.with_value(|environment| environment.name.clone());
    let title = format!("Review: {} in {}", editing.flag.get_value(), name.to_lowercase());
    let is_stale = Memo::new(move |_| editing.is_stale());
    view! {
        <Dialog title=title kind=DialogKind::Drawer on_close=on_close>
            {move || {
                if is_stale.get() {
                    view! { <Conflict on_close=on_close/> }.into_any()
                } else {
                    view! { <ReviewForm on_close=on_close/> }.into_any()
                }
            }}
        </Dialog>
    }
}

#[component]
fn ReviewForm(on_close: Callback<()>) -> impl IntoView {
    let (editing, saving, toasts) = (Editing::get(), Saving::get(), Toasts::get());
    let write = saving.write;
    let note = RwSignal::new(String::new());
    let environment = editing.environment.get_value();
    let (name, is_protected) = (environment.name.clone(), environment.is_protected);
    let when = if is_protected { "When enough others agree, on all edges." } else { "At once, on all edges." };
    let words = Signal::derive(move || {
        let mut words = editing.config.with(words_of_config);
        words.extend(words_of_config(&editing.base()));
        words
    });
    let who = Signal::derive(move || {
        let is_killed = editing.server.with(|server| server.kill.is_some());
        editing.definition.with(|flag| editing.config.with(|new| effect::lines(flag, &editing.base(), new, is_killed)))
    });
    let revision = move || editing.server.with(|server| server.revision);
    let note_error = Signal::derive(move || {
        let length = note.with(|note| note.chars().count());
        (length > NOTE_CHARS_MAX).then(|| format!("Use at most {NOTE_CHARS_MAX} characters; there are {length}."))
    });
    let refused = Signal::derive(move || {
        if editing.has_problems() {
            return Some("Correct the sections that are marked first.".to_owned());
        }
        note_error.get().or_else(|| editing.refused.get())
    });
    let save = {
        let name = name.clone();
        move || {
            let Ok(note) = Note::try_from(note.get_untracked().trim().to_owned()) else { return };
            let body = SaveConfig { config: editing.config.get_untracked(), note };
            let (project, flag) = (editing.project.get_value(), editing.flag.get_value());
            let (key, version) = (editing.environment.with_value(|e| e.key.to_string()), editing.version());
            let name = name.clone();
            write.run(
                async move { api::flag::save_config(&project, &flag, &key, version, &body).await },
                move |changeset| {
                    saving.done(&changeset);
                    // Already gone when the person went to another page meanwhile.
                    on_close.try_run(());
                    editing.discard();
                    toasts.show(outcome(&changeset, &format!("Saved to {}", name.to_lowercase())));
                },
            );
        }
    };
    Effect::new(move |_| match write.error() {
        // Somebody was faster: what they saved must be seen before anything else.
        Some(error) if error.status() == Some(412) => saving.remote.reload(),
        Some(error) if error.status() == Some(422) => editing.tell(error.fields().to_vec()),
        _ => {}
    });
    on_cleanup(move || write.clear());
    // A conflict has its own view, and what is wrong with single fields is listed above.
    let refusal = move || {
        let error = write.error().filter(|error| error.status() != Some(412) && error.fields().is_empty());
        error.map(|error| error.sentence())
    };
    view! {
        <dl class="review">
            <dt>"What"</dt>
            <dd><Changes lines=editing.changes words=words/></dd>
            <dt>"Who"</dt>
            <dd>
                <ul>{move || who.get().into_iter().map(|line| view! { <li><Sentence text=line words=words/></li> }).collect_view()}</ul>
            </dd>
            <dt>"Where"</dt>
            <dd><EnvironmentName environment=environment/></dd>
            <dt>"When"</dt>
            <dd>{when}</dd>
            <dt>"Undo"</dt>
            <dd>{move || format!("Save today's config again; what it was is on record as r{}.", revision())}</dd>
        </dl>
        <Problems/>
        <TextArea
            label="Note"
            hint="Why, for those who come after you. May stay empty."
            autofocus=true
            value=note
            on_input=move |text| note.set(text)
            error=note_error
        />
        <Refusal text=Signal::derive(refusal)/>
        <div class="dialog-actions">
            <Button on_press=on_close>"Cancel"</Button>
            <Button kind=ButtonKind::Primary busy=Signal::derive(move || write.is_pending()) refused=refused on_press=save>
                {if is_protected { "Request approval".to_owned() } else { format!("Save to {}", name.to_lowercase()) }}
            </Button>
        </div>
    }
}

/// Everything that is wrong with the draft, as links would be too far away in the drawer.
#[component]
fn Problems() -> impl IntoView {
    let editing = Editing::get();
    let all = move || {
        ["off_variant", "targets", "rules", "default_serve"]
            .into_iter()
            .flat_map(|path| editing.problems_at(path))
            .collect::<Vec<_>>()
    };
    move || {
        let all = all();
        (!all.is_empty()).then(|| {
            let items = all.into_iter().map(|text| view! { <li>{text}</li> }).collect_view();
            view! { <ul class="refusal">{items}</ul> }
        })
    }
}

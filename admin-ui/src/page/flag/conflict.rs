//! Somebody saved while a draft was open: both versions side by side, nothing is lost.

use leptos::prelude::*;
use shared::sentence;

use super::draft::Editing;
use super::review::Changes;
use crate::component::button::{Button, ButtonKind};
use crate::piece::sentence::{Sentence, words_of_config};
use crate::piece::when::When;

/// Theirs and mine, and the two ways on.
#[component]
pub fn Conflict(on_close: Callback<()>) -> impl IntoView {
    let editing = Editing::get();
    let server = editing.server;
    let who = move || server.with(|server| server.changed_by.clone());
    let revision = move || server.with(|server| server.revision);
    let note = move || server.with(|server| server.note.clone());
    let theirs = Signal::derive(move || server.with(|server| sentence::changes(&editing.base(), &server.config)));
    let their_words = Signal::derive(move || server.with(|server| words_of_config(&server.config)));
    let their_text = Signal::derive(move || {
        editing
            .definition
            .with(|flag| server.with(|server| sentence::config(flag, &server.config, server.kill.is_some())))
    });
    let my_words = Signal::derive(move || editing.config.with(words_of_config));
    let my_text = Signal::derive(move || {
        editing.definition.with(|flag| editing.config.with(|config| sentence::config(flag, config, false)))
    });
    let take_theirs = move || {
        editing.discard();
        on_close.run(());
    };
    view! {
        <p role="alert" class="strong">
            {move || format!("{} saved r{} while you were editing. Your changes are still here.", who(), revision())}
        </p>
        <div class="conflict">
            <section aria-label="Theirs">
                <h3>{move || format!("Theirs: r{}", revision())}</h3>
                <p class="muted">
                    {who} ", " <When at=Signal::derive(move || server.with(|server| server.changed_at))/>
                    {move || {
                        let note = note();
                        (!note.is_empty()).then(|| format!(": “{note}”"))
                    }}
                </p>
                <p><Sentence text=their_text words=their_words/></p>
                <Changes lines=theirs words=their_words/>
            </section>
            <section aria-label="Mine">
                <h3>"Mine: not saved"</h3>
                <p class="muted">"Your draft."</p>
                <p><Sentence text=my_text words=my_words/></p>
                <Changes lines=editing.changes words=my_words/>
            </section>
        </div>
        <p class="muted">"Keeping yours shows what it changes against theirs before anything is saved."</p>
        <div class="dialog-actions">
            <Button on_press=take_theirs>"Take theirs"</Button>
            <Button kind=ButtonKind::Primary on_press=move || editing.rebase()>
                {move || format!("Keep mine (review against r{})", revision())}
            </Button>
        </div>
    }
}

//! The red banner of a killed flag: who, when, why, until when, and the way back.

use leptos::prelude::*;
use shared::model::changeset::Note;
use shared::sentence;
use shared::wire::api::changeset::WithNote;
use shared::wire::api::flag::{FlagDetail, KillDetail};

use super::draft::Editing;
use super::review::{Saving, outcome};
use crate::api;
use crate::component::button::Button;
use crate::component::status::Refusal;
use crate::component::toast::Toasts;
use crate::format;
use crate::piece::when::When;
use crate::remote::{Remote, Write};

/// Shown while the flag is killed in this environment.
#[component]
pub fn KillBanner(remote: Remote<FlagDetail>) -> impl IntoView {
    let editing = Editing::get();
    let kill = Memo::new(move |_| editing.server.with(|server| server.kill.clone()));
    move || kill.get().map(|kill| view! { <Banner kill=kill remote=remote/> })
}

#[component]
fn Banner(kill: KillDetail, remote: Remote<FlagDetail>) -> impl IntoView {
    let (editing, saving, toasts) = (Editing::get(), Saving::get(), Toasts::get());
    let write = Write::new();
    let name = editing.environment.with_value(|environment| environment.name.to_lowercase());
    let title = format!("Killed in {name} by {}", kill.killed_by);
    let until = match kill.until {
        Some(until) => format!("Comes back by itself at {}.", format::time(until)),
        None => "Comes back only by hand.".into(),
    };
    let restored = move || {
        editing.definition.with(|flag| editing.server.with(|server| sentence::config(flag, &server.config, false)))
    };
    let restore = move || {
        let (project, flag) = (editing.project.get_value(), editing.flag.get_value());
        let key = editing.environment.with_value(|environment| environment.key.to_string());
        let body = WithNote { note: Note::default() };
        write.run(async move { api::flag::restore(&project, &flag, &key, &body).await }, move |changeset| {
            saving.done(&changeset);
            remote.reload();
            toasts.show(outcome(&changeset, "Restored"));
        });
    };
    view! {
        <div class="kill-banner" role="region" aria-label="Killed">
            <div class="grow stack-tight">
                <p><span class="strong">{title}</span>", "<When at=kill.killed_at/>": “"{kill.reason}"”"</p>
                <p>{until}</p>
                <p>"Restored, it would be: " {restored}</p>
                <Refusal text=Signal::derive(move || write.error().map(|error| error.sentence()))/>
            </div>
            <Button refused=editing.refused busy=Signal::derive(move || write.is_pending()) on_press=restore>"Restore now"</Button>
        </div>
    }
}

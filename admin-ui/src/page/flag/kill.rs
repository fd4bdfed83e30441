//! Turning a flag off at once: few words, one reason, one button.

use leptos::prelude::*;
use shared::model::key::EnvironmentKey;
use shared::wire::api::environment::EnvironmentSummary;
use shared::wire::api::flag::{FlagDetail, KillFlag};

use super::draft::Editing;
use super::review::{Saving, outcome};
use crate::api;
use crate::clock;
use crate::component::button::{Button, ButtonKind};
use crate::component::dialog::{Dialog, DialogKind};
use crate::component::field::{CheckField, Choice, Choices, TextArea};
use crate::component::status::Refusal;
use crate::component::toast::Toasts;
use crate::format;
use crate::navigation::focus_first_error;
use crate::piece::project::Projects;
use crate::remote::{Remote, Write};

const REASON_CHARS_MAX: usize = 500;

/// Open while `do=kill` stands in the address.
#[component]
pub fn KillDialog(
    detail: Memo<FlagDetail>,
    remote: Remote<FlagDetail>,
    #[prop(into)] on_close: Callback<()>,
) -> impl IntoView {
    let (editing, saving, toasts) = (Editing::get(), Saving::get(), Toasts::get());
    let flag = editing.flag.get_value();
    let shown = editing.environment.get_value();
    let project = editing.project.get_value();
    let environments: Vec<EnvironmentSummary> = untrack(|| Projects::get().environments(&project));
    let chosen = RwSignal::new(vec![shown.key.clone()]);
    let reason = RwSignal::new(String::new());
    let minutes = RwSignal::new("0".to_owned());
    let is_checked = RwSignal::new(false);
    let write = Write::new();

    let off = move |key: &EnvironmentKey| {
        detail.with(|detail| {
            let found = detail.environments.iter().find(|e| e.environment == *key);
            let off = found.and_then(|e| e.config.off_variant.clone());
            let value = off.as_ref().and_then(|off| detail.definition.variants.iter().find(|v| v.key == *off));
            match (off, value) {
                (Some(off), Some(variant)) if variant.value.len() <= 30 => format!("{off} ({})", variant.value),
                (Some(off), _) => off.to_string(),
                (None, _) => "the default in the application's code".into(),
            }
        })
    };
    let sentence = {
        let flag = flag.clone();
        let environments = environments.clone();
        move || {
            let names: Vec<String> = chosen.with(|chosen| {
                environments.iter().filter(|e| chosen.contains(&e.key)).map(|e| e.name.to_lowercase()).collect()
            });
            let first = chosen.with(|chosen| chosen.first().cloned());
            match first {
                Some(key) => format!(
                    "Turns {flag} off in {}. Everyone gets {} at once, whatever the rules say.",
                    format::list(&names),
                    off(&key)
                ),
                None => "Choose at least one environment.".into(),
            }
        }
    };
    let reason_error = Signal::derive(move || {
        let length = reason.with(|reason| reason.trim().chars().count());
        match length {
            0 if is_checked.get() => Some("Say why; everyone who sees the flag will read it.".to_owned()),
            0..=REASON_CHARS_MAX => None,
            _ => Some(format!("Use at most {REASON_CHARS_MAX} characters; there are {length}.")),
        }
    });
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        is_checked.set(true);
        let environments = chosen.get_untracked();
        if reason.with_untracked(|reason| reason.trim().is_empty()) || environments.is_empty() {
            return focus_first_error();
        }
        let wait: i64 = minutes.get_untracked().parse().unwrap_or(0);
        let until = if wait > 0 { clock::in_minutes(wait) } else { None };
        let is_here = environments.contains(&editing.environment.with_value(|e| e.key.clone()));
        let body = KillFlag { environments, reason: reason.get_untracked().trim().into(), until };
        let (project, flag) = (editing.project.get_value(), editing.flag.get_value());
        write.run(async move { api::flag::kill(&project, &flag, &body).await }, move |changeset| {
            // The receipt on the page is that of the environment shown.
            if is_here {
                saving.done(&changeset);
            } else {
                remote.reload();
            }
            toasts.show(outcome(&changeset, "Killed"));
            on_close.try_run(());
        });
    };
    let boxes = environments.clone().into_iter().map(move |environment| {
        let (key, own) = (environment.key.clone(), environment.key.clone());
        let toggle = move |checked: bool| {
            chosen.update(|chosen| {
                chosen.retain(|other| *other != key);
                if checked {
                    chosen.push(key.clone());
                }
            });
        };
        view! { <CheckField label=environment.name checked=Signal::derive(move || chosen.with(|c| c.contains(&own))) on_change=toggle/> }
    });
    let button = move || {
        let names: Vec<String> = chosen.with(|chosen| {
            environments.iter().filter(|e| chosen.contains(&e.key)).map(|e| e.name.to_lowercase()).collect()
        });
        format!("Kill in {}", format::list(&names))
    };
    view! {
        <Dialog title=format!("Kill {flag}") kind=DialogKind::Alert on_close=on_close>
            <form class="stack" on:submit=submit novalidate="">
                <p>{sentence}</p>
                <fieldset class="row">
                    <legend class="hidden">"Where"</legend>
                    {boxes.collect_view()}
                </fieldset>
                <TextArea label="Reason" autofocus=true value=reason on_input=move |text| reason.set(text) error=reason_error/>
                <Choices
                    label="Turn it back on"
                    value=minutes
                    on_change=move |chosen| minutes.set(chosen)
                    options=vec![Choice::new("0", "only by hand"), Choice::new("15", "in 15 min"), Choice::new("60", "in 1 h")]
                />
                <p class="muted">"You can restore it at any time; it then does again what its rules say."</p>
                <Refusal text=Signal::derive(move || write.error().map(|error| error.sentence()))/>
                <div class="dialog-actions">
                    <Button on_press=on_close>"Cancel"</Button>
                    <Button kind=ButtonKind::Danger submit=true busy=Signal::derive(move || write.is_pending()) refused=editing.refused>
                        {button}
                    </Button>
                </div>
            </form>
        </Dialog>
    }
}

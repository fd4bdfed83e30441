//! A new key: asked for, then shown once.

use leptos::prelude::*;
use shared::model::sdk_key::SdkKeyKind;
use shared::model::web_origin::{WebOrigin, WebOriginError};
use shared::wire::api::sdk_key::{CreateSdkKey, CreatedSdkKey, ORIGINS_MAX, SdkKeyList};

use super::snippet::Snippets;
use crate::api;
use crate::component::button::{Button, ButtonKind};
use crate::component::copy::CopyButton;
use crate::component::dialog::Dialog;
use crate::component::field::{Choice, Choices, SelectField, TextField};
use crate::component::status::Refusal;
use crate::navigation::focus_first_error;
use crate::piece::project::Projects;
use crate::remote::{Remote, Write};

const NAME_CHARS_MAX: usize = 100;

/// Open while `do=new-key` stands in the address.
#[component]
pub fn CreateDialog(
    project: String,
    refused: Signal<Option<String>>,
    keys: Remote<SdkKeyList>,
    #[prop(into)] on_close: Callback<()>,
) -> impl IntoView {
    let created = RwSignal::new(None::<CreatedSdkKey>);
    let is_created = Memo::new(move |_| created.with(Option::is_some));
    let title = move || if is_created.get() { "Your new key" } else { "New SDK key" }.to_owned();
    view! {
        // Once the secret is shown, only "I stored it" closes the dialog.
        {move || {
            let project = project.clone();
            if is_created.get() {
                view! {
                    <Dialog title=title on_close=on_close can_close=false>
                        {created.get_untracked().map(|created| view! { <Secret created=created on_close=on_close/> })}
                    </Dialog>
                }
                .into_any()
            } else {
                view! {
                    <Dialog title=title on_close=on_close>
                        <CreateForm project=project refused=refused keys=keys created=created on_close=on_close/>
                    </Dialog>
                }
                .into_any()
            }
        }}
    }
}

#[component]
fn CreateForm(
    project: String,
    refused: Signal<Option<String>>,
    keys: Remote<SdkKeyList>,
    created: RwSignal<Option<CreatedSdkKey>>,
    on_close: Callback<()>,
) -> impl IntoView {
    let environments = untrack(|| Projects::get().environments(&project));
    let environment = RwSignal::new(environments.first().map(|e| e.key.to_string()).unwrap_or_default());
    let name = RwSignal::new(String::new());
    let kind = RwSignal::new("server".to_owned());
    let origins = RwSignal::new(String::new());
    let is_checked = RwSignal::new(false);
    let write = Write::new();
    let name_error = Signal::derive(move || {
        let length = name.with(|name| name.trim().chars().count());
        let own = match length {
            0 if is_checked.get() => Some("Say which application will use it.".to_owned()),
            0..=NAME_CHARS_MAX => None,
            _ => Some(format!("Use at most {NAME_CHARS_MAX} characters; there are {length}.")),
        };
        own.or_else(|| write.field("name"))
    });
    let parsed = Memo::new(move |_| origins.with(|text| read_origins(text)));
    let origins_error = Signal::derive(move || {
        let own = parsed.with(|parsed| parsed.as_ref().err().cloned()).filter(|_| is_checked.get());
        own.or_else(|| write.field("origins"))
    });
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        is_checked.set(true);
        let typed = name.get_untracked().trim().to_owned();
        let Ok(environment) = environment.get_untracked().parse() else { return };
        let is_client = kind.get_untracked() == "client";
        let origins = if is_client { parsed.get_untracked() } else { Ok(Vec::new()) };
        let Ok(origins) = origins else { return focus_first_error() };
        if typed.is_empty() || refused.get_untracked().is_some() {
            return focus_first_error();
        }
        let kind = if is_client { SdkKeyKind::Client } else { SdkKeyKind::Server };
        let body = CreateSdkKey { environment, name: typed, kind, origins, expires_at: None };
        let project = project.clone();
        write.run(async move { api::sdk_key::create(&project, &body).await }, move |answer| {
            created.set(Some(answer));
            keys.reload();
        });
    };
    let options: Vec<(String, String)> = environments.iter().map(|e| (e.key.to_string(), e.name.clone())).collect();
    let meaning = move || match kind.get().as_str() {
        "client" => "For browsers and phones, where anyone can read the key: sees only flags that browsers may read.",
        _ => "For servers, which keep it secret: sees every flag of the environment.",
    };
    view! {
        <form class="stack" on:submit=submit novalidate="">
            <SelectField label="Environment" options=options value=environment on_change=move |key| environment.set(key)/>
            <TextField label="Name" hint="The application that will use it." autofocus=true value=name
                on_input=move |text| name.set(text) error=name_error/>
            <div class="stack-tight">
                <Choices label="Kind" options=vec![Choice::new("server", "server"), Choice::new("client", "client")]
                    value=kind on_change=move |chosen| kind.set(chosen)/>
                <p class="field-hint">{meaning}</p>
            </div>
            {move || (kind.get() == "client").then(|| view! {
                <TextField label="Web origins (optional)"
                    hint="Pages that may use it, as https://shop.example; several with commas. Empty: pages from anywhere."
                    value=origins on_input=move |text| origins.set(text) error=origins_error/>
            })}
            <Refusal text=Signal::derive(move || write.error().map(|error| error.sentence()))/>
            <div class="dialog-actions">
                <Button on_press=on_close>"Cancel"</Button>
                <Button kind=ButtonKind::Primary submit=true refused=refused busy=Signal::derive(move || write.is_pending())>
                    "Create key"
                </Button>
            </div>
        </form>
    }
}

/// The origins in a text, parted by commas or spaces; or what is wrong with the first that is none.
fn read_origins(text: &str) -> Result<Vec<WebOrigin>, String> {
    let words = text.split([',', ' ', '\n']).filter(|word| !word.is_empty());
    let origins: Vec<WebOrigin> =
        words.map(str::parse).collect::<Result<_, _>>().map_err(|error: WebOriginError| error.to_string())?;
    match origins.len() {
        0..=ORIGINS_MAX => Ok(origins),
        count => Err(format!("Name at most {ORIGINS_MAX}; there are {count}.")),
    }
}

/// The only moment at which the secret can be read.
#[component]
fn Secret(created: CreatedSdkKey, on_close: Callback<()>) -> impl IntoView {
    let secret = created.secret.clone();
    view! {
        <p>{format!("This is the key “{}” for {}. It is shown only now; FluxGate keeps no copy.", created.key.name, created.key.environment)}</p>
        <div class="secret">
            <code translate="no" tabindex="0">{created.secret.clone()}</code>
            <CopyButton text=secret label="Copy key"/>
        </div>
        <Snippets secret=Some(created.secret)/>
        <div class="dialog-actions">
            <Button kind=ButtonKind::Primary on_press=on_close>"I stored it"</Button>
        </div>
    }
}

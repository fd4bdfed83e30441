//! First run: you, your project, its environments.

use leptos::prelude::*;
use shared::model::key::{EnvironmentKey, ProjectKey};
use shared::wire::api::environment::CreateEnvironment;
use shared::wire::api::setup::Setup;

use crate::api;
use crate::component::button::{Button, ButtonKind, IconButton};
use crate::component::field::{PasswordField, TextField};
use crate::component::icon::Icon;
use crate::component::status::Refusal;
use crate::layout::page_head::PageHead;
use crate::navigation::{Navigation, focus_first_error};
use crate::remote::{Remote, Write};
use crate::route::Route;
use crate::session::Session;

const PASSWORD_CHARS_MIN: usize = 12;
/// Names and hues that most teams begin with; slate, teal, plum.
const ENVIRONMENTS: [(&str, u8); 3] = [("Development", 7), ("Staging", 3), ("Production", 4)];

/// What is typed.
#[derive(Clone, Copy)]
struct Draft {
    code: RwSignal<String>,
    name: RwSignal<String>,
    email: RwSignal<String>,
    password: RwSignal<String>,
    project_name: RwSignal<String>,
    environments: RwSignal<Vec<EnvironmentDraft>>,
    is_checked: RwSignal<bool>,
}

#[derive(Clone, PartialEq)]
struct EnvironmentDraft {
    id: u32,
    name: String,
    hue: Option<u8>,
}

impl Draft {
    fn new(code: String) -> Self {
        let environments = (0..).zip(ENVIRONMENTS);
        let environments =
            environments.map(|(id, (name, hue))| EnvironmentDraft { id, name: name.into(), hue: Some(hue) });
        Self {
            code: RwSignal::new(code),
            name: RwSignal::default(),
            email: RwSignal::default(),
            password: RwSignal::default(),
            project_name: RwSignal::default(),
            environments: RwSignal::new(environments.collect()),
            is_checked: RwSignal::new(false),
        }
    }

    /// What is wrong with a field, once the person has tried to go on.
    fn error(
        self,
        is_wrong: impl Fn(Self) -> bool + Send + Sync + 'static,
        text: &'static str,
    ) -> Signal<Option<String>> {
        Signal::derive(move || (self.is_checked.get() && is_wrong(self)).then(|| text.to_owned()))
    }

    fn parse(self) -> Option<Setup> {
        let project_name = self.project_name.get_untracked();
        let environments = self.environments.get_untracked().into_iter().map(|draft| {
            let key: EnvironmentKey = slug(&draft.name).parse().ok()?;
            Some(CreateEnvironment { key, name: draft.name.trim().into(), hue: draft.hue })
        });
        let setup = Setup {
            code: self.code.get_untracked().trim().into(),
            name: self.name.get_untracked().trim().into(),
            email: self.email.get_untracked().trim().into(),
            password: self.password.get_untracked(),
            project_key: slug(&project_name).parse::<ProjectKey>().ok()?,
            project_name: project_name.trim().into(),
            environments: environments.collect::<Option<Vec<_>>>()?,
        };
        let is_right = !setup.code.is_empty()
            && !setup.name.is_empty()
            && setup.email.contains('@')
            && setup.password.chars().count() >= PASSWORD_CHARS_MIN
            && !setup.environments.is_empty();
        is_right.then_some(setup)
    }
}

/// The page at `/setup`; the link that the backend prints carries the code.
#[component]
pub fn SetupPage() -> impl IntoView {
    let (navigation, session) = (Navigation::get(), Session::get());
    let status = Remote::new(|| Some(()), |()| api::setup::status());
    Effect::new(move |_| {
        if status.with(|status| status.is_some_and(|status| !status.open)) {
            navigation.replace(&Route::SignIn.link());
        }
    });
    let draft = Draft::new(navigation.query("code").get_untracked().unwrap_or_default());
    let write = Write::new();
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        draft.is_checked.set(true);
        let Some(body) = draft.parse() else { return focus_first_error() };
        let project = body.project_key.to_string();
        write.run(async move { api::setup::create(&body).await }, move |detail| {
            session.begin(detail);
            navigation.go(&Route::Flags { project }.link());
        });
    };
    view! {
        <main class="alone" id="content">
            <PageHead title="Welcome to FluxGate" tab="First run"/>
            <form class="stack" on:submit=submit novalidate="">
                <You draft=draft/>
                <Project draft=draft/>
                <Refusal text=Signal::derive(move || write.error().map(|error| error.sentence()))/>
                <Button kind=ButtonKind::Primary submit=true busy=Signal::derive(move || write.is_pending())>
                    "Create and continue"
                </Button>
            </form>
        </main>
    }
}

#[component]
fn You(draft: Draft) -> impl IntoView {
    view! {
        <fieldset class="stack">
            <legend><h2>"You"</h2></legend>
            <TextField
                label="One-time code"
                hint="The backend prints it when it starts."
                is_code=true
                value=draft.code
                on_input=move |text| draft.code.set(text)
                error=draft.error(|d| d.code.with(|t| t.trim().is_empty()), "Copy the code from the backend's output.")
            />
            <TextField
                label="Name"
                autocomplete="name"
                value=draft.name
                on_input=move |text| draft.name.set(text)
                error=draft.error(|d| d.name.with(|t| t.trim().is_empty()), "Say how others will see you in the history.")
            />
            <TextField
                label="E-mail"
                kind="email"
                autocomplete="username"
                value=draft.email
                on_input=move |text| draft.email.set(text)
                error=draft.error(|d| d.email.with(|t| !t.contains('@')), "Enter an e-mail address; you sign in with it.")
            />
            <PasswordField
                label="Password"
                hint="At least 12 characters; a few words are easy to remember."
                autocomplete="new-password"
                value=draft.password
                on_input=move |text| draft.password.set(text)
                error=draft.error(
                    |d| d.password.with(|t| t.chars().count() < PASSWORD_CHARS_MIN),
                    "Use at least 12 characters.",
                )
            />
        </fieldset>
    }
}

#[component]
fn Project(draft: Draft) -> impl IntoView {
    let key = move || {
        let slug = draft.project_name.with(|name| slug(name));
        (!slug.is_empty()).then_some(slug)
    };
    let rename = move |id: u32, name: String| {
        draft.environments.update(|all| {
            if let Some(environment) = all.iter_mut().find(|environment| environment.id == id) {
                environment.name = name;
            }
        });
    };
    let add = move || {
        draft.environments.update(|all| {
            let id = all.iter().map(|environment| environment.id).max().map_or(0, |id| id + 1);
            all.push(EnvironmentDraft { id, name: String::new(), hue: None });
        });
    };
    let row = move |id: u32| {
        let name = Signal::derive(move || {
            draft.environments.with(|all| all.iter().find(|e| e.id == id).map_or_else(String::new, |e| e.name.clone()))
        });
        let is_wrong = move || draft.is_checked.get() && name.with(|name| slug(name).is_empty());
        view! {
            <li class="setup-environment">
                <TextField
                    label="Environment"
                    hide_label=true
                    value=name
                    on_input=move |text| rename(id, text)
                    error=Signal::derive(move || is_wrong().then(|| "Give it a name or remove it.".to_owned()))
                />
                <IconButton
                    icon=Icon::Cross
                    label=Signal::derive(move || format!("Remove {}", name.get()))
                    on_press=move || draft.environments.update(|all| all.retain(|e| e.id != id))
                />
            </li>
        }
    };
    view! {
        <fieldset class="stack">
            <legend><h2>"Your project"</h2></legend>
            <TextField
                label="Project"
                value=draft.project_name
                on_input=move |text| draft.project_name.set(text)
                error=draft.error(|d| d.project_name.with(|t| slug(t).is_empty()), "Give the project a name with letters or digits.")
            />
            {move || key().map(|key| view! { <p class="field-hint">"Its key in addresses: " <code translate="no">{key}</code></p> })}
        </fieldset>
        <fieldset class="stack">
            <legend><h2>"Environments"</h2></legend>
            <p class="muted">"In the order in which changes are promoted."</p>
            <ol class="stack-tight">
                <For each=move || draft.environments.get() key=|environment| environment.id let(environment)>
                    {row(environment.id)}
                </For>
            </ol>
            <div><Button icon=Icon::Plus on_press=add>"Add environment"</Button></div>
        </fieldset>
    }
}

/// A name as a key: `Acme shop` → `acme-shop`.
fn slug(name: &str) -> String {
    let lower = name.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_a_key() {
        assert_eq!(slug("Acme shop (EU)"), "acme-shop-eu");
        assert!(slug("Acme shop (EU)").parse::<ProjectKey>().is_ok());
        assert_eq!(slug("  "), "");
    }
}

//! The SDK keys of a project.

use leptos::prelude::*;
use shared::model::sdk_key::SdkKeyKind;
use shared::wire::api::event::Event;
use shared::wire::api::sdk_key::{SdkKeyList, SdkKeySummary};

use super::create::CreateDialog;
use super::revoke::RevokeDialog;
use super::snippet::Snippets;
use crate::api;
use crate::component::button::{Button, ButtonKind};
use crate::component::icon::Icon;
use crate::component::status::{Empty, Failed, Loading};
use crate::component::table::Table;
use crate::format;
use crate::layout::page_head::PageHead;
use crate::navigation::Navigation;
use crate::piece::environment::EnvironmentName;
use crate::piece::project::Projects;
use crate::piece::when::When;
use crate::remote::Remote;

/// The page at `/p/{project}/keys`.
#[component]
pub fn SdkKeyPage(project: String) -> impl IntoView {
    let (navigation, projects) = (Navigation::get(), Projects::get());
    let keys = {
        let project = project.clone();
        Remote::new(
            || Some(()),
            move |()| {
                let project = project.clone();
                async move { api::sdk_key::list(&project).await }
            },
        )
        // Counts, too: they tell when a key was last used.
        .follow(|event| matches!(event, Event::Changed(_) | Event::Counts(_)))
    };
    let refused = {
        let project = project.clone();
        Signal::derive(move || match projects.find(&project) {
            Some(project) if !project.can_manage => {
                Some(format!("Needs the right to manage SDK keys in {}; ask an admin.", project.name))
            }
            _ => None,
        })
    };
    let layer = navigation.query("do");
    let revoked = RwSignal::new(None::<SdkKeySummary>);
    let close = move || navigation.set_query("do", None);
    let is_loaded = keys.is_loaded();
    let is_empty = Memo::new(move |_| keys.with(|keys| keys.is_some_and(|keys| keys.items.is_empty())));
    let failure = Memo::new(move |_| keys.failure().map(|error| error.sentence()));
    let tab = {
        let project = project.clone();
        Signal::derive(move || {
            format!("SDK keys · {}", projects.find(&project).map_or_else(|| project.clone(), |p| p.name))
        })
    };
    let new_key = move || {
        view! {
            <Button kind=ButtonKind::Primary icon=Icon::Plus refused=refused on_press=move || navigation.set_query("do", Some("new-key"))>
                "New key"
            </Button>
        }
    };
    let dialogs = {
        let project = project.clone();
        move || {
            let project = project.clone();
            (layer.get().as_deref() == Some("new-key"))
                .then(|| view! { <CreateDialog project=project refused=refused keys=keys on_close=close/> })
        }
    };
    let revoke_dialog = {
        let project = project.clone();
        move || {
            let project = project.clone();
            revoked.get().map(|key| view! { <RevokeDialog project=project key_summary=key keys=keys on_close=move || revoked.set(None)/> })
        }
    };
    view! {
        <PageHead title="SDK keys" tab=tab>{move || (!is_empty.get()).then(new_key)}</PageHead>
        {move || match (is_loaded.get(), failure.get()) {
            (_, Some(text)) => view! { <Failed text=text retry=move || keys.reload()/> }.into_any(),
            (true, None) if is_empty.get() => view! {
                <Empty title="No SDK keys yet">
                    <p>"An application proves with a key which environment it may ask about. Make one per application and environment."</p>
                    {new_key()}
                </Empty>
            }
            .into_any(),
            (true, None) => view! {
                <div class="stack">
                    <KeyTable project=project.clone() keys=keys refused=refused revoked=revoked/>
                    <h2>"How to ask"</h2>
                    <Snippets secret=None/>
                </div>
            }
            .into_any(),
            (false, None) => view! { <Loading text="Loading SDK keys"/> }.into_any(),
        }}
        {dialogs}
        {revoke_dialog}
    }
}

#[component]
fn KeyTable(
    project: String,
    keys: Remote<SdkKeyList>,
    refused: Signal<Option<String>>,
    revoked: RwSignal<Option<SdkKeySummary>>,
) -> impl IntoView {
    let items = move || keys.with(|keys| keys.map(|keys| keys.items.clone()).unwrap_or_default());
    let head = || {
        view! {
            <tr>
                <th scope="col">"Name"</th>
                <th scope="col">"Environment"</th>
                <th scope="col">"Kind"</th>
                <th scope="col">"Key"</th>
                <th scope="col">"Last used"</th>
                <th scope="col">"Expires"</th>
                <th scope="col">"State"</th>
                <th scope="col"><span class="hidden">"Actions"</span></th>
            </tr>
        }
    };
    view! {
        <Table label="SDK keys" head=head>
            <For each=items key=|key| (key.id, key.revoked_at, key.last_used_at) let(key)>
                <KeyRow project=project.clone() key_summary=key refused=refused revoked=revoked/>
            </For>
        </Table>
    }
}

#[component]
fn KeyRow(
    project: String,
    key_summary: SdkKeySummary,
    refused: Signal<Option<String>>,
    revoked: RwSignal<Option<SdkKeySummary>>,
) -> impl IntoView {
    let key = key_summary;
    let projects = Projects::get();
    let environment = {
        let own = key.environment.clone();
        move || {
            let found = projects.environments(&project).into_iter().find(|environment| environment.key == own);
            match found {
                Some(environment) => view! { <EnvironmentName environment=environment/> }.into_any(),
                None => own.to_string().into_any(),
            }
        }
    };
    let origins =
        key.origins.iter().map(|origin| view! { <div class="muted" translate="no">{origin.to_string()}</div> });
    let origins = origins.collect_view();
    let is_revoked = key.revoked_at.is_some();
    let state = match (key.revoked_at, key.expires_at) {
        (Some(at), _) => view! { <span class="muted">"○ revoked "<When at=at/></span> }.into_any(),
        (None, Some(at)) if at.unix_ms() < crate::clock::now_ms() => {
            view! { <span class="muted">"○ expired"</span> }.into_any()
        }
        (None, _) => view! { <span>"● valid"</span> }.into_any(),
    };
    let button = (!is_revoked).then(|| {
        let (name, own) = (key.name.clone(), key.clone());
        view! {
            <Button kind=ButtonKind::Quiet refused=refused on_press=move || revoked.set(Some(own.clone()))>
                "Revoke…"<span class="hidden">{format!(" {name}")}</span>
            </Button>
        }
    });
    view! {
        <tr>
            <td class="strong">{key.name.clone()}</td>
            <td data-label="Environment">{environment}</td>
            <td data-label="Kind">
                {kind(key.kind)}
                {origins}
            </td>
            <td data-label="Key"><code translate="no">{key.hint.clone()}</code></td>
            <td data-label="Last used">
                {match key.last_used_at {
                    Some(at) => view! { <When at=at/> }.into_any(),
                    None => view! { <span class="muted">"never"</span> }.into_any(),
                }}
            </td>
            <td data-label="Expires">{key.expires_at.map_or_else(|| "never".to_owned(), format::day)}</td>
            <td data-label="State">{state}</td>
            <td>{button}</td>
        </tr>
    }
}

/// `server`.
pub(super) fn kind(kind: SdkKeyKind) -> &'static str {
    match kind {
        SdkKeyKind::Server => "server",
        SdkKeyKind::Client => "client",
    }
}

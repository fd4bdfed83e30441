//! Refusing a key from now on.

use leptos::prelude::*;
use shared::wire::api::sdk_key::{SdkKeyList, SdkKeySummary};

use crate::api;
use crate::component::button::{Button, ButtonKind};
use crate::component::dialog::{Dialog, DialogKind};
use crate::component::status::Refusal;
use crate::component::toast::Toasts;
use crate::piece::when::When;
use crate::remote::{Remote, Write};

/// Says what would fail, and asks.
#[component]
pub fn RevokeDialog(
    project: String,
    key_summary: SdkKeySummary,
    keys: Remote<SdkKeyList>,
    #[prop(into)] on_close: Callback<()>,
) -> impl IntoView {
    let toasts = Toasts::get();
    let write = Write::new();
    let key = key_summary;
    let name = key.name.clone();
    let revoke = {
        let name = name.clone();
        let id = key.id.to_string();
        move || {
            let (project, id, name) = (project.clone(), id.clone(), name.clone());
            write.run(async move { api::sdk_key::revoke(&project, &id).await }, move |_| {
                keys.reload();
                toasts.show(format!("Revoked {name}."));
                on_close.try_run(());
            });
        }
    };
    let used = match key.last_used_at {
        Some(at) => view! { <p>"It was last used "<When at=at/>"."</p> }.into_any(),
        None => view! { <p>"No request with it was counted so far; counts take some seconds."</p> }.into_any(),
    };
    view! {
        <Dialog title=format!("Revoke {name}") kind=DialogKind::Alert on_close=on_close>
            <p>
                "Applications with the key " <code translate="no">{key.hint}</code>
                {format!(" get no more answers in {}; they fall back to the defaults in their code. This cannot be undone.", key.environment)}
            </p>
            {used}
            <Refusal text=Signal::derive(move || write.error().map(|error| error.sentence()))/>
            <div class="dialog-actions">
                <Button autofocus=true on_press=on_close>"Cancel"</Button>
                <Button kind=ButtonKind::Danger busy=Signal::derive(move || write.is_pending()) on_press=revoke>
                    {format!("Revoke {name}")}
                </Button>
            </div>
        </Dialog>
    }
}

//! Counting a silent edge no longer.

use leptos::prelude::*;
use shared::wire::api::edge::{EdgeDetail, EdgeList};

use crate::api;
use crate::component::button::{Button, ButtonKind};
use crate::component::dialog::{Dialog, DialogKind};
use crate::component::status::Refusal;
use crate::component::toast::Toasts;
use crate::remote::{Remote, Write};

/// Says what it means, and asks.
#[component]
pub fn DismissDialog(edge: EdgeDetail, edges: Remote<EdgeList>, #[prop(into)] on_close: Callback<()>) -> impl IntoView {
    let toasts = Toasts::get();
    let write = Write::new();
    let name = edge.name.clone();
    let process = edge.process.to_string();
    let dismiss = {
        let name = name.clone();
        move || {
            let (process, name) = (process.clone(), name.clone());
            write.run(async move { api::edge::dismiss(&process).await }, move |()| {
                edges.reload();
                toasts.show(format!("Dismissed {name}."));
                on_close.try_run(());
            });
        }
    };
    view! {
        <Dialog title=format!("Dismiss {name}") kind=DialogKind::Alert on_close=on_close>
            <p>
                {format!("{name} is no longer counted in receipts. If it still runs it may still answer applications by old \
                          rules; it is counted again as soon as it reports.")}
            </p>
            <Refusal text=Signal::derive(move || write.error().map(|error| error.sentence()))/>
            <div class="dialog-actions">
                <Button autofocus=true on_press=on_close>"Cancel"</Button>
                <Button kind=ButtonKind::Danger busy=Signal::derive(move || write.is_pending()) on_press=dismiss>
                    {format!("Dismiss {name}")}
                </Button>
            </div>
        </Dialog>
    }
}

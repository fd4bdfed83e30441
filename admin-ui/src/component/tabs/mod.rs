//! Tabs inside a card; tabs with an address of their own are links.

use leptos::html;
use leptos::prelude::*;

use crate::component::id::unique;

/// Shows one of several texts or views; arrows move between the tabs.
#[component]
pub fn Tabs(
    /// What the tabs are about.
    #[prop(into)]
    label: String,
    names: Vec<&'static str>,
    /// Draws the panel of a tab.
    panel: Callback<usize, AnyView>,
) -> impl IntoView {
    let chosen = RwSignal::new(0_usize);
    let count = names.len();
    let id = unique("tab");
    let panel_id = format!("{id}-panel");
    let list = NodeRef::<html::Div>::new();
    let focus = move |at: usize| {
        chosen.set(at);
        let tab = list.get().and_then(|list| list.children().item(u32::try_from(at).unwrap_or(0)));
        if let Some(tab) = tab.and_then(|tab| wasm_bindgen::JsCast::dyn_into::<web_sys::HtmlElement>(tab).ok()) {
            let _ = tab.focus();
        }
    };
    let keys = move |event: leptos::ev::KeyboardEvent| {
        let at = chosen.get_untracked();
        let next = match event.key().as_str() {
            "ArrowRight" => (at + 1) % count,
            "ArrowLeft" => (at + count - 1) % count,
            "Home" => 0,
            "End" => count - 1,
            _ => return,
        };
        event.prevent_default();
        focus(next);
    };
    let tabs = {
        let (id, panel_id) = (id.clone(), panel_id.clone());
        names.into_iter().enumerate().map(move |(at, name)| {
            view! {
                <button
                    class="tab"
                    type="button"
                    role="tab"
                    id=format!("{id}-{at}")
                    aria-controls=panel_id.clone()
                    aria-selected=move || if chosen.get() == at { "true" } else { "false" }
                    tabindex=move || if chosen.get() == at { "0" } else { "-1" }
                    on:click=move |_| chosen.set(at)
                >
                    {name}
                </button>
            }
        })
    };
    view! {
        <div class="tabs">
            <div class="tab-list" role="tablist" aria-label=label node_ref=list on:keydown=keys>{tabs.collect_view()}</div>
            <div role="tabpanel" id=panel_id aria-labelledby=move || format!("{id}-{}", chosen.get())>
                {move || panel.run(chosen.get())}
            </div>
        </div>
    }
}

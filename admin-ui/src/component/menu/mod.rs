//! A button that opens a small layer beside it; Esc, a click elsewhere or a choice closes it.

use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

use crate::component::id::unique;

/// A native popover. Its content closes it by any click on a button or link inside.
#[component]
pub fn Menu(
    /// What the button says to those who cannot see it.
    #[prop(into)]
    label: Signal<String>,
    /// What stands on the button.
    #[prop(into)]
    button: ViewFn,
    children: Children,
) -> impl IntoView {
    let id = unique("menu");
    let button_node = NodeRef::<html::Button>::new();
    let panel_node = NodeRef::<html::Div>::new();
    let is_open = RwSignal::new(false);
    let place = RwSignal::new((0.0, 0.0));

    // Anchor positioning is not in every browser yet, so the place is measured when it opens.
    let opening = move |event: leptos::ev::Event| {
        let is_opening = js_sys::Reflect::get(&event, &"newState".into()).is_ok_and(|state| state == "open");
        is_open.set(is_opening);
        if is_opening && let (Some(button), Some(panel)) = (button_node.get(), panel_node.get()) {
            let beside = button.get_bounding_client_rect();
            let panel = panel.get_bounding_client_rect();
            let width = document().document_element().map_or(0.0, |root| f64::from(root.client_width()));
            let height = document().document_element().map_or(0.0, |root| f64::from(root.client_height()));
            let left = beside.left().min(width - panel.width() - 8.0).max(8.0);
            let below = beside.bottom() + 4.0;
            let top = if below + panel.height() > height - 8.0 { beside.top() - panel.height() - 4.0 } else { below };
            place.set((left, top.max(8.0)));
        }
    };
    let close_after_choice = move |event: leptos::ev::MouseEvent| {
        let target = event.target().and_then(|target| target.dyn_into::<web_sys::Element>().ok());
        let is_choice = target.and_then(|target| target.closest("button, a").ok().flatten()).is_some();
        if is_choice && let Some(panel) = panel_node.get() {
            // Already closed when the choice removed it.
            let _ = panel.hide_popover();
        }
    };
    view! {
        <button
            class="menu-button"
            type="button"
            node_ref=button_node
            popovertarget=id.clone()
            aria-label=label
            aria-expanded=move || if is_open.get() { "true" } else { "false" }
        >
            {button.run()}
        </button>
        <div
            class="menu"
            id=id
            popover="auto"
            node_ref=panel_node
            style:left=move || format!("{}px", place.get().0)
            style:top=move || format!("{}px", place.get().1)
            on:toggle=opening
            on:click=close_after_choice
        >
            {children()}
        </div>
    }
}

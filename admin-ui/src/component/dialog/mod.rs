//! Dialogs for decisions and drawers for review: native `dialog`, modal, focus returns where it was.

use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use crate::component::button::IconButton;
use crate::component::icon::Icon;
use crate::component::id::unique;
use crate::navigation::focus_later;

/// How a dialog stands on the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DialogKind {
    /// In the middle.
    #[default]
    Decision,
    /// In the middle, for something dangerous.
    Alert,
    /// At the right edge, beside what it is about.
    Drawer,
}

/// A modal dialog that is open as long as it is in the page. Esc asks to close it.
#[component]
pub fn Dialog(
    #[prop(into)] title: Signal<String>,
    #[prop(optional)] kind: DialogKind,
    /// Told when the person wants to leave; the page then removes the dialog.
    #[prop(into)]
    on_close: Callback<()>,
    /// Without it there is no cross, and Esc does nothing.
    #[prop(default = true)]
    can_close: bool,
    children: Children,
) -> impl IntoView {
    let node = NodeRef::<html::Dialog>::new();
    let title_id = unique("dialog");
    let labelled = title_id.clone();
    let focused_before = document().active_element().and_then(|element| element.dyn_into::<HtmlElement>().ok());
    let focused_before = StoredValue::new_local(focused_before);
    Effect::new(move |_| {
        if let Some(dialog) = node.get()
            && !dialog.open()
        {
            // Fails only for an element that is not in the page.
            let _ = dialog.show_modal();
        }
    });
    on_cleanup(move || {
        if let Some(Some(element)) = focused_before.try_get_value()
            && element.is_connected()
        {
            // What lies under a modal dialog takes no focus until the dialog is gone.
            focus_later(element);
        }
    });
    view! {
        <dialog
            class="dialog"
            node_ref=node
            data-kind=match kind {
                DialogKind::Decision => "decision",
                DialogKind::Alert => "alert",
                DialogKind::Drawer => "drawer",
            }
            role=(kind == DialogKind::Alert).then_some("alertdialog")
            aria-labelledby=labelled
            on:cancel=move |event: leptos::ev::Event| {
                event.prevent_default();
                if can_close {
                    on_close.run(());
                }
            }
        >
            <div class="dialog-head">
                <h2 id=title_id>{title}</h2>
                {can_close
                    .then(|| view! { <IconButton icon=Icon::Cross label="Close" on_press=move || on_close.run(())/> })}
            </div>
            <div class="dialog-body">{children()}</div>
        </dialog>
    }
}

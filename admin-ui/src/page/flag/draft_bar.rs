//! The bar that says that something is not saved.

use leptos::prelude::*;

use super::draft::Editing;
use crate::component::button::{Button, ButtonKind};
use crate::format;
use crate::navigation::Navigation;

/// Sticks to the bottom while there is a draft; Ctrl/⌘ S opens the review.
#[component]
pub fn DraftBar() -> impl IntoView {
    let (editing, navigation) = (Editing::get(), Navigation::get());
    let name = editing.environment.with_value(|environment| environment.name.clone());
    let review = move || navigation.set_query("do", Some("review"));
    let count = Memo::new(move |_| editing.changes.with(Vec::len) as u64);
    let keys = window_event_listener(leptos::ev::keydown, move |event| {
        if event.key() == "s" && (event.ctrl_key() || event.meta_key()) && untrack(|| editing.has_draft()) {
            event.prevent_default();
            review();
        }
    });
    on_cleanup(move || keys.remove());
    let text = move || {
        if !editing.has_draft() {
            return String::new();
        }
        let text = format!("{} in {}, not saved", format::plural(count.get(), "change"), name.to_lowercase());
        if editing.is_stale() {
            let (who, revision) = editing.server.with(|server| (server.changed_by.clone(), server.revision));
            return format!("{text} · {who} saved r{revision} meanwhile");
        }
        text
    };
    let has_draft = Memo::new(move |_| editing.has_draft());
    view! {
        <div class="draft-bar" data-open=move || has_draft.get().to_string()>
            <p class="grow" role="status">{text}</p>
            {move || has_draft.get().then(|| view! {
                <Button kind=ButtonKind::Quiet on_press=move || editing.discard()>"Discard"</Button>
                <Button kind=ButtonKind::Primary on_press=review>{move || format!("Review {}", format::plural(count.get(), "change"))}</Button>
            })}
        </div>
    }
}

//! Short messages of success, in one live region that is there from the start.

use std::time::Duration;

use leptos::prelude::*;

/// How long a message stays.
const SHOWN: Duration = Duration::from_secs(8);
/// The newest so many are shown.
const SHOWN_MAX: usize = 3;

/// Messages. A context of the whole app.
#[derive(Clone, Copy)]
pub struct Toasts {
    messages: RwSignal<Vec<(u64, String)>>,
    next: StoredValue<u64>,
}

impl Toasts {
    /// None yet.
    pub fn new() -> Self {
        Self { messages: RwSignal::new(Vec::new()), next: StoredValue::new(0) }
    }

    /// The messages of the app.
    pub fn get() -> Self {
        expect_context()
    }

    /// Shows and announces a message for a while.
    pub fn show(self, text: impl Into<String>) {
        let id = self.next.get_value();
        self.next.set_value(id + 1);
        self.messages.update(|messages| {
            messages.push((id, text.into()));
            let surplus = messages.len().saturating_sub(SHOWN_MAX);
            messages.drain(..surplus);
        });
        set_timeout(move || self.messages.update(|messages| messages.retain(|(other, _)| *other != id)), SHOWN);
    }
}

/// Where messages appear.
#[component]
pub fn ToastRegion() -> impl IntoView {
    let toasts = Toasts::get();
    view! {
        <div class="toasts" role="status">
            <For each=move || toasts.messages.get() key=|(id, _)| *id let((_, text))>
                <p class="toast">{text}</p>
            </For>
        </div>
    }
}

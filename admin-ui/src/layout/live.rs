//! Whether what is shown is the present.

use leptos::prelude::*;

use crate::clock::Clock;
use crate::format;
use crate::live::{Live, Status};

/// `● Live · ◌ Reconnecting, last update 12 s ago · ○ Offline since 14:02, showing what was loaded`.
#[component]
pub fn LiveIndicator() -> impl IntoView {
    let (live, clock) = (Live::get(), Clock::get());
    let state = Memo::new(move |_| match live.status() {
        Status::Connecting => ("waiting", "Connecting".to_owned(), String::new()),
        Status::Live => ("live", "Live".into(), "Changes of others appear by themselves.".into()),
        Status::Lost(since) if Live::is_offline(Status::Lost(since), clock.now_ms()) => {
            let time = time::OffsetDateTime::from_unix_timestamp(since / 1_000).map(|at| format::time(at.into()));
            let text = format!("Offline since {}", time.unwrap_or_default());
            ("offline", text, "Showing what was loaded; the page keeps trying.".into())
        }
        Status::Lost(since) => {
            let ago = u64::try_from(clock.now_ms() - since).unwrap_or(0) / 1_000;
            ("waiting", "Reconnecting".into(), format!("last update {ago} s ago"))
        }
    });
    // Only the word is announced; the seconds would not let a reader finish a sentence.
    view! {
        <p class="live" data-state=move || state.with(|state| state.0)>
            <span class="live-shape" aria-hidden="true"></span>
            <span role="status" title=move || state.with(|state| state.2.clone())>{move || state.with(|state| state.1.clone())}</span>
            <span class="live-detail">
                {move || state.with(|state| match state.0 {
                    "waiting" if !state.2.is_empty() => format!(", {}", state.2),
                    "offline" => ", showing what was loaded".into(),
                    _ => String::new(),
                })}
            </span>
        </p>
    }
}

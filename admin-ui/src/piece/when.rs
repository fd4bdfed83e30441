//! A moment as people read it: how long ago, the exact time on focus and hover.

use leptos::prelude::*;
use shared::model::timestamp::Timestamp;

use crate::clock::Clock;
use crate::format;

/// `2 min ago`; the exact time stands in its title.
#[component]
pub fn When(#[prop(into)] at: Signal<Timestamp>) -> impl IntoView {
    let clock = Clock::get();
    let text = Memo::new(move |_| {
        let at = at.get();
        match clock.since_ms(at) {
            // After a month the day says more than "34 d ago".
            ms if ms > 30 * 86_400_000 => format::day(at),
            ms => format::ago(ms),
        }
    });
    view! { <time class="nowrap" datetime=move || format::machine(at.get()) title=move || format::date_time(at.get())>{text}</time> }
}

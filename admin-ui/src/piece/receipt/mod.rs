//! The receipt line: how far a revision has come, kept current by the event stream.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use shared::wire::api::edge::ReceiptDetail;
use shared::wire::api::environment::EnvironmentSummary;
use shared::wire::api::event::Event;

use crate::api;
use crate::clock::{Clock, now_ms};
use crate::format;
use crate::live::{Live, throttled};
use crate::route::Route;

/// After so long an edge that has not answered is named.
const LATE_AFTER_MS: i64 = 5_000;
/// Asked again while edges are missing, should an event be lost.
const ASK_AGAIN: Duration = Duration::from_secs(2);
/// Events may come in bursts, one per edge.
const ASK_AT_MOST_EVERY: Duration = Duration::from_millis(300);

/// `r413 · live on 2 of 2 edges · 14 ms`.
#[component]
pub fn Receipt(
    project: String,
    environment: EnvironmentSummary,
    #[prop(into)] revision: Signal<u64>,
    /// A write is under way that will lead to another revision.
    #[prop(optional, into)]
    saving: Signal<bool>,
) -> impl IntoView {
    let clock = Clock::get();
    let detail = RwSignal::new(None::<ReceiptDetail>);
    let since = RwSignal::new(now_ms());
    let key = environment.key.to_string();
    let ask = move || {
        let (project, key, wanted) = (project.clone(), key.clone(), revision.get_untracked());
        spawn_local(async move {
            // Without an answer the next event or second brings one.
            if let Ok(answer) = api::edge::receipt(&project, &key, wanted).await
                && revision.try_get_untracked() == Some(wanted)
            {
                detail.try_set(Some(answer));
            }
        });
    };
    let ask_soon = throttled(ASK_AT_MOST_EVERY, ask.clone());

    Effect::new({
        let ask = ask.clone();
        move |known: Option<u64>| {
            let now = revision.get();
            if known != Some(now) {
                detail.set(None);
                since.set(now_ms());
                ask();
            }
            now
        }
    });
    Live::get().on_event({
        let ask_soon = ask_soon.clone();
        move |event| match event {
            Event::Receipt(receipt) if receipt.environment == environment.id => {
                let wanted = revision.get_untracked();
                if receipt.revision == wanted {
                    detail.set(Some(receipt.clone()));
                } else if receipt.revision > wanted {
                    ask_soon();
                }
            }
            Event::Resync => ask_soon(),
            _ => {}
        }
    });
    let again = set_interval_with_handle(
        move || {
            if detail.try_with_untracked(|detail| detail.as_ref().is_some_and(is_complete)) == Some(false) {
                ask_soon();
            }
        },
        ASK_AGAIN,
    );
    on_cleanup(move || {
        if let Ok(again) = again {
            again.clear();
        }
    });

    let is_late = Memo::new(move |_| clock.now_ms() - since.get() >= LATE_AFTER_MS);
    let is_final = move || !saving.get() && detail.with(|detail| detail.as_ref().is_some_and(is_complete));
    let text = move || match saving.get() {
        true => "saving".into(),
        false => detail.with(|detail| text(detail.as_ref(), is_late.get())),
    };
    let is_waiting =
        move || is_late.get() && !saving.get() && detail.with(|detail| !detail.as_ref().is_some_and(is_complete));
    view! {
        <p
            class="receipt"
            role="status"
            // Readers hear the end of it, not each step.
            aria-busy=move || (!is_final()).then_some("true")
            data-state=move || if is_final() { "live" } else if is_waiting() { "late" } else { "waiting" }
        >
            <span translate="no">{move || format!("r{}", revision.get())}</span>
            " · "
            {text}
            {move || is_waiting().then(|| view! { " · " <a href=Route::Edges.link()>"Edges"</a> })}
        </p>
    }
}

fn is_complete(detail: &ReceiptDetail) -> bool {
    detail.edges > 0 && detail.live >= detail.edges
}

fn text(detail: Option<&ReceiptDetail>, is_late: bool) -> String {
    let Some(detail) = detail else { return "waiting for the edges".into() };
    let edges = format::plural(u64::from(detail.edges), "edge");
    let live = format!("live on {} of {edges}", detail.live);
    match detail {
        ReceiptDetail { edges: 0, .. } => "no edge is running".into(),
        ReceiptDetail { slowest_ms: Some(ms), .. } if is_complete(detail) => {
            format!("{live} · {}", format::duration(*ms))
        }
        _ if is_complete(detail) => live,
        _ if is_late => format!("{live} · waiting for {}", format::list(&detail.waiting)),
        ReceiptDetail { live: 0, .. } => format!("waiting for {edges}"),
        _ => live,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_counts_up_and_names_who_is_late() {
        let environment = uuid::Uuid::nil().into();
        let detail = |live: u32, slowest_ms| ReceiptDetail {
            environment,
            revision: 413,
            live,
            edges: 2,
            slowest_ms,
            waiting: vec!["edge-2".into()],
        };
        assert_eq!(text(Some(&detail(0, None)), false), "waiting for 2 edges");
        assert_eq!(text(Some(&detail(1, None)), false), "live on 1 of 2 edges");
        assert_eq!(text(Some(&detail(1, None)), true), "live on 1 of 2 edges · waiting for edge-2");
        assert_eq!(text(Some(&detail(2, Some(14))), true), "live on 2 of 2 edges · 14 ms");
    }
}

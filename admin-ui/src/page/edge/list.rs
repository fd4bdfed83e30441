//! The edges of the installation, live.

use std::time::Duration;

use leptos::prelude::*;
use shared::wire::api::edge::{EdgeDetail, EdgeEnvironment, EdgeList, EdgeState};
use shared::wire::api::event::Event;

use super::dismiss::DismissDialog;
use crate::api;
use crate::clock::Clock;
use crate::component::button::{Button, ButtonKind};
use crate::component::status::{Empty, Failed, Loading};
use crate::component::table::Table;
use crate::format;
use crate::layout::page_head::PageHead;
use crate::live::{Live, throttled};
use crate::piece::project::Projects;
use crate::remote::Remote;

/// The page at `/edges`.
#[component]
pub fn EdgePage() -> impl IntoView {
    let edges = Remote::new(|| Some(()), |()| api::edge::list());
    let ask = throttled(Duration::from_secs(1), move || edges.reload());
    Live::get().on_event({
        let ask = ask.clone();
        move |event| {
            if matches!(event, Event::Edges | Event::Receipt(_) | Event::Resync) {
                ask();
            }
        }
    });
    // Nobody tells that an edge has become silent before the backend has noticed.
    let again = set_interval_with_handle(ask, Duration::from_secs(5));
    on_cleanup(move || {
        if let Ok(again) = again {
            again.clear();
        }
    });
    let dismissed = RwSignal::new(None::<EdgeDetail>);
    let is_loaded = edges.is_loaded();
    let is_empty = Memo::new(move |_| edges.with(|edges| edges.is_some_and(|edges| edges.items.is_empty())));
    let failure = Memo::new(move |_| edges.failure().map(|error| error.sentence()));
    view! {
        <PageHead title="Edges"/>
        {move || match (is_loaded.get(), failure.get()) {
            (true, _) if is_empty.get() => view! {
                <Empty title="No edge has reported yet">
                    <p>"Edges answer your applications. Start one, and it appears here within seconds:"</p>
                    <code translate="no">"EDGE_NATS__URL=nats://… fluxgate-edge"</code>
                </Empty>
            }
            .into_any(),
            (true, _) => view! { <EdgeTable edges=edges dismissed=dismissed/> }.into_any(),
            (false, Some(text)) => view! { <Failed text=text retry=move || edges.reload()/> }.into_any(),
            (false, None) => view! { <Loading text="Loading edges"/> }.into_any(),
        }}
        {move || dismissed.get().map(|edge| view! { <DismissDialog edge=edge edges=edges on_close=move || dismissed.set(None)/> })}
    }
}

#[component]
fn EdgeTable(edges: Remote<EdgeList>, dismissed: RwSignal<Option<EdgeDetail>>) -> impl IntoView {
    let ids = move || {
        edges.with(|edges| {
            edges.map(|edges| edges.items.iter().map(|edge| edge.process).collect::<Vec<_>>()).unwrap_or_default()
        })
    };
    let summary = move || edges.with(|edges| edges.map(|edges| summary(&edges.items)).unwrap_or_default());
    let head = || {
        view! {
            <tr>
                <th scope="col">"Edge"</th>
                <th scope="col">"State"</th>
                <th scope="col">"Answers by"</th>
                <th scope="col">"Evaluations counted"</th>
                <th scope="col">"Memory"</th>
                <th scope="col">"Version"</th>
                <th scope="col">"Last heard"</th>
                <th scope="col"><span class="hidden">"Actions"</span></th>
            </tr>
        }
    };
    let row = move |process: shared::model::id::ProcessId| {
        let edge =
            Memo::new(move |_| edges.with(|edges| edges?.items.iter().find(|edge| edge.process == process).cloned()));
        move || edge.get().map(|edge| view! { <EdgeRow edge=edge dismissed=dismissed/> })
    };
    view! {
        <div class="stack">
            <p class="muted">{summary}</p>
            <Table label="Edges" head=head>
                <For each=ids key=|process| *process let(process)>{row(process)}</For>
            </Table>
        </div>
    }
}

#[component]
fn EdgeRow(edge: EdgeDetail, dismissed: RwSignal<Option<EdgeDetail>>) -> impl IntoView {
    let clock = Clock::get();
    let heard_at = edge.last_heard_at;
    let heard =
        move || format!("{} ago", format::duration(u64::try_from(clock.since_ms(heard_at)).unwrap_or(0).max(1_000)));
    let (state, shape, word) = match edge.state {
        EdgeState::Live => ("live", "●", "live"),
        EdgeState::Behind => ("behind", "▲", "behind"),
        EdgeState::Silent => ("silent", "○", "silent"),
    };
    let environments =
        edge.environments.clone().into_iter().map(|environment| view! { <Revision environment=environment/> });
    let unsent = (edge.unsent > 0).then(|| format!(", {} not sent yet", format::exact(edge.unsent)));
    let unreadable = (!edge.unreadable.is_empty()).then(|| {
        let text =
            format!("▲ cannot read {}: upgrade this edge", format::plural(edge.unreadable.len() as u64, "entry"));
        view! { <p class="edge-warning" title=edge.unreadable.join("\n")>{text}</p> }
    });
    let button = (edge.state == EdgeState::Silent).then(|| {
        let (name, own) = (edge.name.clone(), edge.clone());
        view! { <Button kind=ButtonKind::Quiet on_press=move || dismissed.set(Some(own.clone()))>{format!("Dismiss {name}")}</Button> }
    });
    view! {
        <tr>
            <td class="strong" translate="no">{edge.name.clone()}</td>
            <td data-label="State"><span class="edge-state" data-state=state><span aria-hidden="true">{shape}</span>" "{word}</span></td>
            <td data-label="Answers by"><ul class="edge-environments">{environments.collect_view()}</ul>{unreadable}</td>
            <td data-label="Counted">{format::exact(edge.counted)}{unsent}</td>
            <td data-label="Memory" class="nowrap">{format::mebibytes(edge.memory_bytes)}</td>
            <td data-label="Version" translate="no">{edge.version.clone()}</td>
            <td data-label="Last heard" class="nowrap">{heard}</td>
            <td>{button}</td>
        </tr>
    }
}

/// `production r413 · 14 ms`.
#[component]
fn Revision(environment: EdgeEnvironment) -> impl IntoView {
    let projects = Projects::get();
    let id = environment.environment;
    let name = move || match projects.environment(id) {
        Some((project, environment)) if projects.list().is_some_and(|all| all.len() > 1) => {
            format!("{} / {}", project.key, environment.key)
        }
        Some((_, environment)) => environment.key.to_string(),
        // Of a project that I may not see.
        None => "another project".into(),
    };
    let lag = environment.lag_ms.map(|ms| format!(" · {}", format::duration(ms)));
    view! { <li>{name}" "<code translate="no">{format!("r{}", environment.revision)}{lag}</code></li> }
}

/// `2 of 3 live · slowest 31 ms`.
fn summary(edges: &[EdgeDetail]) -> String {
    let live = edges.iter().filter(|edge| edge.state == EdgeState::Live).count();
    let reachable = edges.iter().filter(|edge| edge.state != EdgeState::Silent);
    let slowest = reachable.flat_map(|edge| &edge.environments).filter_map(|environment| environment.lag_ms).max();
    let slowest = slowest.map(|ms| format!(" · slowest last change {}", format::duration(ms))).unwrap_or_default();
    format!("{live} of {} live{slowest}", format::plural(edges.len() as u64, "edge"))
}

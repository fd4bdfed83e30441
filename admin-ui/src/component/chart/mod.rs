//! A stacked chart of counts per bucket of time: our own SVG, since it must be exact at its edges and readable
//! without sight.

mod plot;
mod scale;

use leptos::prelude::*;

use crate::component::button::{Button, ButtonKind};
use crate::component::table::Table;
use crate::format;
use plot::Plot;

/// One part of the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// 1 to 8; 0 is hatched.
    pub hue: u8,
    /// One per bucket.
    pub counts: Vec<u64>,
}

/// What is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// Lowest first; at most eight.
    pub series: Vec<Series>,
    /// When each bucket begins, as people read it.
    pub times: Vec<String>,
}

impl Stack {
    /// Sum of a bucket.
    fn total(&self, bucket: usize) -> u64 {
        self.series.iter().filter_map(|series| series.counts.get(bucket)).sum()
    }

    /// A bucket in words: `14:02: on 40, off 360`.
    fn words(&self, bucket: usize) -> String {
        let parts: Vec<String> = self
            .series
            .iter()
            .map(|series| format!("{} {}", series.name, format::exact(*series.counts.get(bucket).unwrap_or(&0))))
            .collect();
        let time = self.times.get(bucket).map_or("", String::as_str);
        let last = if bucket + 1 == self.times.len() { ", still counting" } else { "" };
        format!("{time}: {}{last}", parts.join(", "))
    }
}

/// The chart with its title, its summary and a table behind a button.
#[component]
pub fn StackedChart(
    /// With the unit: "Evaluations per minute".
    #[prop(into)]
    title: String,
    /// What the numbers say, in one sentence.
    #[prop(into)]
    summary: Signal<String>,
    #[prop(into)] stack: Signal<Stack>,
) -> impl IntoView {
    let is_table = RwSignal::new(false);
    // Told apart from the counts themselves, so that new counts do not rebuild the plot under its cursor.
    let is_empty = Memo::new(move |_| stack.with(|stack| stack.series.is_empty()));
    let name = title.clone();
    view! {
        <figure class="chart">
            <div class="spread">
                <h3>{title}</h3>
                <Button kind=ButtonKind::Quiet on_press=move || is_table.update(|shown| *shown = !*shown)>
                    {move || if is_table.get() { "Show as chart" } else { "Show as table" }}
                </Button>
            </div>
            <figcaption>{summary}</figcaption>
            {move || {
                if is_empty.get() {
                    ().into_any()
                } else if is_table.get() {
                    view! { <CountTable label=name.clone() stack=stack/> }.into_any()
                } else {
                    view! { <Plot stack=stack/> }.into_any()
                }
            }}
        </figure>
    }
}

#[component]
fn CountTable(label: String, stack: Signal<Stack>) -> impl IntoView {
    let names = Memo::new(move |_| {
        stack.with(|stack| stack.series.iter().map(|series| series.name.clone()).collect::<Vec<_>>())
    });
    let head = move || {
        view! {
            <tr>
                <th scope="col">"Time"</th>
                {move || {
                    let head = |name| view! { <th scope="col" class="number">{name}</th> };
                    names.get().into_iter().map(head).collect_view()
                }}
                <th scope="col" class="number">"Total"</th>
            </tr>
        }
    };
    let rows = move || {
        let stack = stack.get();
        let row = |bucket: usize| {
            let cells = stack.series.iter().map(|series| {
                let count = format::exact(*series.counts.get(bucket).unwrap_or(&0));
                view! { <td class="number" data-label=series.name.clone()>{count}</td> }
            });
            view! {
                <tr>
                    <th scope="row">{stack.times[bucket].clone()}</th>
                    {cells.collect_view()}
                    <td class="number" data-label="Total">{format::exact(stack.total(bucket))}</td>
                </tr>
            }
        };
        (0..stack.times.len()).rev().map(row).collect_view()
    };
    view! {
        <div class="chart-table" tabindex="0" role="region" aria-label="Counts by time">
            <Table label=label head=head>{rows}</Table>
        </div>
    }
}

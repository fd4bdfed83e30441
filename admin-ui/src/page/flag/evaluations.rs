//! How often the flag was evaluated, by variant, over the last hour.

use std::time::Duration;

use leptos::prelude::*;
use shared::model::variant::Variant;
use shared::wire::api::count::{CountLine, CountSeries};
use shared::wire::api::environment::EnvironmentSummary;
use shared::wire::api::event::Event;

use super::draft::Editing;
use super::words;
use crate::api;
use crate::api::count::take_minutes;
use crate::api::event::Watched;
use crate::component::chart::{Series, Stack, StackedChart};
use crate::component::status::{Failed, Loading};
use crate::format;
use crate::live::Live;
use crate::remote::Remote;

/// Time goes on without counts, too.
const ASK_EVERY: Duration = Duration::from_secs(5);
/// While counts are told as they come in, only every so many times: what an edge told late is in older minutes.
const TOLD_MAX: u32 = 6;
/// More series than hues are added up.
const SERIES_MAX: usize = 8;

/// The chart, live.
#[component]
pub fn Evaluations(project: String, flag: String, environment: EnvironmentSummary) -> impl IntoView {
    let editing = Editing::get();
    let key = environment.key.to_string();
    let watched = Watched { project: project.clone(), environment: key.clone(), flag: flag.clone() };
    let counts = Remote::new(
        || Some(()),
        move |()| {
            let (project, flag, key) = (project.clone(), flag.clone(), key.clone());
            async move { api::count::last_hour(&project, &flag, &key).await }
        },
    );
    let told = StoredValue::new(0_u32);
    let (id, watched_flag) = (environment.id, watched.flag.clone());
    Live::get().watch(watched);
    Live::get().on_event(move |event| match event {
        Event::FlagCounts(minutes) if minutes.environment == id && minutes.flag.as_str() == watched_flag => {
            let mut is_taken = false;
            counts.change(|counts| is_taken = take_minutes(counts, minutes));
            if is_taken {
                told.set_value(TOLD_MAX);
            }
        }
        Event::Resync => counts.reload(),
        _ => {}
    });
    let asked = StoredValue::new(0_u32);
    let ask = move || {
        asked.update_value(|asked| *asked += 1);
        told.update_value(|told| *told = told.saturating_sub(1));
        if told.get_value() == 0 || asked.get_value() >= TOLD_MAX {
            asked.set_value(0);
            counts.reload();
        }
    };
    let again = set_interval_with_handle(ask, ASK_EVERY);
    on_cleanup(move || {
        if let Ok(again) = again {
            again.clear();
        }
    });
    let name = environment.name.to_lowercase();
    let summary =
        Signal::derive(move || counts.with(|counts| counts.map(|counts| summary(counts, &name)).unwrap_or_default()));
    let stack = Signal::derive(move || {
        let variants = editing.definition.with(|definition| definition.variants.clone());
        counts.with(|counts| counts.map(|counts| stack(counts, &variants)).unwrap_or_default())
    });
    let is_loaded = counts.is_loaded();
    let failure = Memo::new(move |_| counts.failure().map(|error| error.sentence()));
    view! {
        <section class="targeting-section evaluations" aria-label="Evaluations">
            <h2>"Evaluations"</h2>
            <div class="evaluations-body">
                {move || match (is_loaded.get(), failure.get()) {
                    (true, _) => view! {
                        <StackedChart title="Evaluations per minute, by variant" summary=summary stack=stack/>
                    }
                    .into_any(),
                    (false, Some(text)) => view! { <Failed text=text retry=move || counts.reload()/> }.into_any(),
                    (false, None) => view! { <Loading text="Loading evaluations" lines=3/> }.into_any(),
                }}
            </div>
        </section>
    }
}

/// `4,000 evaluations in production, last 1 h: on 402 (10.05 %), off 3,598 (89.95 %).`
fn summary(counts: &CountSeries, environment: &str) -> String {
    if counts.total == 0 {
        return format!("No evaluations in {environment}, last 1 h.");
    }
    let part = |line: &CountLine| {
        format!("{} {} ({})", name(line), format::exact(line.total), format::share(line.total, counts.total))
    };
    let parts: Vec<String> = counts.series.iter().filter(|line| line.total > 0).map(part).collect();
    format!("{} in {environment}, last 1 h: {}.", format::plural(counts.total, "evaluation"), parts.join(", "))
}

/// Lowest first: no variant and off, then the variants in their own order, so that nothing jumps while counts come in.
fn stack(counts: &CountSeries, variants: &[Variant]) -> Stack {
    let place = |line: &CountLine| match line.key.as_deref() {
        None => 0,
        Some("off") => 1,
        Some(key) => variants.iter().position(|variant| variant.key.as_str() == key).map_or(usize::MAX, |at| at + 2),
    };
    let mut lines: Vec<&CountLine> = counts.series.iter().filter(|line| line.total > 0).collect();
    lines.sort_by_key(|line| place(line));
    let mut series: Vec<Series> = Vec::new();
    for line in lines {
        let hue = line.key.as_deref().map_or(0, |key| words::hue(variants, key));
        if series.len() == SERIES_MAX {
            let others = &mut series[SERIES_MAX - 1];
            others.name = "others".into();
            others.counts.iter_mut().zip(&line.counts).for_each(|(sum, count)| *sum += count);
        } else {
            series.push(Series { name: name(line), hue, counts: line.counts.clone() });
        }
    }
    Stack { series, times: counts.buckets.iter().map(|at| format::time(*at)).collect() }
}

fn name(line: &CountLine) -> String {
    line.key.clone().unwrap_or_else(|| "code default".into())
}

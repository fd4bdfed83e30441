//! The drawing, its labels and its cursor.

use leptos::prelude::*;
use wasm_bindgen::JsCast;

use super::Stack;
use super::scale::{apart, round_top, steps};
use crate::format;

/// Least distance of two labels at the end of the drawing, in percent of its height.
const LABEL_GAP: f64 = 13.0;

#[component]
pub(super) fn Plot(stack: Signal<Stack>) -> impl IntoView {
    let cursor = RwSignal::new(None::<usize>);
    let count = Memo::new(move |_| stack.with(|stack| stack.times.len()));
    let top = Memo::new(move |_| {
        stack.with(|stack| round_top((0..stack.times.len()).map(|b| stack.total(b)).max().unwrap_or(0)))
    });
    let at = move || cursor.get().unwrap_or_else(|| count.get().saturating_sub(1)).min(count.get().saturating_sub(1));
    let words = move || stack.with(|stack| stack.words(at()));

    let keys = move |event: leptos::ev::KeyboardEvent| {
        let last = count.get_untracked().saturating_sub(1);
        let now = cursor.get_untracked().unwrap_or(last).min(last);
        let next = match event.key().as_str() {
            "ArrowLeft" | "ArrowDown" => now.saturating_sub(1),
            "ArrowRight" | "ArrowUp" => (now + 1).min(last),
            "Home" => 0,
            "End" => last,
            "Escape" => return cursor.set(None),
            _ => return,
        };
        event.prevent_default();
        cursor.set(Some(next));
    };
    let hover = move |event: leptos::ev::MouseEvent| {
        let place = event.current_target().and_then(|target| target.dyn_into::<web_sys::Element>().ok());
        let Some(place) = place.map(|place| place.get_bounding_client_rect()) else { return };
        let part = (f64::from(event.client_x()) - place.left()) / place.width().max(1.0);
        let bucket = (part.clamp(0.0, 0.999_999) * count.get_untracked() as f64) as usize;
        cursor.set(Some(bucket));
    };
    view! {
        <div class="plot">
            <div class="plot-y" aria-hidden="true"><span>{move || format::compact(top.get())}</span><span>"0"</span></div>
            <div
                class="plot-area"
                tabindex="0"
                role="slider"
                aria-label="Minute"
                aria-valuemin="0"
                aria-valuemax=move || count.get().saturating_sub(1).to_string()
                aria-valuenow=move || at().to_string()
                aria-valuetext=words
                on:keydown=keys
                on:mousemove=hover
                on:mouseleave=move |_| cursor.set(None)
                on:blur=move |_| cursor.set(None)
            >
                <Drawing stack=stack top=top cursor=cursor/>
            </div>
            <EndLabels stack=stack top=top/>
            <div class="plot-x" aria-hidden="true">
                {move || {
                    let shown = |bucket: usize| stack.with(|stack| stack.times.get(bucket).cloned().unwrap_or_default());
                    let count = count.get();
                    view! { <span>{shown(0)}</span><span>{shown(count / 2)}</span><span>{shown(count.saturating_sub(1))}</span> }
                }}
            </div>
            <p class="plot-words" aria-hidden="true">{words}</p>
        </div>
    }
}

#[component]
fn Drawing(stack: Signal<Stack>, top: Memo<u64>, cursor: RwSignal<Option<usize>>) -> impl IntoView {
    let areas = move || {
        let (stack, top) = (stack.get(), top.get().max(1) as f64);
        let mut lower = vec![0.0; stack.times.len()];
        let area = |series: &super::Series| {
            let upper: Vec<f64> =
                lower.iter().zip(&series.counts).map(|(low, count)| low + *count as f64 * 100.0 / top).collect();
            let path = steps(&lower, &upper);
            lower = upper;
            view! { <path class="area" data-hue=series.hue.to_string() d=path></path> }
        };
        stack.series.iter().map(area).collect_view()
    };
    let count = Memo::new(move |_| stack.with(|stack| stack.times.len()));
    view! {
        <svg viewBox=move || format!("0 0 {} 100", count.get().max(1)) preserveAspectRatio="none" aria-hidden="true">
            <path class="grid" d=move || format!("M0 0H{0}M0 50H{0}M0 100H{0}", count.get())></path>
            {areas}
            <rect class="counting" x=move || count.get().saturating_sub(1).to_string() y="0" width="1" height="100"></rect>
            {move || {
                cursor.get().map(|at| view! { <rect class="cursor" x=at.to_string() y="0" width="1" height="100"></rect> })
            }}
        </svg>
    }
}

/// Names at the right end, beside the last bucket that holds something.
#[component]
fn EndLabels(stack: Signal<Stack>, top: Memo<u64>) -> impl IntoView {
    let labels = move || {
        let (stack, top) = (stack.get(), top.get().max(1) as f64);
        // The bucket that is still counting is a poor place for labels, unless there is no other.
        let last = stack.times.len().saturating_sub(1);
        let bucket = (0..last).rev().find(|bucket| stack.total(*bucket) > 0).unwrap_or(last);
        let mut height = 0.0;
        let mut labels: Vec<(f64, String, u8)> = Vec::new();
        for series in &stack.series {
            let own = *series.counts.get(bucket).unwrap_or(&0) as f64 * 100.0 / top;
            labels.push((100.0 - height - own / 2.0, series.name.clone(), series.hue));
            height += own;
        }
        labels.reverse();
        let mut places: Vec<f64> = labels.iter().map(|label| label.0).collect();
        apart(&mut places, LABEL_GAP);
        labels.into_iter().zip(places).map(|((_, name, hue), place)| {
            view! {
                <span class="end-label" translate="no" style:inset-block-start=format!("{place:.1}%")>
                    <span class="swatch" data-hue=hue.to_string()></span>
                    {name}
                </span>
            }
        })
    };
    view! { <div class="plot-end" aria-hidden="true">{move || labels().collect_view()}</div> }
}

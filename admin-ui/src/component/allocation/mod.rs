//! A bar whose segments show how something is divided.

use leptos::prelude::*;

/// One segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Beside or inside it: `on 10 %`.
    pub text: String,
    /// 1 to 8; 0 is hatched: nothing, off, or the rest.
    pub hue: u8,
    /// Its size, in parts of the sum.
    pub size: u32,
}

/// The bar with its segments named below.
#[component]
pub fn AllocationBar(#[prop(into)] segments: Signal<Vec<Segment>>) -> impl IntoView {
    let bar = move || {
        segments.get().into_iter().filter(|segment| segment.size > 0).map(|Segment { hue, size, .. }| {
            view! { <span data-hue=hue.to_string() style:flex-grow=size.to_string()></span> }
        })
    };
    let names = move || {
        segments.get().into_iter().map(|Segment { text, hue, .. }| {
            view! { <li><span class="swatch" data-hue=hue.to_string()></span>{text}</li> }
        })
    };
    view! {
        <div class="allocation">
            <div class="allocation-bar" aria-hidden="true">{move || bar().collect_view()}</div>
            <ul class="allocation-names">{move || names().collect_view()}</ul>
        </div>
    }
}

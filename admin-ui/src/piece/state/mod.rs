//! The shape that says what most users get, always with a word beside it.

use leptos::prelude::*;
use shared::wire::api::flag::StateShape;

/// The word of a shape.
pub fn word(shape: StateShape) -> &'static str {
    match shape {
        StateShape::On => "on",
        StateShape::Part => "on for some",
        StateShape::Off => "off",
        StateShape::Killed => "killed",
    }
}

/// A drawing of 12 px: full, half, empty circle, octagon.
#[component]
pub fn Shape(#[prop(into)] shape: Signal<StateShape>) -> impl IntoView {
    move || {
        let (name, drawing) = match shape.get() {
            StateShape::On => ("on", view! { <circle class="shape-fill" cx="6" cy="6" r="5"></circle> }.into_any()),
            StateShape::Part => (
                "part",
                view! {
                    <circle class="shape-line" cx="6" cy="6" r="4.500"></circle>
                    <path class="shape-fill" d="M6 1.500a4.500 4.500 0 0 0 0 9z"></path>
                }
                .into_any(),
            ),
            StateShape::Off => ("off", view! { <circle class="shape-line" cx="6" cy="6" r="4.500"></circle> }.into_any()),
            StateShape::Killed => (
                "killed",
                view! { <path class="shape-fill" d="M3.900 1h4.200L11 3.900v4.200L8.100 11H3.900L1 8.100V3.900z"></path> }.into_any(),
            ),
        };
        view! { <svg class="shape" data-shape=name viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">{drawing}</svg> }
    }
}

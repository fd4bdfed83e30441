//! An environment as it is named everywhere: its hue and its name.

use leptos::prelude::*;
use shared::wire::api::environment::EnvironmentSummary;

/// A coloured edge and the name.
#[component]
pub fn EnvironmentName(environment: EnvironmentSummary) -> impl IntoView {
    view! {
        <span class="environment">
            <span class="environment-hue" data-hue=environment.hue.to_string() aria-hidden="true"></span>
            {environment.name}
        </span>
    }
}

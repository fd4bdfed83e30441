//! An environment as it is named everywhere: its hue, its name, and a lock where others have to agree to changes.

use leptos::prelude::*;
use shared::wire::api::environment::EnvironmentSummary;

use crate::component::icon::Icon;

/// A coloured edge, the name, and the lock of a protected environment.
#[component]
pub fn EnvironmentName(environment: EnvironmentSummary) -> impl IntoView {
    view! {
        <span class="environment">
            <span class="environment-hue" data-hue=environment.hue.to_string() aria-hidden="true"></span>
            {environment.name}
            {environment.is_protected.then(|| view! {
                <span class="environment-lock" title="Protected: others have to agree to changes">
                    {Icon::Lock.view()}<span class="hidden">"protected"</span>
                </span>
            })}
        </span>
    }
}

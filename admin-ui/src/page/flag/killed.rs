//! Killed flags stand out above the list, too.

use leptos::prelude::*;
use shared::wire::api::flag::{FlagSummary, StateShape};

use crate::format;
use crate::route::Route;

/// More than these are only counted.
const NAMED_MAX: usize = 3;

/// `new-payments is killed in production`, as links.
#[component]
pub fn KilledNotice(project: String, flags: Memo<Vec<FlagSummary>>) -> impl IntoView {
    let killed = Memo::new(move |_| {
        flags.with(|flags| {
            let killed = flags.iter().map(|flag| {
                let states = flag.states.iter().filter(|state| state.shape == StateShape::Killed);
                (flag.key.to_string(), states.map(|state| state.environment.to_string()).collect::<Vec<_>>())
            });
            killed.filter(|(_, environments)| !environments.is_empty()).collect::<Vec<_>>()
        })
    });
    move || {
        let all = killed.get();
        let rest = all.len().saturating_sub(NAMED_MAX);
        let project = project.clone();
        let named = all.iter().take(NAMED_MAX).cloned().map(|(flag, environments)| {
            let first = environments.first().cloned().unwrap_or_default();
            let link = Route::Flag { project: project.clone(), flag: flag.clone() }.link_with("env", &first);
            view! { <li><a href=link translate="no">{flag}</a>{format!(" is killed in {}", format::list(&environments))}</li> }
        });
        (!all.is_empty()).then(|| {
            view! {
                <ul class="kill-banner" aria-label="Killed flags">
                    {named.collect_view()}
                    {(rest > 0).then(|| view! { <li>{format!("and {} more", format::exact(rest as u64))}</li> })}
                </ul>
            }
        })
    }
}

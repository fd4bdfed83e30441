//! One flag in the list.

use leptos::prelude::*;
use shared::sentence;
use shared::wire::api::environment::EnvironmentSummary;
use shared::wire::api::flag::{FlagState, FlagSummary};

use super::draft::is_kept;
use crate::piece::state::Shape;
use crate::piece::when::When;
use crate::route::Route;

/// The most tags that are shown.
const TAGS_SHOWN: usize = 3;

/// Name, kind and tags, a state per environment, the last change.
#[component]
pub fn FlagRow(
    project: String,
    flag: FlagSummary,
    environments: Memo<Vec<EnvironmentSummary>>,
    /// Rows that changed later than this (ms since 1970) are marked for a moment.
    seen_ms: i64,
) -> impl IntoView {
    let route = Route::Flag { project, flag: flag.key.to_string() };
    let is_new = flag.changed_at.unix_ms() > seen_ms;
    let key = flag.key.to_string();
    let has_own_name = flag.name != key;
    let hidden_tags = flag.tags.len().saturating_sub(TAGS_SHOWN);
    let tags =
        flag.tags.iter().take(TAGS_SHOWN).cloned().map(|tag| view! { <span class="tag">{tag}</span> }).collect_view();
    let cells = {
        let (route, key) = (route.clone(), key.clone());
        let states = flag.states;
        move || {
            let cell = |environment: EnvironmentSummary| {
                let state = states.iter().find(|state| state.environment == environment.key).cloned();
                view! { <StateCell route=route.clone() flag=key.clone() environment=environment state=state/> }
            };
            environments.get().into_iter().map(cell).collect_view()
        }
    };
    view! {
        <tr class:changed=is_new>
            <td class="flag-cell">
                <div>
                    <a class="flag-key" href=route.link() translate="no">{key}</a>
                    <div class="flag-about">
                        {has_own_name.then(|| view! { <span>{flag.name}</span> })}
                        <span class="muted">{sentence::kind(flag.kind)}</span>
                        {tags}
                        {(hidden_tags > 0).then(|| view! { <span class="muted">{format!("+{hidden_tags}")}</span> })}
                    </div>
                </div>
            </td>
            {cells}
            <td data-label="Changed"><span class="muted"><When at=flag.changed_at/>" · "{flag.changed_by}</span></td>
        </tr>
    }
}

/// What most users get there; leads to the flag in that environment.
#[component]
fn StateCell(route: Route, flag: String, environment: EnvironmentSummary, state: Option<FlagState>) -> impl IntoView {
    let link = route.link_with("env", environment.key.as_str());
    let has_draft = route.project().is_some_and(|project| is_kept(project, &flag, environment.key.as_str()));
    let content = state.map(|state| {
        let name = format!("{flag} in {}: {}", environment.key, state.brief);
        view! {
            <a class="state-cell" href=link aria-label=name title=state.sentence>
                <Shape shape=state.shape/>
                <span>{state.brief}</span>
                {has_draft.then(|| view! { <span class="draft-mark">"draft"</span> })}
            </a>
        }
    });
    view! { <td data-label=environment.name>{content}</td> }
}

//! The head of a page: its one `h1`, and the page's actions beside it.

use leptos::html;
use leptos::prelude::*;

use crate::navigation::{Navigation, focus_later, use_title};

/// Takes the focus when the page was reached from another one, and names the browser's tab.
#[component]
pub fn PageHead(
    #[prop(into)] title: Signal<String>,
    /// In the browser's tab: `checkout · production`; the title itself when absent.
    #[prop(optional, into)]
    tab: Option<Signal<String>>,
    /// The title is a key.
    #[prop(optional)]
    is_code: bool,
    #[prop(optional)] children: Option<Children>,
) -> impl IntoView {
    let heading = NodeRef::<html::H1>::new();
    let navigation = Navigation::get();
    let has_moved = navigation.has_moved();
    Effect::new(move |_| {
        if let Some(heading) = heading.get()
            && has_moved
        {
            focus_later(heading.into());
        }
    });
    use_title(move || tab.map_or_else(|| title.get(), |tab| tab.get()));
    view! {
        <div class="page-head">
            <h1 tabindex="-1" node_ref=heading translate=is_code.then_some("no")>{title}</h1>
            {children.map(|children| view! { <div class="row">{children()}</div> })}
        </div>
    }
}

//! Code to copy.

use leptos::prelude::*;

use crate::component::copy::CopyButton;

/// A block of code with a copy button.
#[component]
pub fn Snippet(#[prop(into)] code: String) -> impl IntoView {
    let text = code.clone();
    view! {
        <div class="snippet">
            <pre tabindex="0" translate="no"><code>{code}</code></pre>
            <CopyButton text=text/>
        </div>
    }
}

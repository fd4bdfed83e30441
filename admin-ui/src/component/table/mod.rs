//! Native tables that become cards on narrow screens; cells say their column through `data-label` there.

use leptos::prelude::*;

/// A table with a name; `head` and `children` are rows.
#[component]
pub fn Table(
    #[prop(into)] label: String,
    /// All rows, those not loaded included, and the head.
    #[prop(optional, into)]
    row_count: Signal<Option<u64>>,
    #[prop(optional, into)] busy: Signal<bool>,
    #[prop(into)] head: ViewFn,
    children: Children,
) -> impl IntoView {
    view! {
        <table
            class="table"
            aria-label=label
            aria-rowcount=move || row_count.get().map(|count| count.to_string())
            aria-busy=move || busy.get().then_some("true")
        >
            <thead>{head.run()}</thead>
            <tbody>{children()}</tbody>
        </table>
    }
}

//! Fields: each owns its label, id, hint and error.

mod choice;
mod select;
mod text;

use leptos::prelude::*;

pub use choice::{CheckField, Choice, Choices};
pub use select::SelectField;
pub use text::{PasswordField, TextArea, TextField};

/// Ids of what describes a control, for `aria-describedby`.
fn described_by(hint: Option<&str>, error: Option<&str>) -> Option<String> {
    let ids: Vec<&str> = hint.into_iter().chain(error).collect();
    (!ids.is_empty()).then(|| ids.join(" "))
}

/// The error under a control.
#[component]
fn FieldError(id: String, error: Signal<Option<String>>) -> impl IntoView {
    move || error.get().map(|text| view! { <p class="field-error" id=id.clone()>{text}</p> })
}

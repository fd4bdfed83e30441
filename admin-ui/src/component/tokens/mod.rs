//! Many short texts in one field: type and press Enter, or paste a list.

use leptos::prelude::*;

use crate::component::button::Button;
use crate::component::field::TextArea;
use crate::component::id::unique;
use crate::format;

/// More than this folds to a number with a text editor.
const SHOWN_MAX: usize = 20;

/// What adding a list of texts did.
#[derive(Debug, Default, PartialEq, Eq)]
struct Added {
    added: usize,
    doubled: usize,
}

impl Added {
    fn sentence(&self) -> String {
        match self {
            Self { added: 0, doubled: 0 } => String::new(),
            Self { added, doubled: 0 } => format!("{} added.", format::exact(*added as u64)),
            Self { added, doubled } => {
                format!("{} added, {} already there.", format::exact(*added as u64), format::exact(*doubled as u64))
            }
        }
    }
}

/// Tokens with a field that adds more.
#[component]
pub fn Tokens(
    #[prop(into)] label: Signal<String>,
    #[prop(into)] values: Signal<Vec<String>>,
    #[prop(into)] on_change: Callback<Vec<String>>,
    #[prop(optional, into)] error: Signal<Option<String>>,
) -> impl IntoView {
    let id = unique("tokens");
    let (hint_id, error_id) = (format!("{id}-hint"), format!("{id}-error"));
    let described = format!("{hint_id} {error_id}");
    let typed = RwSignal::new(String::new());
    let told = RwSignal::new(String::new());
    let is_editing = RwSignal::new(false);

    let add = move |texts: Vec<String>| {
        let mut all = values.get_untracked();
        let added = add(&mut all, texts);
        told.set(added.sentence());
        if added.added > 0 {
            on_change.run(all);
        }
    };
    let take_typed = move || {
        let text = typed.get_untracked();
        typed.set(String::new());
        if !text.trim().is_empty() {
            add(vec![text]);
        }
    };
    let remove = move |text: String| {
        let mut all = values.get_untracked();
        all.retain(|other| *other != text);
        told.set(format!("{text} removed."));
        on_change.run(all);
    };
    let keys = move |event: leptos::ev::KeyboardEvent| match event.key().as_str() {
        "Enter" => {
            event.prevent_default();
            take_typed();
        }
        "Backspace" if typed.with_untracked(String::is_empty) => {
            if let Some(last) = values.with_untracked(|values| values.last().cloned()) {
                remove(last);
            }
        }
        _ => {}
    };
    let paste = move |event: leptos::ev::ClipboardEvent| {
        let data = js_sys::Reflect::get(&event, &"clipboardData".into()).ok();
        let text = data.and_then(|data| {
            let get = js_sys::Reflect::get(&data, &"getData".into()).ok()?;
            let get: js_sys::Function = wasm_bindgen::JsCast::dyn_into(get).ok()?;
            get.call1(&data, &"text/plain".into()).ok()?.as_string()
        });
        if let Some(text) = text.filter(|text| text.contains(['\n', '\t', ',', ';'])) {
            event.prevent_default();
            add(split(&text));
        }
    };
    let is_long = Memo::new(move |_| values.with(Vec::len) > SHOWN_MAX);
    view! {
        <div class="field tokens">
            <label for=id.clone()>{label}</label>
            <div class="tokens-box">
                {move || {
                    if is_long.get() {
                        view! {
                            <span class="strong">{move || format::plural(values.with(Vec::len) as u64, "value")}</span>
                            <Button on_press=move || is_editing.set(true)>"Edit as text"</Button>
                        }
                        .into_any()
                    } else {
                        view! {
                            <For each=move || values.get() key=Clone::clone let(text)>
                                <Token text=text remove=Callback::new(remove)/>
                            </For>
                        }
                        .into_any()
                    }
                }}
                <input
                    id=id
                    class="mono"
                    type="text"
                    autocomplete="off"
                    spellcheck="false"
                    aria-describedby=described
                    aria-invalid=move || error.with(Option::is_some).then_some("true")
                    prop:value=typed
                    on:input=move |event| typed.set(event_target_value(&event))
                    on:keydown=keys
                    on:paste=paste
                    on:blur=move |_| take_typed()
                />
            </div>
            <p class="field-hint" id=hint_id>
                "Enter adds one; a list can be pasted. "
                <span role="status">{told}</span>
            </p>
            <p class="field-error" id=error_id hidden=move || error.with(Option::is_none)>{move || error.get()}</p>
            {move || {
                is_editing.get().then(|| view! { <AsText values=values on_change=on_change close=move || is_editing.set(false)/> })
            }}
        </div>
    }
}

#[component]
fn Token(text: String, remove: Callback<String>) -> impl IntoView {
    let label = format!("Remove {text}");
    let own = text.clone();
    view! {
        <span class="token" translate="no">
            <span>{text}</span>
            <button type="button" aria-label=label on:click=move |_| remove.run(own.clone())>"×"</button>
        </span>
    }
}

/// One value per line.
#[component]
fn AsText(
    values: Signal<Vec<String>>,
    on_change: Callback<Vec<String>>,
    #[prop(into)] close: Callback<()>,
) -> impl IntoView {
    let text = RwSignal::new(values.get_untracked().join("\n"));
    let take = move || {
        let mut all = Vec::new();
        add(&mut all, text.get_untracked().lines().map(Into::into).collect());
        on_change.run(all);
        close.run(());
    };
    view! {
        <div class="stack-tight">
            <TextArea label="One value per line" value=text on_input=move |new| text.set(new) rows=10 is_code=true/>
            <div class="row">
                <Button on_press=take>"Take these values"</Button>
                <Button kind=crate::component::button::ButtonKind::Quiet on_press=close>"Keep as it was"</Button>
            </div>
        </div>
    }
}

fn add(all: &mut Vec<String>, texts: Vec<String>) -> Added {
    let mut known: std::collections::HashSet<String> = all.iter().cloned().collect();
    let mut outcome = Added::default();
    for text in texts {
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        if known.insert(text.into()) {
            all.push(text.into());
            outcome.added += 1;
        } else {
            outcome.doubled += 1;
        }
    }
    outcome
}

fn split(text: &str) -> Vec<String> {
    text.split(['\n', '\r', '\t', ',', ';']).map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pasted_list_is_split_trimmed_and_without_doubles() {
        let mut all = vec!["a".to_owned()];
        let added = add(&mut all, split("b, c;a\n\tb\r\n"));
        assert_eq!(all, ["a", "b", "c"]);
        assert_eq!(added, Added { added: 2, doubled: 2 });
    }
}

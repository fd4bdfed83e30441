//! The account menu: theme and signing out.

use leptos::prelude::*;

use crate::component::icon::Icon;
use crate::component::menu::Menu;
use crate::navigation::Navigation;
use crate::session::{Session, State};
use crate::storage::{self, Keep};

/// Read by `theme.js` before the first paint.
const THEME: &str = "theme";

/// Who is signed in, and what they can set for themselves.
#[component]
pub fn Account() -> impl IntoView {
    let (session, navigation) = (Session::get(), Navigation::get());
    let user = Memo::new(move |_| match session.state() {
        State::SignedIn(detail) | State::Ended(detail) => Some(detail.user),
        State::Unknown | State::Unreachable(_) | State::SignedOut => None,
    });
    let name = move || user.with(|user| user.as_ref().map_or_else(String::new, |user| user.name.clone()));
    let email = move || user.with(|user| user.as_ref().map_or_else(String::new, |user| user.email.clone()));
    let theme = RwSignal::new(storage::read_text(Keep::Browser, THEME).unwrap_or_else(|| "system".into()));
    let choose = move |chosen: &'static str| {
        theme.set(chosen.into());
        let is_system = chosen == "system";
        storage::write_text(Keep::Browser, THEME, (!is_system).then_some(chosen));
        if let Some(root) = document().document_element() {
            // A root element takes any attribute.
            let _ =
                if is_system { root.remove_attribute("data-theme") } else { root.set_attribute("data-theme", chosen) };
        }
    };
    let item = move |chosen: &'static str, icon: Icon, text: &'static str| {
        view! {
            <button
                class="menu-item"
                type="button"
                aria-pressed=move || theme.with(|theme| if theme == chosen { "true" } else { "false" })
                on:click=move |_| choose(chosen)
            >
                {icon.view()}
                {text}
            </button>
        }
    };
    view! {
        <Menu
            label=move || format!("{}, account of {}", initials(&name()), name())
            button=move || view! { <span class="initials" aria-hidden="true">{move || initials(&name())}</span> }
        >
            <p class="menu-title"><span class="strong">{name}</span><br/>{email}</p>
            <hr/>
            <p class="menu-title">"Theme"</p>
            {item("light", Icon::Sun, "Light")}
            {item("dark", Icon::Moon, "Dark")}
            {item("system", Icon::Screen, "Like the system")}
            <hr/>
            <button class="menu-item" type="button" on:click=move |_| session.sign_out(navigation)>
                {Icon::Leave.view()}
                "Sign out"
            </button>
        </Menu>
    }
}

fn initials(name: &str) -> String {
    let mut words = name.split_whitespace().filter_map(|word| word.chars().next());
    words.next().into_iter().chain(words.next_back()).flat_map(char::to_uppercase).collect()
}

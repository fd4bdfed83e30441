//! Where the app is: the address as a signal, and the only place that changes it.
//!
//! Links stay plain `<a href>`: a click on one that leads inside the app is answered here.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{HtmlAnchorElement, HtmlElement, MouseEvent};

use crate::route::{Query, Route};

/// Paths that the backend answers itself.
const OUTSIDE: [&str; 2] = ["/api", "/docs"];

#[derive(Clone, Debug, PartialEq, Eq)]
struct Address {
    path: String,
    query: Query,
}

/// Reads and changes the address. A context of the whole app.
#[derive(Clone, Copy)]
pub struct Navigation {
    address: RwSignal<Address>,
    /// How often the page has changed; the first page does not take the focus.
    moves: StoredValue<u32>,
}

impl Navigation {
    /// Follows the browser's own Back and Forward, and clicks on links.
    pub fn start() -> Self {
        let navigation = Self { address: RwSignal::new(current()), moves: StoredValue::new(0) };
        let popped = window_event_listener(leptos::ev::popstate, move |_| {
            navigation.arrive();
        });
        let clicked = window_event_listener(leptos::ev::click, move |event| navigation.follow(&event));
        on_cleanup(move || {
            popped.remove();
            clicked.remove();
        });
        navigation
    }

    /// The navigation of the app.
    pub fn get() -> Self {
        expect_context()
    }

    /// The page; `None` when the path leads nowhere.
    pub fn route(self) -> Memo<Option<Route>> {
        let address = self.address;
        Memo::new(move |_| address.with(|address| Route::parse(&address.path)))
    }

    /// One parameter of the query.
    pub fn query(self, name: &'static str) -> Memo<Option<String>> {
        let address = self.address;
        Memo::new(move |_| address.with(|address| address.query.get(name).map(Into::into)))
    }

    /// Path and query as they are now.
    pub fn here(self) -> String {
        self.address.with_untracked(|address| format!("{}{}", address.path, address.query))
    }

    /// The same page with one parameter changed, as a link; tracks the address.
    pub fn link_with(self, name: &str, value: Option<&str>) -> String {
        self.address.with(|address| format!("{}{}", address.path, address.query.clone().with(name, value)))
    }

    /// Changes one parameter and leaves a step for Back.
    pub fn set_query(self, name: &str, value: Option<&str>) {
        self.go(&untrack(|| self.link_with(name, value)));
    }

    /// Changes one parameter in place, as filters do while typing.
    pub fn replace_query(self, name: &str, value: Option<&str>) {
        self.replace(&untrack(|| self.link_with(name, value)));
    }

    /// Goes to a link of this app.
    pub fn go(self, link: &str) {
        self.change(link, false);
    }

    /// Goes to a link of this app without leaving a step for Back.
    pub fn replace(self, link: &str) {
        self.change(link, true);
    }

    /// Whether a page shown now should take the focus to its heading.
    pub fn has_moved(self) -> bool {
        self.moves.get_value() > 0
    }

    fn change(self, link: &str, is_replaced: bool) {
        if self.here() == link {
            return;
        }
        if let Ok(history) = window().history() {
            let state = wasm_bindgen::JsValue::NULL;
            // Fails only when a page changes its address hundreds of times a second; then the address stays behind.
            let _ = if is_replaced {
                history.replace_state_with_url(&state, "", Some(link))
            } else {
                history.push_state_with_url(&state, "", Some(link))
            };
        }
        let is_new_page = self.arrive();
        if is_new_page {
            window().scroll_to_with_x_and_y(0.0, 0.0);
        }
    }

    /// Takes over the browser's address; true when the page is another one.
    fn arrive(self) -> bool {
        let next = current();
        let is_new_page = self.address.with_untracked(|address| address.path != next.path);
        if is_new_page {
            self.moves.update_value(|moves| *moves = moves.saturating_add(1));
        }
        if self.address.with_untracked(|address| *address != next) {
            self.address.set(next);
        }
        is_new_page
    }

    fn follow(self, event: &MouseEvent) {
        let has_modifier = event.meta_key() || event.ctrl_key() || event.shift_key() || event.alt_key();
        if event.default_prevented() || event.button() != 0 || has_modifier {
            return;
        }
        let target = event.target().and_then(|target| target.dyn_into::<web_sys::Element>().ok());
        let link = target.and_then(|target| target.closest("a[href]").ok().flatten());
        let Some(link) = link.and_then(|link| link.dyn_into::<HtmlAnchorElement>().ok()) else { return };
        let path = link.pathname();
        let is_outside = window().location().origin().ok().as_deref() != Some(link.origin().as_str())
            || OUTSIDE.iter().any(|prefix| path.starts_with(prefix));
        // A link to a place on the page, such as the skip link, is the browser's own.
        if is_outside || !link.target().is_empty() || link.has_attribute("download") || !link.hash().is_empty() {
            return;
        }
        event.prevent_default();
        self.go(&format!("{path}{}", Query::parse(&link.search())));
    }
}

/// Puts the page's title into the browser's title bar: `checkout · production · FluxGate`.
pub fn use_title(title: impl Fn() -> String + 'static) {
    Effect::new(move |_| {
        let title = title();
        document().set_title(&if title.is_empty() { "FluxGate".into() } else { format!("{title} · FluxGate") });
    });
}

/// Moves the focus to an element once it is in the page.
pub fn focus_later(element: HtmlElement) {
    request_animation_frame(move || {
        // Refused only when the element is gone again.
        let _ = element.focus();
    });
}

/// Moves the focus to the first field that has an error, once it is shown.
pub fn focus_first_error() {
    request_animation_frame(|| {
        let field = document().query_selector("[aria-invalid='true']").ok().flatten();
        if let Some(field) = field.and_then(|field| field.dyn_into::<HtmlElement>().ok()) {
            let _ = field.focus();
        }
    });
}

fn current() -> Address {
    let location = window().location();
    let path = location.pathname().unwrap_or_else(|_| "/".into());
    Address { path, query: Query::parse(&location.search().unwrap_or_default()) }
}

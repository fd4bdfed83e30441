//! Who is signed in, and what happens when they are no longer.

use leptos::prelude::*;
use leptos::task::spawn_local;
use shared::wire::api::session::SessionDetail;

use crate::api;
use crate::navigation::Navigation;
use crate::route::Route;

/// Whether somebody is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Not asked yet.
    Unknown,
    /// The backend could not be asked.
    Unreachable(String),
    /// Nobody is.
    SignedOut,
    /// Somebody is.
    SignedIn(SessionDetail),
    /// Somebody was, and the page with its drafts is still open.
    Ended(SessionDetail),
}

/// The session. A context of the whole app.
#[derive(Clone, Copy)]
pub struct Session(RwSignal<State>);

impl Session {
    /// Asks who is signed in, and listens for a 401 from any request.
    pub fn start() -> Self {
        let session = Self(RwSignal::new(State::Unknown));
        api::client::on_unauthorized(move || session.end());
        session.ask();
        session
    }

    /// The session of the app.
    pub fn get() -> Self {
        expect_context()
    }

    /// Tracked.
    pub fn state(self) -> State {
        self.0.get()
    }

    /// Whether pages may ask for data; tracked.
    pub fn is_signed_in(self) -> bool {
        self.0.with(|state| matches!(state, State::SignedIn(_)))
    }

    /// Asks again who is signed in.
    pub fn ask(self) {
        spawn_local(async move {
            let state = match api::session::find().await {
                Ok(detail) => State::SignedIn(detail),
                Err(error) if error.status() == Some(401) => State::SignedOut,
                Err(error) => State::Unreachable(error.sentence()),
            };
            self.0.set(state);
        });
    }

    /// Somebody has signed in.
    pub fn begin(self, detail: SessionDetail) {
        self.0.set(State::SignedIn(detail));
    }

    /// Signs out and leads to the sign-in page.
    pub fn sign_out(self, navigation: Navigation) {
        spawn_local(async move {
            // Without an answer the cookie stays, but this page forgets the person either way.
            let _ = api::session::delete().await;
            self.0.set(State::SignedOut);
            navigation.go(&Route::SignIn.link());
        });
    }

    fn end(self) {
        self.0.update(|state| {
            *state = match std::mem::replace(state, State::SignedOut) {
                State::SignedIn(detail) | State::Ended(detail) => State::Ended(detail),
                other => other,
            };
        });
    }
}

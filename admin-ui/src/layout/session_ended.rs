//! The session ended while somebody was working: sign in again over the page, drafts stay.

use leptos::prelude::*;

use crate::component::dialog::{Dialog, DialogKind};
use crate::page::sign_in::SignInForm;
use crate::session::{Session, State};

/// Open only in that case.
#[component]
pub fn SessionEnded() -> impl IntoView {
    let session = Session::get();
    let ended = Memo::new(move |_| match session.state() {
        State::Ended(detail) => Some(detail.user.email),
        _ => None,
    });
    move || {
        ended.get().map(|email| {
            view! {
                <Dialog title="Sign in again" kind=DialogKind::Decision can_close=false on_close=|| ()>
                    <p>"Your session has ended. Nothing you typed is lost."</p>
                    <SignInForm email=email on_done=move |detail| session.begin(detail)/>
                </Dialog>
            }
        })
    }
}

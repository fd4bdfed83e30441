//! Signing in.

use leptos::prelude::*;
use shared::wire::api::session::{SessionDetail, SignIn};

use crate::api;
use crate::api::client::ApiError;
use crate::clock::{Clock, now_ms};
use crate::component::button::{Button, ButtonKind};
use crate::component::field::{PasswordField, TextField};
use crate::component::status::Refusal;
use crate::layout::page_head::PageHead;
use crate::navigation::Navigation;
use crate::remote::{Remote, Write};
use crate::route::Route;
use crate::session::{Session, State};

/// The page at `/sign-in`; afterwards it leads to `next`.
#[component]
pub fn SignInPage() -> impl IntoView {
    let (navigation, session) = (Navigation::get(), Session::get());
    let next = navigation.query("next");
    // Only paths of this app: a link must not lead somebody elsewhere after signing in.
    let go_on = move || {
        let next = next.get_untracked().filter(|next| next.starts_with('/') && !next.starts_with("//"));
        navigation.replace(&next.unwrap_or_else(|| Route::Root.link()));
    };
    let setup = Remote::new(|| Some(()), |()| api::setup::status());
    Effect::new(move |_| {
        if setup.with(|status| status.is_some_and(|status| status.open)) {
            navigation.replace(&Route::Setup.link());
        } else if matches!(session.state(), State::SignedIn(_)) {
            go_on();
        }
    });
    view! {
        <main class="alone" id="content">
            <PageHead title="Sign in to FluxGate" tab="Sign in"/>
            <SignInForm on_done=move |detail| session.begin(detail)/>
        </main>
    }
}

/// E-mail and password; also stands in the dialog over a page whose session has ended.
#[component]
pub fn SignInForm(
    #[prop(optional, into)] email: String,
    #[prop(into)] on_done: Callback<SessionDetail>,
) -> impl IntoView {
    let clock = Clock::get();
    let has_email = !email.is_empty();
    let email = RwSignal::new(email);
    let password = RwSignal::new(String::new());
    let write = Write::new();
    let blocked_until = RwSignal::new(0_i64);

    Effect::new(move |_| {
        if let Some(ApiError::Refused { retry_after_seconds: Some(seconds), .. }) = write.error() {
            blocked_until.set(now_ms() + i64::try_from(seconds).unwrap_or(3_600) * 1_000);
        }
    });
    let wait_seconds = Memo::new(move |_| {
        let left = blocked_until.get() - clock.now_ms();
        (left > 0).then_some((left + 999) / 1_000)
    });
    let refusal = move || match (write.error()?, wait_seconds.get()) {
        (_, Some(seconds)) => Some(format!("Too many tries. Wait {seconds} s.")),
        (error, None) => match error.code() {
            "wrong_credentials" => Some("E-mail or password is not right.".into()),
            "too_many_tries" => Some("You can try again now.".into()),
            _ => Some(error.sentence()),
        },
    };
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        if wait_seconds.get_untracked().is_some() {
            return;
        }
        let body = SignIn { email: email.get_untracked().trim().into(), password: password.get_untracked() };
        write.run(async move { api::session::create(&body).await }, move |detail| on_done.run(detail));
    };
    view! {
        <form class="stack" on:submit=submit>
            <TextField
                label="E-mail"
                kind="email"
                autocomplete="username"
                value=email
                on_input=move |text| email.set(text)
                autofocus=!has_email
            />
            <PasswordField label="Password" value=password on_input=move |text| password.set(text) autofocus=has_email/>
            <Refusal text=Signal::derive(refusal)/>
            <Button kind=ButtonKind::Primary submit=true busy=Signal::derive(move || write.is_pending())>"Sign in"</Button>
        </form>
    }
}

//! Signing in and out.

use serde_json::json;
use shared::model::changeset::Via;
use shared::model::id::SessionId;
use shared::wire::api::session::{SessionDetail, SignIn, UserSummary};

use crate::app::invite;
use crate::app::noted::note;
use crate::auth::password;
use crate::auth::permission::{Actor, SignedInPerson};
use crate::auth::session::{IDLE, RENEW_AFTER};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::audit::NewEvent;
use crate::store::user::User;

/// The longest e-mail, in bytes.
pub(super) const EMAIL_BYTES_MAX: usize = 254;

/// A session that was just started, with the cookie's value.
#[derive(Debug)]
pub struct Started {
    /// Who is signed in.
    pub detail: SessionDetail,
    /// The cookie's value.
    pub token: String,
}

/// Starts a session for somebody who knows the password.
pub async fn sign_in(state: &AppState, body: SignIn, agent: &str) -> Result<Started, AppError> {
    let email = body.email.trim().to_lowercase();
    // Nobody has such an address; remembering it would only cost memory.
    if email.len() > EMAIL_BYTES_MAX || email.contains('\0') {
        return Err(AppError::WrongCredentials);
    }
    state.sign_in_limit.begin(&email).map_err(|wait| AppError::TooManyTries { seconds: wait.as_secs() + 1 })?;
    let found = store::user::find_by_email(&mut *state.pool.acquire().await?, &email).await?;
    // Longer than any real one; hashing it would only cost time.
    let is_plausible = body.password.chars().count() <= *password::LENGTH.end();
    let hash = found.as_ref().map(|user| user.password_hash.clone());
    let is_right = is_plausible && password::verify(body.password, hash).await?;
    let Some(user) = found else { return Err(AppError::WrongCredentials) };
    if !is_right {
        note_failed(state, &user, agent).await?;
        return Err(AppError::WrongCredentials);
    }
    state.sign_in_limit.clear(&email);
    invite::finish(state, user.id).await;
    start(state, &user, agent).await
}

/// Writes down that somebody tried the wrong password of a person. What is typed for people who do not exist is nobody's
/// business: it may be a password. How often it can happen is bounded by how often one may try.
async fn note_failed(state: &AppState, user: &User, agent: &str) -> Result<(), AppError> {
    let event = NewEvent {
        at: state.clock.now(),
        actor: None,
        via: Via::Person,
        project: None,
        kind: "sign_in.failed",
        subject: &user.email,
        detail: json!({ "agent": agent }),
    };
    store::audit::insert(&mut *state.pool.acquire().await?, &event).await?;
    Ok(())
}

/// Starts a session for a person; `agent` says with which browser, in a few words.
pub async fn start(state: &AppState, user: &User, agent: &str) -> Result<Started, AppError> {
    let id: SessionId = state.clock.id();
    let now = state.clock.now();
    let actor = Actor::person(user.id, user.name.clone());
    let mut tx = state.pool.begin().await?;
    store::session::insert(&mut tx, id, user.id, agent, now, now + IDLE).await?;
    note(state, &mut tx, &actor, "session.started", &user.email, json!({ "session": id, "agent": agent })).await?;
    tx.commit().await?;
    let summary = UserSummary { id: user.id, name: user.name.clone(), email: user.email.clone() };
    let token = state.session_keys.sign(id, now)?;
    Ok(Started { detail: SessionDetail { user: summary, is_admin: user.is_admin }, token })
}

/// A new cookie for a session whose cookie is getting old.
pub async fn renew(state: &AppState, who: &SignedInPerson) -> Result<Option<String>, AppError> {
    let now = state.clock.now();
    if now.unix_timestamp() - who.claims.iat < RENEW_AFTER.whole_seconds() {
        return Ok(None);
    }
    store::session::renew(&mut *state.pool.acquire().await?, who.session, now, now + IDLE).await?;
    state.session_keys.sign(who.session, now).map(Some)
}

/// Ends a session.
pub async fn sign_out(state: &AppState, who: &SignedInPerson) -> Result<(), AppError> {
    let mut tx = state.pool.begin().await?;
    store::session::delete(&mut tx, who.user.id, who.session).await?;
    store::user::tell(&mut tx, who.user.id).await?;
    let detail = json!({ "session": who.session });
    note(state, &mut tx, &who.actor(), "session.ended", &who.user.email, detail).await?;
    tx.commit().await?;
    Ok(())
}

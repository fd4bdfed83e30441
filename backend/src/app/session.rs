//! Signing in and out.

use shared::model::id::SessionId;
use shared::wire::api::session::{SessionDetail, SignIn, UserSummary};

use crate::auth::password;
use crate::auth::permission::SignedIn;
use crate::auth::session::{IDLE, RENEW_AFTER};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
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
pub async fn sign_in(state: &AppState, body: SignIn) -> Result<Started, AppError> {
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
    let user = found.filter(|_| is_right).ok_or(AppError::WrongCredentials)?;
    state.sign_in_limit.clear(&email);
    start(state, &user).await
}

/// Starts a session for a person.
pub async fn start(state: &AppState, user: &User) -> Result<Started, AppError> {
    let id: SessionId = state.clock.id();
    let now = state.clock.now();
    store::session::insert(&mut *state.pool.acquire().await?, id, user.id, now, now + IDLE).await?;
    let summary = UserSummary { id: user.id, name: user.name.clone(), email: user.email.clone() };
    let token = state.session_keys.sign(id, now)?;
    Ok(Started { detail: SessionDetail { user: summary, is_admin: user.is_admin }, token })
}

/// A new cookie for a session whose cookie is getting old.
pub async fn renew(state: &AppState, who: &SignedIn) -> Result<Option<String>, AppError> {
    let now = state.clock.now();
    if now.unix_timestamp() - who.claims.iat < RENEW_AFTER.whole_seconds() {
        return Ok(None);
    }
    store::session::renew(&mut *state.pool.acquire().await?, who.session, now, now + IDLE).await?;
    state.session_keys.sign(who.session, now).map(Some)
}

/// Ends a session.
pub async fn sign_out(state: &AppState, who: &SignedIn) -> Result<(), AppError> {
    store::session::delete(&mut *state.pool.acquire().await?, who.session).await?;
    Ok(())
}

//! A new password by a link that an admin of the installation hands over.

use serde_json::json;
use shared::model::id::UserId;
use shared::wire::api::account::{OneTimeLink, PasswordReset, ResetPassword};
use time::{Duration, OffsetDateTime};

use crate::app::noted::note;
use crate::auth::password;
use crate::auth::permission::Actor;
use crate::auth::sdk_key::hex;
use crate::auth::secret::{self, Kind};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;

/// How long a link works.
const VALID_FOR: Duration = Duration::DAY;

/// Makes a link for somebody; one that was made before works no more.
pub async fn create(state: &AppState, actor: &Actor, id: UserId) -> Result<OneTimeLink, AppError> {
    let now = state.clock.now();
    let new = secret::generate(Kind::PasswordReset);
    let mut tx = state.pool.begin().await?;
    let person = store::user::find_for_update(&mut tx, id).await?.ok_or_else(|| AppError::not_found("person", id))?;
    if person.disabled_at.is_some() {
        return Err(AppError::conflict("user_disabled", format!("{} is disabled; enable them first", person.name)));
    }
    let expires_at = now + VALID_FOR;
    store::reset::save(&mut tx, id, &new.hash, actor.user, now, expires_at).await?;
    note(state, &mut tx, actor, "reset_link.created", &person.email, json!({ "name": person.name })).await?;
    tx.commit().await?;
    Ok(one_time_link(state, "password-reset", new.secret, expires_at))
}

/// Whose password a link sets.
pub async fn show(state: &AppState, token: &str) -> Result<PasswordReset, AppError> {
    let hash = secret::hash_of(Kind::PasswordReset, token.as_bytes()).ok_or_else(unusable)?;
    let found = store::reset::find(&mut *state.pool.acquire().await?, &hash, state.clock.now()).await?;
    let found = found.ok_or_else(unusable)?;
    Ok(PasswordReset { name: found.user_name, email: found.user_email, expires_at: found.expires_at.into() })
}

/// Sets a new password; all sessions of the person end, and the link works no more.
pub async fn apply(state: &AppState, body: ResetPassword) -> Result<(), AppError> {
    password::check("password", &body.password)?;
    let hash = secret::hash_of(Kind::PasswordReset, body.token.as_bytes()).ok_or_else(unusable)?;
    show(state, &body.token).await?;
    begin_try(state, &hash)?;
    let password_hash = password::hash(body.password).await?;
    let mut tx = state.pool.begin().await?;
    let found = store::reset::find(&mut tx, &hash, state.clock.now()).await?.ok_or_else(unusable)?;
    store::user::set_password(&mut tx, found.user_id, &password_hash).await?;
    store::reset::delete(&mut tx, found.user_id).await?;
    let ended = store::session::delete_others(&mut tx, found.user_id, None).await?;
    store::user::tell(&mut tx, found.user_id).await?;
    let actor = Actor::person(found.user_id, found.user_name);
    note(state, &mut tx, &actor, "password.reset", &found.user_email, json!({ "sessions_ended": ended })).await?;
    tx.commit().await?;
    state.sign_in_limit.clear(&found.user_email);
    Ok(())
}

/// What is handed over: what proves the person stands behind `#`, so that no server's log ever has it.
pub(super) fn one_time_link(state: &AppState, page: &str, token: String, expires_at: OffsetDateTime) -> OneTimeLink {
    let base = state.config.server.public_url.trim_end_matches('/');
    OneTimeLink { link: format!("{base}/{page}#{token}"), token, expires_at: expires_at.into() }
}

/// What every link answers that does not work: who has none learns nothing.
pub(super) fn unusable() -> AppError {
    let message = "this link does not work any more: it was used, taken back, or is too old; ask for another one";
    AppError::conflict("link_unusable", message)
}

/// Counts a try with a link that works: hashing a password costs more than asking for it.
pub(super) fn begin_try(state: &AppState, hash: &[u8]) -> Result<(), AppError> {
    let name = format!("link {}", hex(hash));
    state.sign_in_limit.begin(&name).map_err(|wait| AppError::TooManyTries { seconds: wait.as_secs() + 1 })
}

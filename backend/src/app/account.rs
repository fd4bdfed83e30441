//! One's own account: name, password and sessions.

use serde_json::json;
use shared::model::id::SessionId;
use shared::wire::api::account::{
    AccountDetail, ChangePassword, EndedSessions, SessionList, SessionSummary, UpdateAccount,
};

use crate::app::changeset::check_name;
use crate::app::noted::note;
use crate::auth::password;
use crate::auth::permission::SignedInPerson;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;

/// Oneself.
pub async fn detail(state: &AppState, who: &SignedInPerson) -> Result<AccountDetail, AppError> {
    let mut db = state.pool.acquire().await?;
    let found = store::user::list(&mut db, Some(who.user.id), None, None, state.clock.now(), 1).await?.pop();
    let found = found.ok_or(AppError::SignedOut)?;
    let mut user = who.user.clone();
    user.name = found.name;
    Ok(AccountDetail { user, is_admin: found.is_admin, created_at: found.created_at.into() })
}

/// Changes what people call one.
pub async fn rename(state: &AppState, who: &SignedInPerson, body: UpdateAccount) -> Result<AccountDetail, AppError> {
    check_name(&body.name)?;
    let name = body.name.trim();
    let mut tx = state.pool.begin().await?;
    store::user::set_name(&mut tx, who.user.id, name).await?;
    let names = json!({ "before": who.user.name, "after": name });
    note(state, &mut tx, &who.actor(), "user.renamed", &who.user.email, names).await?;
    tx.commit().await?;
    detail(state, who).await
}

/// Changes one's password, which ends all other sessions: whoever else knew the old one is out.
pub async fn change_password(state: &AppState, who: &SignedInPerson, body: ChangePassword) -> Result<(), AppError> {
    password::check("new", &body.new)?;
    // Somebody at an open screen must not find the password out by trying.
    let tries = format!("password of {}", who.user.id);
    state.sign_in_limit.begin(&tries).map_err(|wait| AppError::TooManyTries { seconds: wait.as_secs() + 1 })?;
    let found = store::user::find(&mut *state.pool.acquire().await?, who.user.id).await?;
    let found = found.ok_or(AppError::SignedOut)?;
    let is_plausible = body.current.chars().count() <= *password::LENGTH.end();
    if !is_plausible || !password::verify(body.current, Some(found.password_hash)).await? {
        return Err(AppError::field("current", "this is not your password"));
    }
    state.sign_in_limit.clear(&tries);
    let hash = password::hash(body.new).await?;
    let mut tx = state.pool.begin().await?;
    store::user::set_password(&mut tx, who.user.id, &hash).await?;
    store::reset::delete(&mut tx, who.user.id).await?;
    let ended = store::session::delete_others(&mut tx, who.user.id, Some(who.session)).await?;
    store::user::tell(&mut tx, who.user.id).await?;
    let detail = json!({ "sessions_ended": ended });
    note(state, &mut tx, &who.actor(), "password.changed", &who.user.email, detail).await?;
    tx.commit().await?;
    Ok(())
}

/// One's own sessions.
pub async fn sessions(state: &AppState, who: &SignedInPerson) -> Result<SessionList, AppError> {
    let mut db = state.pool.acquire().await?;
    let sessions = store::session::list(&mut db, who.user.id, state.clock.now()).await?;
    let summary = |session: store::session::OwnSession| SessionSummary {
        id: session.id,
        created_at: session.created_at.into(),
        last_used_at: session.last_used_at.into(),
        expires_at: session.expires_at.into(),
        agent: session.agent,
        is_current: session.id == who.session,
    };
    Ok(SessionList { items: sessions.into_iter().map(summary).collect() })
}

/// Ends one of one's own sessions, be it the one that asks.
pub async fn end_session(state: &AppState, who: &SignedInPerson, id: SessionId) -> Result<(), AppError> {
    let mut tx = state.pool.begin().await?;
    if !store::session::delete(&mut tx, who.user.id, id).await? {
        return Err(AppError::not_found("session", id));
    }
    store::user::tell(&mut tx, who.user.id).await?;
    let detail = json!({ "session": id });
    note(state, &mut tx, &who.actor(), "session.ended", &who.user.email, detail).await?;
    tx.commit().await?;
    Ok(())
}

/// Ends all of one's own sessions but the one that asks.
pub async fn sign_out_others(state: &AppState, who: &SignedInPerson) -> Result<EndedSessions, AppError> {
    let mut tx = state.pool.begin().await?;
    let ended = store::session::delete_others(&mut tx, who.user.id, Some(who.session)).await?;
    store::user::tell(&mut tx, who.user.id).await?;
    let detail = json!({ "others": ended });
    note(state, &mut tx, &who.actor(), "session.ended", &who.user.email, detail).await?;
    tx.commit().await?;
    Ok(EndedSessions { ended })
}

//! API tokens: made by people for programs that act for them.

use serde_json::json;
use shared::model::changeset::Via;
use shared::model::id::{EnvironmentId, ProjectId, TokenId};
use shared::model::permission::{Permission, PermissionSet};
use shared::wire::api::session::UserSummary;
use shared::wire::api::token::{CreateToken, CreatedToken, TOKEN_DAYS_MAX, TOKENS_MAX, TokenList, TokenSummary};
use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use crate::app::changeset::check_name;
use crate::app::noted::note;
use crate::auth::permission::{Actor, InProject, SignedInPerson};
use crate::auth::secret::{self, Kind};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::audit::NewEvent;
use crate::store::token::{NewToken, Token};

/// The most environments that a token names.
const ENVIRONMENTS_MAX: usize = 50;

/// Makes a token; its secret is in the answer and nowhere else.
pub async fn create(state: &AppState, who: &SignedInPerson, body: CreateToken) -> Result<CreatedToken, AppError> {
    check_name(&body.name)?;
    let now = state.clock.now();
    let expires_at = OffsetDateTime::from(body.expires_at);
    if expires_at <= now || expires_at > now + Duration::days(TOKEN_DAYS_MAX) {
        let message = format!("a token ends within {TOKEN_DAYS_MAX} days; choose a time between now and then");
        return Err(AppError::field("expires_at", message));
    }
    if let Some(permission) = body.permissions.iter().find(|permission| permission.governs()) {
        let message = format!("programs never agree to changes nor pass over policies; leave {permission} out");
        return Err(AppError::field("permissions", message));
    }
    let mut tx = state.pool.begin().await?;
    let (project, environments) = reach(&mut tx, who, &body).await?;
    let made = secret::generate(Kind::ApiToken);
    let new = NewToken {
        id: state.clock.id(),
        user: who.user.id,
        name: body.name.trim(),
        hash: &made.hash,
        hint: &made.hint,
        permissions: &body.permissions,
        project,
        environments: environments.as_deref(),
        created_at: now,
        expires_at,
    };
    if !store::token::insert(&mut tx, &new, TOKENS_MAX).await? {
        let message = format!("you have {TOKENS_MAX} valid tokens; revoke one that is not used");
        return Err(AppError::field("name", message));
    }
    let detail = json!({
        "hint": made.hint, "permissions": body.permissions, "project": body.project,
        "environments": body.environments, "expires_at": body.expires_at,
    });
    note(state, &mut tx, &who.actor(), "token.created", new.name, detail).await?;
    let token = find(&mut tx, new.id, now).await?;
    tx.commit().await?;
    Ok(CreatedToken { token, secret: made.secret })
}

/// The tokens of one person.
pub async fn list_own(state: &AppState, who: &SignedInPerson) -> Result<TokenList, AppError> {
    let tokens = store::token::list(&mut *state.pool.acquire().await?, Some(who.user.id), None).await?;
    summaries(tokens, state.clock.now())
}

/// The tokens of everybody.
pub async fn list_all(state: &AppState) -> Result<TokenList, AppError> {
    let tokens = store::token::list(&mut *state.pool.acquire().await?, None, None).await?;
    summaries(tokens, state.clock.now())
}

/// Revokes a token of one's own for good.
pub async fn revoke_own(state: &AppState, who: &SignedInPerson, id: TokenId) -> Result<TokenSummary, AppError> {
    let found = find(&mut *state.pool.acquire().await?, id, state.clock.now()).await?;
    if found.owner.id != who.user.id {
        return Err(AppError::not_found("token", id));
    }
    revoke(state, &who.actor(), id).await
}

/// Revokes anybody's token for good.
pub async fn revoke(state: &AppState, actor: &Actor, id: TokenId) -> Result<TokenSummary, AppError> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let found = find(&mut tx, id, now).await?;
    if store::token::revoke(&mut tx, id, now).await? {
        let detail = json!({ "hint": found.hint, "owner": found.owner.name, "last_used_at": found.last_used_at });
        note(state, &mut tx, actor, "token.revoked", &found.name, detail).await?;
        store::user::tell(&mut tx, found.owner.id).await?;
    }
    let revoked = find(&mut tx, id, now).await?;
    tx.commit().await?;
    Ok(revoked)
}

/// Writes down which tokens expired since the last call.
pub async fn note_expired(state: &AppState) -> Result<(), AppError> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    for token in store::token::take_expired(&mut tx, now).await? {
        let event = NewEvent {
            at: now,
            actor: None,
            via: Via::System,
            project: None,
            kind: "token.expired",
            subject: &token.name,
            detail: json!({ "hint": token.hint, "owner": token.user_id }),
        };
        store::audit::insert(&mut tx, &event).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// The project and environments that a token is to be bound to, which its owner must see.
async fn reach(
    db: &mut PgConnection,
    who: &SignedInPerson,
    body: &CreateToken,
) -> Result<(Option<ProjectId>, Option<Vec<EnvironmentId>>), AppError> {
    let Some(key) = &body.project else {
        return match body.environments {
            None => Ok((None, None)),
            Some(_) => Err(AppError::field("environments", "name the project that they are of, too")),
        };
    };
    let found = InProject::find(db, key.as_str(), who.actor(), who.is_admin).await?;
    let project = found.ok_or_else(|| AppError::not_found("project", key))?.id();
    let Some(keys) = &body.environments else { return Ok((Some(project), None)) };
    if !(1..=ENVIRONMENTS_MAX).contains(&keys.len()) {
        let message = format!("name 1 to {ENVIRONMENTS_MAX} environments, or leave them out for all");
        return Err(AppError::field("environments", message));
    }
    let known = store::environment::list(db, project).await?;
    let mut ids = Vec::with_capacity(keys.len());
    for key in keys {
        let found = known.iter().find(|environment| environment.key == key.as_str());
        ids.push(found.ok_or_else(|| AppError::not_found("environment", key))?.id);
    }
    Ok((Some(project), Some(ids)))
}

async fn find(db: &mut PgConnection, id: TokenId, now: OffsetDateTime) -> Result<TokenSummary, AppError> {
    let found = store::token::list(db, None, Some(id)).await?.pop();
    summary(found.ok_or_else(|| AppError::not_found("token", id))?, now)
}

fn summaries(tokens: Vec<Token>, now: OffsetDateTime) -> Result<TokenList, AppError> {
    Ok(TokenList { items: tokens.into_iter().map(|token| summary(token, now)).collect::<Result<_, _>>()? })
}

fn summary(token: Token, now: OffsetDateTime) -> Result<TokenSummary, AppError> {
    let permissions: PermissionSet =
        token.permissions.iter().filter_map(|text| text.parse::<Permission>().ok()).collect();
    let environments = token.environments.map(|keys| keys.into_iter().map(|key| key.parse()).collect());
    Ok(TokenSummary {
        id: token.id,
        is_valid: token.revoked_at.is_none() && token.expires_at > now,
        owner: UserSummary { id: token.user_id, name: token.user_name, email: token.user_email },
        name: token.name,
        hint: token.hint,
        sentences: sentences(&permissions),
        permissions,
        project: token.project.map(|key| key.parse()).transpose().map_err(AppError::internal)?,
        environments: environments.transpose().map_err(AppError::internal)?,
        created_at: token.created_at.into(),
        expires_at: token.expires_at.into(),
        revoked_at: token.revoked_at.map(Into::into),
        last_used_at: token.last_used_at.map(Into::into),
    })
}

fn sentences(permissions: &PermissionSet) -> Vec<String> {
    let first = "May read everything its owner may see.".to_owned();
    let others = permissions.iter().map(|permission| format!("May {}.", permission.meaning()));
    std::iter::once(first).chain(others).collect()
}

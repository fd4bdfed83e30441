//! API tokens: how a program shows for whom it acts. 32 random bytes, shown once, stored as SHA-256.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use shared::wire::api::session::UserSummary;
use time::{Duration, OffsetDateTime};

use crate::auth::allowed::Scope;
use crate::auth::credential::{Credential, SignedIn};
use crate::auth::secret::{self, Kind};
use crate::error::{AppError, chain};
use crate::state::AppState;
use crate::store;

/// When a token was last used is written at most this often.
const USED_EVERY: Duration = Duration::MINUTE;
/// A token that nobody knows is not looked for again within this; one whose owner is let in again works after it.
const UNKNOWN_FOR: Duration = Duration::seconds(5);
/// More unknown tokens than this are not remembered at once; further ones are looked for each time.
const UNKNOWN_MAX: usize = 10_000;

/// Tokens that were looked for in vain, so that a program with a wrong one asks the database seldom.
#[derive(Debug, Default)]
pub struct UnknownTokens {
    until: Mutex<HashMap<Vec<u8>, OffsetDateTime>>,
}

impl UnknownTokens {
    /// Whether it was looked for in vain lately.
    fn has(&self, hash: &[u8], now: OffsetDateTime) -> bool {
        let until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        until.get(hash).is_some_and(|until| *until > now)
    }

    fn add(&self, hash: Vec<u8>, now: OffsetDateTime) {
        let mut known = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= UNKNOWN_MAX {
            known.retain(|_, until| *until > now);
        }
        if known.len() < UNKNOWN_MAX {
            known.insert(hash, now + UNKNOWN_FOR);
        }
    }
}

/// The person a token belongs to, with what it allows.
pub async fn open(state: &AppState, token: &[u8]) -> Result<SignedIn, AppError> {
    let unknown = AppError::TokenRefused {
        code: "token_unknown",
        message: "this API token is not known; copy it once more, or make another one",
    };
    let now = state.clock.now();
    let Some(hash) = secret::hash_of(Kind::ApiToken, token) else { return Err(unknown) };
    if state.unknown_tokens.has(&hash, now) {
        return Err(unknown);
    }
    let mut db = state.pool.acquire().await?;
    let Some(found) = store::token::find(&mut db, &hash).await? else {
        state.unknown_tokens.add(hash, now);
        return Err(unknown);
    };
    if found.revoked_at.is_some() {
        let message = "this API token was revoked; make another one";
        return Err(AppError::TokenRefused { code: "token_revoked", message });
    }
    if found.expires_at <= now {
        let message = "this API token has expired; make another one";
        return Err(AppError::TokenRefused { code: "token_expired", message });
    }
    if found.last_used_at.is_none_or(|at| now - at >= USED_EVERY)
        && let Err(error) = store::token::touch(&mut db, found.id, now).await
    {
        tracing::warn!(error = %chain(&error), "when a token was last used is not written down");
    }
    let scope = Scope {
        token: found.id,
        permissions: found.permissions,
        project: found.project,
        environments: found.environments,
    };
    let user = UserSummary { id: found.user_id, name: found.user_name, email: found.user_email };
    Ok(SignedIn { user, is_admin: found.is_admin, credential: Credential::Token(scope) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_token_is_remembered_for_seconds_and_only_so_many_are() {
        let unknown = UnknownTokens::default();
        let now = OffsetDateTime::UNIX_EPOCH;
        unknown.add(vec![1], now);
        assert!(unknown.has(&[1], now) && !unknown.has(&[2], now));
        assert!(!unknown.has(&[1], now + UNKNOWN_FOR));
        for at in 0..=UNKNOWN_MAX {
            unknown.add(at.to_be_bytes().to_vec(), now);
        }
        assert_eq!(unknown.until.lock().expect("a lock").len(), UNKNOWN_MAX);
        unknown.add(vec![1], now + UNKNOWN_FOR);
        assert_eq!(unknown.until.lock().expect("a lock").len(), 1, "what is old makes room");
    }
}

//! Who asks: a person by the cookie of their session, or a program by the token of a person.

use axum::extract::FromRequestParts;
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use shared::model::changeset::Via;
use shared::model::id::{ProjectId, SessionId};
use shared::wire::api::session::UserSummary;
use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use crate::auth::allowed::Scope;
use crate::auth::api_token;
use crate::auth::permission::{Actor, InProject};
use crate::auth::session::{self, Claims};
use crate::error::{AppError, chain};
use crate::state::AppState;
use crate::store;
use crate::store::StoreError;

/// What says when somebody was last here is written at most this often.
const SEEN_EVERY: Duration = Duration::MINUTE;

/// A person is signed in, themselves or by a program with their token.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// Who.
    pub user: UserSummary,
    /// May do everything everywhere, as far as `credential` reaches.
    pub is_admin: bool,
    /// How they showed who they are.
    pub credential: Credential,
}

/// How somebody showed who they are.
#[derive(Clone, Debug)]
pub enum Credential {
    /// By the cookie of this session.
    Session(SessionId),
    /// By a token that lets them do this much.
    Token(Scope),
}

/// A person is signed in themselves. Accounts, tokens, people, roles and invites are out of reach of programs.
#[derive(Clone, Debug)]
pub struct SignedInPerson {
    /// Their session.
    pub session: SessionId,
    /// Who.
    pub user: UserSummary,
    /// May do everything everywhere.
    pub is_admin: bool,
    /// The cookie's own text, to renew.
    pub claims: Claims,
}

impl SignedIn {
    /// The person as history shows them.
    pub fn actor(&self) -> Actor {
        let via = match self.credential {
            Credential::Session(_) => Via::Person,
            Credential::Token(_) => Via::Token,
        };
        Actor { user: self.user.id, name: self.user.name.clone(), via }
    }

    /// What the token allows; absent when there is none.
    pub fn scope(&self) -> Option<&Scope> {
        match &self.credential {
            Credential::Session(_) => None,
            Credential::Token(scope) => Some(scope),
        }
    }

    /// Looks again at a credential that was good; false when it is not any more.
    pub async fn look_again(&mut self, db: &mut PgConnection, now: OffsetDateTime) -> Result<bool, StoreError> {
        let is_admin = match &self.credential {
            Credential::Session(id) => store::session::find(db, *id, now).await?.map(|found| found.is_admin),
            Credential::Token(scope) => store::token::find_owner(db, scope.token, now).await?,
        };
        self.is_admin = is_admin.unwrap_or(false);
        Ok(is_admin.is_some())
    }

    /// Whether the credential reaches a project at all; whether the person may see it is another question.
    pub fn reaches(&self, project: ProjectId) -> bool {
        self.scope().and_then(|scope| scope.project).is_none_or(|only| only == project)
    }

    /// Them in the project of a key, as they stand in the database; `None` when it is not theirs to see.
    pub async fn in_project(&self, db: &mut PgConnection, key: &str) -> Result<Option<InProject>, AppError> {
        let found = InProject::find(db, key, self.actor(), self.is_admin).await?;
        let found = found.filter(|found| self.reaches(found.id()));
        Ok(found.map(|mut found| {
            if let Some(scope) = self.scope() {
                found.permissions = found.permissions.within(scope);
            }
            found
        }))
    }
}

impl SignedInPerson {
    /// The person as history shows them.
    pub fn actor(&self) -> Actor {
        Actor::person(self.user.id, self.user.name.clone())
    }
}

impl FromRequestParts<AppState> for SignedIn {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, AppError> {
        if let Some(secret) = bearer(&parts.headers) {
            // Browsers attach no token of their own accord, so where a write comes from does not matter.
            return api_token::open(state, secret).await;
        }
        let person = by_cookie(parts, state).await?;
        let credential = Credential::Session(person.session);
        Ok(Self { user: person.user, is_admin: person.is_admin, credential })
    }
}

impl FromRequestParts<AppState> for SignedInPerson {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, AppError> {
        if let Some(secret) = bearer(&parts.headers) {
            api_token::open(state, secret).await?;
            return Err(AppError::PeopleOnly);
        }
        by_cookie(parts, state).await
    }
}

/// Refuses a write that a browser sends on behalf of another site. Programs that are no browser send neither header.
pub fn check_same_site(method: &Method, headers: &HeaderMap, public_url: &str) -> Result<(), AppError> {
    if method.is_safe() {
        return Ok(());
    }
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("invalid"));
    if let Some(site) = text("sec-fetch-site") {
        return if matches!(site, "same-origin" | "none") { Ok(()) } else { Err(AppError::CrossSite) };
    }
    let Some(origin) = text(ORIGIN.as_str()) else { return Ok(()) };
    let is_own = origin == public_url.trim_end_matches('/')
        || origin.split_once("://").is_some_and(|(_, host)| text(HOST.as_str()) == Some(host));
    if is_own { Ok(()) } else { Err(AppError::CrossSite) }
}

async fn by_cookie(parts: &Parts, state: &AppState) -> Result<SignedInPerson, AppError> {
    check_same_site(&parts.method, &parts.headers, &state.config.server.public_url)?;
    let now = state.clock.now();
    let token = cookie_value(&parts.headers).ok_or(AppError::SignedOut)?;
    let claims = state.session_keys.check(token, now).ok_or(AppError::SignedOut)?;
    let mut db = state.pool.acquire().await?;
    let found = store::session::find(&mut db, claims.sid, now).await?.ok_or(AppError::SignedOut)?;
    if now - found.last_used_at >= SEEN_EVERY
        && let Err(error) = store::session::touch(&mut db, found.id, found.user_id, now).await
    {
        // What they came for does not depend on it.
        tracing::warn!(error = %chain(&error), "when somebody was last seen is not written down");
    }
    let user = UserSummary { id: found.user_id, name: found.user_name, email: found.user_email };
    Ok(SignedInPerson { session: found.id, user, is_admin: found.is_admin, claims })
}

/// What stands behind `Bearer`, whether or not it is a token; other schemes are a proxy's business.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let (scheme, secret) = headers.get(AUTHORIZATION)?.as_bytes().split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| secret.trim_ascii())
}

fn cookie_value(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|line| line.split("; ")).find_map(|pair| pair.strip_prefix(session::COOKIE)?.strip_prefix('='))
}

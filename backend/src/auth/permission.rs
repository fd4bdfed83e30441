//! Extractors named after what they prove. A handler's signature is its access rule.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::header::{COOKIE, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use shared::model::id::{ProjectId, SessionId, UserId};
use shared::model::key::ProjectKey;
use shared::wire::api::session::UserSummary;

use crate::auth::session::{self, Claims};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::project::Project;

/// Who does something.
#[derive(Clone, Debug)]
pub struct Actor {
    /// Their id.
    pub user: UserId,
    /// Their name, as history shows it.
    pub name: String,
}

/// Somebody is signed in.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// Their session.
    pub session: SessionId,
    /// Who.
    pub user: UserSummary,
    /// May do everything everywhere.
    pub is_admin: bool,
    /// The cookie's own text, to renew.
    pub claims: Claims,
}

/// They may see the project.
#[derive(Clone, Debug)]
pub struct CanView(pub InProject);

/// They may change flags and segments of the project.
#[derive(Clone, Debug)]
pub struct CanEditFlags(pub InProject);

/// They may manage environments and SDK keys of the project.
#[derive(Clone, Debug)]
pub struct CanManageProject(pub InProject);

/// They may do everything everywhere.
#[derive(Clone, Debug)]
pub struct CanManageInstallation(pub Actor);

/// A person in a project.
#[derive(Clone, Debug)]
pub struct InProject {
    /// Who.
    pub actor: Actor,
    /// Where.
    pub project: Project,
    /// What they may do there.
    pub role: Role,
}

/// What a member may do, each including the ones before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// See.
    Viewer,
    /// Change flags and segments.
    Editor,
    /// Manage environments and SDK keys.
    Admin,
}

impl Role {
    /// The role written so; a word of a newer version grants nothing.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "viewer" => Some(Self::Viewer),
            "editor" => Some(Self::Editor),
            "admin" => Some(Self::Admin),
            _ => None,
        }
    }
}

impl InProject {
    /// The project's id.
    pub fn id(&self) -> ProjectId {
        self.project.id
    }
}

impl SignedIn {
    /// The person as history shows them.
    pub fn actor(&self) -> Actor {
        Actor { user: self.user.id, name: self.user.name.clone() }
    }
}

impl FromRequestParts<AppState> for SignedIn {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, AppError> {
        check_same_site(&parts.method, &parts.headers, &state.config.server.public_url)?;
        let now = state.clock.now();
        let token = cookie_value(&parts.headers).ok_or(AppError::SignedOut)?;
        let claims = state.session_keys.check(token, now).ok_or(AppError::SignedOut)?;
        let mut db = state.pool.acquire().await?;
        let found = store::session::find(&mut db, claims.sid, now).await?.ok_or(AppError::SignedOut)?;
        let user = UserSummary { id: found.user_id, name: found.user_name, email: found.user_email };
        Ok(Self { session: found.id, user, is_admin: found.is_admin, claims })
    }
}

impl FromRequestParts<AppState> for CanView {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, AppError> {
        in_project(parts, state).await.map(Self)
    }
}

impl FromRequestParts<AppState> for CanEditFlags {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, AppError> {
        let found = in_project(parts, state).await?;
        if found.role >= Role::Editor { Ok(Self(found)) } else { Err(AppError::Forbidden("editor")) }
    }
}

impl FromRequestParts<AppState> for CanManageProject {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, AppError> {
        let found = in_project(parts, state).await?;
        if found.role >= Role::Admin { Ok(Self(found)) } else { Err(AppError::Forbidden("admin")) }
    }
}

impl FromRequestParts<AppState> for CanManageInstallation {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, AppError> {
        let signed_in = SignedIn::from_request_parts(parts, state).await?;
        if signed_in.is_admin { Ok(Self(signed_in.actor())) } else { Err(AppError::Forbidden("installation admin")) }
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

/// The project of the path, for somebody who is a member of it or an admin; for others it does not exist.
async fn in_project(parts: &mut Parts, state: &AppState) -> Result<InProject, AppError> {
    let signed_in = SignedIn::from_request_parts(parts, state).await?;
    let params = RawPathParams::from_request_parts(parts, state)
        .await
        .map_err(|_| AppError::BadRequest("the path is not UTF-8; percent-encode it".into()))?;
    let key = params.iter().find(|(name, _)| *name == "project").map(|(_, value)| value.to_owned()).unwrap_or_default();
    if key.parse::<ProjectKey>().is_err() {
        return Err(AppError::not_found("project", key));
    }
    let mut db = state.pool.acquire().await?;
    let found = store::project::find(&mut db, &key, signed_in.user.id).await?;
    let project = found.ok_or_else(|| AppError::not_found("project", &key))?;
    let role = if signed_in.is_admin { Some(Role::Admin) } else { project.role.as_deref().and_then(Role::parse) };
    match role {
        Some(role) => Ok(InProject { actor: signed_in.actor(), project, role }),
        None => Err(AppError::not_found("project", key)),
    }
}

fn cookie_value(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|line| line.split("; ")).find_map(|pair| pair.strip_prefix(session::COOKIE)?.strip_prefix('='))
}

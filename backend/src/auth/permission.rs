//! Extractors named after what they prove. A handler's signature is its access rule.

use std::collections::HashMap;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::header::{COOKIE, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use shared::model::changeset::Via;
use shared::model::id::{EnvironmentId, ProjectId, SessionId, UserId};
use shared::model::key::ProjectKey;
use shared::model::permission::{Permission, PermissionSet};
use shared::wire::api::session::UserSummary;

use crate::auth::session::{self, Claims};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::member::Granted;
use crate::store::project::Project;

/// Who does something, and through what.
#[derive(Clone, Debug)]
pub struct Actor {
    /// Their id.
    pub user: UserId,
    /// Their name, as history shows it.
    pub name: String,
    /// Themselves, or a program with their token.
    pub via: Via,
}

impl Actor {
    /// A person, signed in.
    pub fn person(user: UserId, name: impl Into<String>) -> Self {
        Self { user, name: name.into(), via: Via::Person }
    }
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

/// They may change flags and segments in some environment of the project. In which a change has an effect is computed when
/// it is applied, so that is where it is checked.
#[derive(Clone, Debug)]
pub struct CanEditFlags(pub InProject);

/// They may kill flags in some environment of the project; in which is checked where the kill is written.
#[derive(Clone, Debug)]
pub struct CanKillFlags(pub InProject);

/// They may manage the environments of the project.
#[derive(Clone, Debug)]
pub struct CanManageEnvironments(pub InProject);

/// They may manage SDK keys in some environment of the project; in which is checked where the key is written.
#[derive(Clone, Debug)]
pub struct CanManageKeys(pub InProject);

/// They may manage webhooks of the project. Seeing them is part of it: a URL may be a secret of its receiver's.
#[derive(Clone, Debug)]
pub struct CanManageWebhooks(pub InProject);

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
    pub permissions: Permissions,
}

/// What somebody may do in a project.
#[derive(Clone, Debug, Default)]
pub struct Permissions {
    /// Where no environment says otherwise.
    everywhere: PermissionSet,
    /// Of environments with a role of their own.
    environments: HashMap<EnvironmentId, PermissionSet>,
}

impl Permissions {
    /// What a person's roles in one project allow; `None` without any. An installation's admin may do everything but
    /// agree to changes and pass over policies: for that, somebody has to make them a member.
    pub fn of(granted: &[Granted], is_installation_admin: bool) -> Option<Self> {
        let always: PermissionSet = Permission::ALL
            .into_iter()
            .filter(|p| is_installation_admin && !matches!(p, Permission::Approve | Permission::BreakGlass))
            .collect();
        if granted.is_empty() && !is_installation_admin {
            return None;
        }
        let mut permissions = Self { everywhere: always.clone(), environments: HashMap::new() };
        for role in granted {
            let allowed = always.union(&role.permissions);
            match role.environment_id {
                None => permissions.everywhere = allowed,
                Some(environment) => {
                    permissions.environments.insert(environment, allowed);
                }
            }
        }
        Some(permissions)
    }

    /// Whether they may in the project as a whole.
    pub fn in_project(&self, permission: Permission) -> bool {
        self.everywhere.has(permission)
    }

    /// Whether they may in this environment.
    pub fn in_environment(&self, environment: EnvironmentId, permission: Permission) -> bool {
        self.environments.get(&environment).unwrap_or(&self.everywhere).has(permission)
    }

    /// Whether they may in some environment, or in the project as a whole.
    pub fn anywhere(&self, permission: Permission) -> bool {
        self.in_project(permission) || self.environments.values().any(|set| set.has(permission))
    }
}

impl InProject {
    /// The project's id.
    pub fn id(&self) -> ProjectId {
        self.project.id
    }

    /// A person in a project, as they stand in the database; `None` when it is not theirs to see.
    pub async fn find(
        db: &mut sqlx::PgConnection,
        key: &str,
        actor: Actor,
        is_installation_admin: bool,
    ) -> Result<Option<Self>, AppError> {
        let Some(project) = store::project::find(db, key).await? else { return Ok(None) };
        let granted = store::member::list_granted(db, Some(project.id), Some(actor.user)).await?;
        let permissions = Permissions::of(&granted, is_installation_admin);
        Ok(permissions.map(|permissions| Self { actor, project, permissions }))
    }

    fn require(self, permission: Permission, is_met: bool) -> Result<Self, AppError> {
        if is_met { Ok(self) } else { Err(AppError::Forbidden(format!("the permission {permission} in this project"))) }
    }
}

impl SignedIn {
    /// The person as history shows them.
    pub fn actor(&self) -> Actor {
        Actor::person(self.user.id, self.user.name.clone())
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
        let is_met = found.permissions.anywhere(Permission::Edit);
        found.require(Permission::Edit, is_met).map(Self)
    }
}

impl FromRequestParts<AppState> for CanKillFlags {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, AppError> {
        let found = in_project(parts, state).await?;
        let is_met = found.permissions.anywhere(Permission::Kill);
        found.require(Permission::Kill, is_met).map(Self)
    }
}

impl FromRequestParts<AppState> for CanManageEnvironments {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, AppError> {
        let found = in_project(parts, state).await?;
        let is_met = found.permissions.in_project(Permission::ManageEnvironments);
        found.require(Permission::ManageEnvironments, is_met).map(Self)
    }
}

impl FromRequestParts<AppState> for CanManageKeys {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, AppError> {
        let found = in_project(parts, state).await?;
        let is_met = found.permissions.anywhere(Permission::ManageKeys);
        found.require(Permission::ManageKeys, is_met).map(Self)
    }
}

impl FromRequestParts<AppState> for CanManageWebhooks {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, AppError> {
        let found = in_project(parts, state).await?;
        let is_met = found.permissions.in_project(Permission::ManageWebhooks);
        found.require(Permission::ManageWebhooks, is_met).map(Self)
    }
}

impl FromRequestParts<AppState> for CanManageInstallation {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, AppError> {
        let signed_in = SignedIn::from_request_parts(parts, state).await?;
        if signed_in.is_admin {
            Ok(Self(signed_in.actor()))
        } else {
            Err(AppError::Forbidden("an admin of the installation".into()))
        }
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
    let found = InProject::find(&mut db, &key, signed_in.actor(), signed_in.is_admin).await?;
    found.ok_or_else(|| AppError::not_found("project", key))
}

fn cookie_value(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|line| line.split("; ")).find_map(|pair| pair.strip_prefix(session::COOKIE)?.strip_prefix('='))
}

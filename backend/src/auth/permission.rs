//! Extractors named after what they prove. A handler's signature is its access rule.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use shared::model::changeset::Via;
use shared::model::id::{ProjectId, UserId};
use shared::model::key::ProjectKey;
use shared::model::permission::Permission;

pub use crate::auth::allowed::Permissions;
pub use crate::auth::credential::{SignedIn, SignedInPerson, check_same_site};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
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

/// They may freeze some environment of the project; which one is checked where the freeze is written.
#[derive(Clone, Debug)]
pub struct CanFreeze(pub InProject);

/// They may manage SDK keys in some environment of the project; in which is checked where the key is written.
#[derive(Clone, Debug)]
pub struct CanManageKeys(pub InProject);

/// They may say who is a member of the project. Of the project as a whole: a member has their role everywhere.
#[derive(Clone, Debug)]
pub struct CanManageMembers(pub InProject);

/// They may manage webhooks of the project. Seeing them is part of it: a URL may be a secret of its receiver's.
#[derive(Clone, Debug)]
pub struct CanManageWebhooks(pub InProject);

/// They may do everything everywhere, and ask themselves: no token reaches the installation as a whole.
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

impl FromRequestParts<AppState> for CanFreeze {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, AppError> {
        let found = in_project(parts, state).await?;
        let is_met = found.permissions.anywhere(Permission::ManageEnvironments);
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

impl FromRequestParts<AppState> for CanManageMembers {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, AppError> {
        let found = in_project(parts, state).await?;
        let is_met = found.permissions.in_project(Permission::ManageMembers);
        found.require(Permission::ManageMembers, is_met).map(Self)
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
        let person = SignedInPerson::from_request_parts(parts, state).await?;
        if person.is_admin {
            Ok(Self(person.actor()))
        } else {
            Err(AppError::Forbidden("an admin of the installation".into()))
        }
    }
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
    let found = signed_in.in_project(&mut db, &key).await?;
    found.ok_or_else(|| AppError::not_found("project", key))
}

//! SDK keys: made, listed, revoked.

use shared::model::changeset::Note;
use shared::model::id::{EnvironmentId, ProjectId, SdkKeyId};
use shared::model::permission::Permission;
use shared::model::sdk_key::SdkKeyKind;
use shared::model::web_origin::WebOrigin;
use shared::wire::api::sdk_key::{CreateSdkKey, CreatedSdkKey, ORIGINS_MAX, SdkKeyList, SdkKeySummary};
use time::OffsetDateTime;

use crate::app::changeset::{self, Write, check_name};
use crate::auth::permission::InProject;
use crate::auth::sdk_key::generate;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::sdk_key::SdkKey;

/// Makes a key; its secret is in the answer and nowhere else.
pub async fn create(state: &AppState, who: &InProject, body: CreateSdkKey) -> Result<CreatedSdkKey, AppError> {
    check_name(&body.name)?;
    let now = state.clock.now();
    let expires_at = body.expires_at.map(OffsetDateTime::from);
    if expires_at.is_some_and(|at| at <= now) {
        return Err(AppError::field("expires_at", "the time has passed already; choose a later one or leave it out"));
    }
    check_origins(body.kind, &body.origins)?;
    let environments = store::environment::list(&mut *state.pool.acquire().await?, who.id()).await?;
    let environment = environments.into_iter().find(|known| known.key == body.environment.as_str());
    let environment = environment.ok_or_else(|| AppError::not_found("environment", &body.environment))?;
    check_permission(who, environment.id, &environment.key)?;
    let new = generate(body.kind);
    let key = SdkKey {
        id: state.clock.id(),
        environment_id: environment.id,
        environment: environment.key,
        name: body.name.trim().to_owned(),
        kind: kind_text(body.kind).to_owned(),
        origins: body.origins.iter().map(ToString::to_string).collect(),
        hash: new.hash,
        hint: new.hint,
        expires_at,
        revoked_at: None,
        created_at: now,
        created_by: who.actor.name.clone(),
        last_used_at: None,
    };
    let write = Write::CreateSdkKey(key.clone());
    changeset::apply(state, who.id(), &who.actor, vec![write], &Note::default()).await?;
    Ok(CreatedSdkKey { key: summary(key)?, secret: new.secret })
}

/// The keys of a project, newest first.
pub async fn list(state: &AppState, project: ProjectId) -> Result<SdkKeyList, AppError> {
    let keys = store::sdk_key::list(&mut *state.pool.acquire().await?, project, None).await?;
    Ok(SdkKeyList { items: keys.into_iter().map(summary).collect::<Result<_, _>>()? })
}

/// Revokes a key for good.
pub async fn revoke(state: &AppState, who: &InProject, id: SdkKeyId) -> Result<SdkKeySummary, AppError> {
    let key = find(state, who.id(), id).await?;
    check_permission(who, key.environment_id, &key.environment)?;
    let write = Write::RevokeSdkKey { key: id };
    changeset::apply(state, who.id(), &who.actor, vec![write], &Note::default()).await?;
    summary(find(state, who.id(), id).await?)
}

fn check_permission(who: &InProject, environment: EnvironmentId, key: &str) -> Result<(), AppError> {
    let permission = Permission::ManageKeys;
    if who.permissions.in_environment(environment, permission) {
        return Ok(());
    }
    Err(AppError::Forbidden(format!("the permission {permission} in {key}")))
}

fn check_origins(kind: SdkKeyKind, origins: &[WebOrigin]) -> Result<(), AppError> {
    if kind == SdkKeyKind::Server && !origins.is_empty() {
        return Err(AppError::field("origins", "a server key does not belong into web pages; leave its origins out"));
    }
    if origins.len() > ORIGINS_MAX {
        let count = origins.len();
        return Err(AppError::field(
            "origins",
            format!("a key has at most {ORIGINS_MAX} web origins; there are {count}"),
        ));
    }
    Ok(())
}

/// The kind as stored in a column.
pub(super) fn kind_of(text: &str) -> Result<SdkKeyKind, AppError> {
    match text {
        "server" => Ok(SdkKeyKind::Server),
        "client" => Ok(SdkKeyKind::Client),
        other => Err(AppError::internal(format!("'{other}' is not a kind of SDK key"))),
    }
}

fn kind_text(kind: SdkKeyKind) -> &'static str {
    match kind {
        SdkKeyKind::Server => "server",
        SdkKeyKind::Client => "client",
    }
}

async fn find(state: &AppState, project: ProjectId, id: SdkKeyId) -> Result<SdkKey, AppError> {
    let found = store::sdk_key::list(&mut *state.pool.acquire().await?, project, Some(id)).await?.pop();
    found.ok_or_else(|| AppError::not_found("SDK key", id))
}

fn summary(key: SdkKey) -> Result<SdkKeySummary, AppError> {
    Ok(SdkKeySummary {
        id: key.id,
        environment: key.environment.parse().map_err(AppError::internal)?,
        name: key.name,
        kind: kind_of(&key.kind)?,
        origins: key
            .origins
            .into_iter()
            .map(|text| text.parse().map_err(AppError::internal))
            .collect::<Result<_, _>>()?,
        hint: key.hint,
        created_at: key.created_at.into(),
        created_by: key.created_by,
        expires_at: key.expires_at.map(Into::into),
        revoked_at: key.revoked_at.map(Into::into),
        last_used_at: key.last_used_at.map(Into::into),
    })
}

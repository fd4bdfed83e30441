//! SDK keys: made, listed, revoked.

use std::collections::HashMap;

use shared::model::changeset::Note;
use shared::model::id::{EnvironmentId, ProjectId, SdkKeyId};
use shared::model::key::EnvironmentKey;
use shared::model::permission::Permission;
use shared::model::sdk_key::SdkKeyKind;
use shared::model::web_origin::WebOrigin;
use shared::wire::api::sdk_key::{
    CreateSdkKey, CreatedSdkKey, ORIGINS_MAX, OVERLAP_SECONDS_MAX, RotateSdkKey, SdkKeyList, SdkKeySummary,
    UpdateSdkKey,
};
use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use crate::app::changeset::{self, Write, check_name};
use crate::auth::permission::InProject;
use crate::auth::sdk_key::generate;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::sdk_key::SdkKey;

/// What is shown of the use of a key reaches back so far.
const RECENT: Duration = Duration::minutes(5);

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
        replaces: None,
        replaced_by: None,
    };
    let write = Write::CreateSdkKey(key.clone());
    changeset::apply(state, who.id(), &who.actor, vec![write], &Note::default()).await?;
    Ok(CreatedSdkKey { key: summary(key, 0)?, secret: new.secret })
}

/// The keys of a project, or of one environment, newest first.
pub async fn list(
    state: &AppState,
    project: ProjectId,
    environment: Option<&EnvironmentKey>,
) -> Result<SdkKeyList, AppError> {
    let mut db = state.pool.acquire().await?;
    if let Some(key) = environment {
        let known = store::environment::list(&mut db, project).await?;
        if !known.iter().any(|environment| environment.key == key.as_str()) {
            return Err(AppError::not_found("environment", key));
        }
    }
    let mut keys = store::sdk_key::list(&mut db, project, None).await?;
    keys.retain(|key| environment.is_none_or(|environment| key.environment == environment.as_str()));
    Ok(SdkKeyList { items: summaries(state, &mut db, project, keys).await? })
}

/// Changes what a key is called, where it may be used from, and when it ends.
pub async fn update(
    state: &AppState,
    who: &InProject,
    id: SdkKeyId,
    update: UpdateSdkKey,
) -> Result<SdkKeySummary, AppError> {
    let key = find(state, who.id(), id).await?;
    check_permission(who, key.environment_id, &key.environment)?;
    write(state, who, Write::UpdateSdkKey { key: id, update }).await?;
    find_summary(state, who.id(), id).await
}

/// Makes a key that takes over from another one; both are valid until the overlap ends.
pub async fn rotate(
    state: &AppState,
    who: &InProject,
    id: SdkKeyId,
    body: RotateSdkKey,
) -> Result<CreatedSdkKey, AppError> {
    if body.overlap_seconds > OVERLAP_SECONDS_MAX {
        let message = format!("{} s; at most {OVERLAP_SECONDS_MAX} s (30 days)", body.overlap_seconds);
        return Err(AppError::field("overlap_seconds", message));
    }
    let old = find(state, who.id(), id).await?;
    check_permission(who, old.environment_id, &old.environment)?;
    let now = state.clock.now();
    let expires_at = body.expires_at.map(OffsetDateTime::from);
    if expires_at.is_some_and(|at| at <= now) {
        return Err(AppError::field("expires_at", "the time has passed already; choose a later one or leave it out"));
    }
    let new = generate(kind_of(&old.kind)?);
    let key = SdkKey {
        id: state.clock.id(),
        hash: new.hash,
        hint: new.hint,
        expires_at,
        created_at: now,
        created_by: who.actor.name.clone(),
        last_used_at: None,
        replaces: Some(id.uuid()),
        replaced_by: None,
        ..old
    };
    let overlap = Duration::seconds(i64::try_from(body.overlap_seconds).unwrap_or(0));
    write(state, who, Write::RotateSdkKey { key: key.clone(), old_ends_at: now + overlap }).await?;
    Ok(CreatedSdkKey { key: summary(key, 0)?, secret: new.secret })
}

/// Revokes a key for good.
pub async fn revoke(state: &AppState, who: &InProject, id: SdkKeyId) -> Result<SdkKeySummary, AppError> {
    let key = find(state, who.id(), id).await?;
    check_permission(who, key.environment_id, &key.environment)?;
    write(state, who, Write::RevokeSdkKey { key: id }).await?;
    find_summary(state, who.id(), id).await
}

async fn write(state: &AppState, who: &InProject, write: Write) -> Result<(), AppError> {
    changeset::apply(state, who.id(), &who.actor, vec![write], &Note::default()).await?;
    Ok(())
}

async fn find_summary(state: &AppState, project: ProjectId, id: SdkKeyId) -> Result<SdkKeySummary, AppError> {
    let mut db = state.pool.acquire().await?;
    let found = store::sdk_key::list(&mut db, project, Some(id)).await?;
    let found = summaries(state, &mut db, project, found).await?.pop();
    found.ok_or_else(|| AppError::not_found("SDK key", id))
}

/// Keys with how often they were used of late, so that one sees an old key fall out of use.
async fn summaries(
    state: &AppState,
    db: &mut PgConnection,
    project: ProjectId,
    keys: Vec<SdkKey>,
) -> Result<Vec<SdkKeySummary>, AppError> {
    let period = Duration::minutes(i64::from(state.config.counts.resolution_minutes)).max(RECENT);
    let requests = store::sdk_key::list_requests(db, project, state.clock.now() - period).await?;
    let requests: HashMap<SdkKeyId, i64> = requests.into_iter().map(|one| (one.key_id, one.count)).collect();
    keys.into_iter()
        .map(|key| {
            let recent = requests.get(&key.id).copied().unwrap_or(0);
            summary(key, u64::try_from(recent).unwrap_or(0))
        })
        .collect()
}

fn check_permission(who: &InProject, environment: EnvironmentId, key: &str) -> Result<(), AppError> {
    let permission = Permission::ManageKeys;
    if who.permissions.in_environment(environment, permission) {
        return Ok(());
    }
    Err(AppError::Forbidden(format!("the permission {permission} in {key}")))
}

pub(super) fn check_origins(kind: SdkKeyKind, origins: &[WebOrigin]) -> Result<(), AppError> {
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

fn summary(key: SdkKey, recent_requests: u64) -> Result<SdkKeySummary, AppError> {
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
        recent_requests,
        replaces: key.replaces.map(Into::into),
        replaced_by: key.replaced_by.map(Into::into),
    })
}

//! Webhooks: made, listed, changed, switched on and off. They change no answer, so no changeset is needed; the audit says
//! who did it. What they send is made by `leader::webhook`.

pub mod address;
mod delivery;
pub mod event;
pub mod secret;

use std::collections::HashMap;

pub use delivery::{find_delivery, list_deliveries, message_id, send_again, send_test};
use serde_json::{Value, json};
use shared::model::changeset::Via;
use shared::model::id::{EnvironmentId, ProjectId, WebhookId};
use shared::model::key::EnvironmentKey;
use shared::model::webhook::EventType;
use shared::wire::api::webhook::{
    CreateWebhook, CreatedWebhook, UpdateWebhook, WEBHOOKS_MAX, WebhookDetail, WebhookList,
};
use sqlx::PgConnection;
use time::Duration;
use url::Url;

use crate::auth::permission::{Actor, InProject};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::audit::NewEvent;
use crate::store::webhook::delivery::Delivery;
use crate::store::webhook::{NewWebhook, Webhook, WebhookChange};

/// How long the secret before a rotation also signs.
const PREVIOUS_SECRET: Duration = Duration::hours(24);

/// The webhooks of a project, oldest first.
pub async fn list(state: &AppState, who: &InProject) -> Result<WebhookList, AppError> {
    let mut db = state.pool.acquire().await?;
    Ok(WebhookList { items: details(&mut db, who.id(), None).await? })
}

/// One of them.
pub async fn find(state: &AppState, who: &InProject, id: WebhookId) -> Result<WebhookDetail, AppError> {
    detail(&mut *state.pool.acquire().await?, who.id(), id).await
}

/// Makes a webhook. It hears of what happens from now on.
pub async fn create(state: &AppState, who: &InProject, body: CreateWebhook) -> Result<CreatedWebhook, AppError> {
    let url = address::parse(&body.url, &state.config.webhooks)?;
    let id = state.clock.id();
    let secret = secret::generate(&state.config.auth, id)?;
    let mut tx = state.pool.begin().await?;
    let environments = environment_ids(&mut tx, who.id(), &body.environments).await?;
    let at = state.clock.now();
    let event_types = words(&body.event_types);
    let new = NewWebhook {
        id,
        url: url.as_str(),
        event_types: &event_types,
        environments: &environments,
        secret: &secret.sealed,
        at,
        author: who.actor.user,
    };
    let most = i64::try_from(WEBHOOKS_MAX).unwrap_or(i64::MAX);
    if !store::webhook::insert(&mut tx, who.id(), &new, most).await? {
        return Err(AppError::field("url", format!("a project has at most {WEBHOOKS_MAX} webhooks; delete one first")));
    }
    let known = json!({ "event_types": body.event_types, "environments": body.environments });
    audit(state, &mut tx, who, "webhook.created", url.as_str(), known).await?;
    let webhook = detail(&mut tx, who.id(), id).await?;
    tx.commit().await?;
    Ok(CreatedWebhook { webhook, secret: secret.text })
}

/// Changes a webhook, or switches it on or off.
pub async fn update(
    state: &AppState,
    who: &InProject,
    id: WebhookId,
    body: UpdateWebhook,
) -> Result<WebhookDetail, AppError> {
    let url = body.url.as_deref().map(|text| address::parse(text, &state.config.webhooks)).transpose()?;
    let mut tx = state.pool.begin().await?;
    let environments = match &body.environments {
        Some(keys) => Some(environment_ids(&mut tx, who.id(), keys).await?),
        None => None,
    };
    let event_types = body.event_types.as_deref().map(words);
    let change = WebhookChange {
        url: url.as_ref().map(Url::as_str),
        event_types: event_types.as_deref(),
        environments: environments.as_deref(),
        is_enabled: body.enabled,
    };
    if !store::webhook::update(&mut tx, who.id(), id, &change).await? {
        return Err(AppError::not_found("webhook", id));
    }
    if body.enabled == Some(false) {
        let problem = "the webhook was switched off";
        store::webhook::delivery::give_up(&mut tx, id, problem, state.clock.now()).await?;
    }
    let webhook = detail(&mut tx, who.id(), id).await?;
    let known = json!({
        "moved": url.is_some(), "event_types": body.event_types, "environments": body.environments,
        "enabled": body.enabled,
    });
    audit(state, &mut tx, who, "webhook.changed", &webhook.url, known).await?;
    tx.commit().await?;
    Ok(webhook)
}

/// Deletes a webhook with its deliveries.
pub async fn delete(state: &AppState, who: &InProject, id: WebhookId) -> Result<(), AppError> {
    let mut tx = state.pool.begin().await?;
    let webhook = detail(&mut tx, who.id(), id).await?;
    store::webhook::delete(&mut tx, who.id(), id).await?;
    audit(state, &mut tx, who, "webhook.deleted", &webhook.url, json!({})).await?;
    tx.commit().await?;
    Ok(())
}

/// Gives a webhook another secret. For a day the one before signs, too, so that receivers can change over.
pub async fn rotate(state: &AppState, who: &InProject, id: WebhookId) -> Result<CreatedWebhook, AppError> {
    let secret = secret::generate(&state.config.auth, id)?;
    let until = state.clock.now() + PREVIOUS_SECRET;
    let mut tx = state.pool.begin().await?;
    if !store::webhook::rotate(&mut tx, who.id(), id, &secret.sealed, until).await? {
        return Err(AppError::not_found("webhook", id));
    }
    let webhook = detail(&mut tx, who.id(), id).await?;
    audit(state, &mut tx, who, "webhook.rotated", &webhook.url, json!({})).await?;
    tx.commit().await?;
    Ok(CreatedWebhook { webhook, secret: secret.text })
}

/// Switches a webhook off because of its receiver; what waits for it ends. Nothing when it is off already.
pub async fn disable(
    state: &AppState,
    tx: &mut PgConnection,
    project: ProjectId,
    (id, url): (WebhookId, &str),
    reason: &str,
) -> Result<(), AppError> {
    if !store::webhook::disable(tx, id, reason).await? {
        return Ok(());
    }
    let at = state.clock.now();
    store::webhook::delivery::give_up(tx, id, &format!("the webhook was switched off: {reason}"), at).await?;
    let event = NewEvent {
        at,
        actor: None,
        via: Via::System,
        project: Some(project),
        kind: "webhook.disabled",
        subject: host(url),
        detail: json!({ "reason": reason }),
    };
    store::audit::insert(tx, &event).await?;
    Ok(())
}

/// Scheme, host and port: what comes after may be a secret of the receiver's.
fn host(url: &str) -> &str {
    let begin = url.find("://").map_or(0, |at| at + 3);
    let end = url[begin..].find(['/', '?']).map_or(url.len(), |at| begin + at);
    &url[..end]
}

async fn audit(
    state: &AppState,
    tx: &mut PgConnection,
    who: &InProject,
    kind: &'static str,
    url: &str,
    detail: Value,
) -> Result<(), AppError> {
    let Actor { user, via, .. } = &who.actor;
    let (actor, project) = (Some(*user), Some(who.id()));
    let event = NewEvent { at: state.clock.now(), actor, via: *via, project, kind, subject: host(url), detail };
    store::audit::insert(tx, &event).await?;
    Ok(())
}

async fn detail(db: &mut PgConnection, project: ProjectId, id: WebhookId) -> Result<WebhookDetail, AppError> {
    details(db, project, Some(id)).await?.pop().ok_or_else(|| AppError::not_found("webhook", id))
}

async fn details(
    db: &mut PgConnection,
    project: ProjectId,
    id: Option<WebhookId>,
) -> Result<Vec<WebhookDetail>, AppError> {
    let webhooks = store::webhook::list(db, project, id).await?;
    let newest = store::webhook::delivery::list_newest(db, project).await?;
    let mut newest: HashMap<WebhookId, Delivery> = newest.into_iter().map(|found| (found.webhook_id, found)).collect();
    let environments = store::environment::list(db, project).await?;
    let key = |id: EnvironmentId| environments.iter().find(|e| e.id == id).map(|e| e.key.as_str());
    webhooks.into_iter().map(|webhook| shown(newest.remove(&webhook.id), webhook, key)).collect()
}

fn shown<'a>(
    newest: Option<Delivery>,
    webhook: Webhook,
    key: impl Fn(EnvironmentId) -> Option<&'a str>,
) -> Result<WebhookDetail, AppError> {
    Ok(WebhookDetail {
        id: webhook.id,
        url: webhook.url,
        event_types: webhook
            .event_types
            .iter()
            .map(|text| text.parse())
            .collect::<Result<_, _>>()
            .map_err(AppError::internal)?,
        environments: webhook
            .environment_ids
            .into_iter()
            .filter_map(|id| key(id.into()))
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map_err(AppError::internal)?,
        enabled: webhook.is_enabled,
        disabled_reason: webhook.disabled_reason,
        previous_secret_until: webhook.previous_until.map(Into::into),
        paused_until: webhook.paused_until.map(Into::into),
        pending: u64::try_from(webhook.pending).unwrap_or(0),
        last_delivery: newest.map(delivery::summary).transpose()?,
        created_at: webhook.created_at.into(),
        created_by: webhook.created_by,
    })
}

fn words(types: &[EventType]) -> Vec<String> {
    let mut words: Vec<String> = types.iter().map(ToString::to_string).collect();
    words.sort_unstable();
    words.dedup();
    words
}

async fn environment_ids(
    db: &mut PgConnection,
    project: ProjectId,
    keys: &[EnvironmentKey],
) -> Result<Vec<EnvironmentId>, AppError> {
    let known = store::environment::list(db, project).await?;
    let mut ids = Vec::new();
    for (at, key) in keys.iter().enumerate() {
        let found = known.iter().find(|environment| environment.key == key.as_str());
        let found = found.ok_or_else(|| {
            AppError::field(format!("environments[{at}]"), format!("'{key}' is no environment of this project"))
        })?;
        if !ids.contains(&found.id) {
            ids.push(found.id);
        }
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_audit_names_no_more_of_a_url_than_its_host() {
        for url in ["https://example.com/hooks/T0K3N", "https://example.com?key=T0K3N", "https://example.com"] {
            assert_eq!(host(url), "https://example.com");
        }
    }
}

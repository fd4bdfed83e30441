//! Webhooks: who else is told what happened, and what became of it.

use serde::{Deserialize, Serialize};

use crate::model::id::{DeliveryId, WebhookId};
use crate::model::key::EnvironmentKey;
use crate::model::timestamp::Timestamp;
use crate::model::webhook::{DeliveryState, EventType};

/// The most webhooks of a project.
pub const WEBHOOKS_MAX: usize = 20;
/// The longest URL, in bytes.
pub const URL_BYTES_MAX: usize = 2_000;
/// The most deliveries on a page.
pub const DELIVERIES_MAX: usize = 100;

/// Makes a webhook; its secret is in the answer and nowhere else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateWebhook {
    /// Where to send: `https://…`, at most 2,000 bytes, without user or fragment, not on a private network.
    pub url: String,
    /// What to send; everything when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub event_types: Vec<EventType>,
    /// Only what happens in these environments, and what is the same in all; everything when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environments: Vec<EnvironmentKey>,
}

/// Changes a webhook; absent fields stay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpdateWebhook {
    /// Where to send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What to send; everything when empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_types: Option<Vec<EventType>>,
    /// Where it has to happen; everywhere when empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environments: Option<Vec<EnvironmentKey>>,
    /// Whether anything is sent. What waits ends as failed when this becomes false; what happens until it is true again
    /// is not sent later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// A webhook without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WebhookDetail {
    /// Its id.
    pub id: WebhookId,
    /// Where it sends.
    pub url: String,
    /// What it sends; empty means everything.
    pub event_types: Vec<EventType>,
    /// Where it has to happen; empty means everywhere.
    pub environments: Vec<EnvironmentKey>,
    /// Whether anything is sent.
    pub enabled: bool,
    /// Why the product itself switched it off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled_reason: Option<String>,
    /// Until then the secret before the last rotation also signs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_secret_until: Option<Timestamp>,
    /// The receiver asked not to be called before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<Timestamp>,
    /// Deliveries that wait.
    pub pending: u64,
    /// The newest delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_delivery: Option<DeliverySummary>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub created_by: String,
}

/// A webhook with its new secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreatedWebhook {
    /// The webhook.
    pub webhook: WebhookDetail,
    /// `whsec_` and base64 of what signs; shown once.
    pub secret: String,
}

/// The webhooks of a project; at most 20.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WebhookList {
    /// Oldest first.
    pub items: Vec<WebhookDetail>,
}

/// One event on its way to one webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeliverySummary {
    /// Its id.
    pub id: DeliveryId,
    /// What the receiver sees as `webhook-id`; the same in every attempt.
    pub message_id: String,
    /// What happened.
    pub event_type: EventType,
    /// How far it has come.
    pub state: DeliveryState,
    /// When it was made.
    pub created_at: Timestamp,
    /// How often it was sent.
    pub attempts: u32,
    /// What the last attempt answered; absent when nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Why the last attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// When it is sent next, at the earliest; absent when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// When it was accepted or given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

/// A page of deliveries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeliveryPage {
    /// Newest first.
    pub items: Vec<DeliverySummary>,
    /// Where the next page begins; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A delivery with what was sent and answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeliveryDetail {
    /// The delivery.
    pub delivery: DeliverySummary,
    /// The very text that was signed.
    pub body: String,
    /// The last 30 attempts, oldest first.
    pub attempts: Vec<AttemptDetail>,
}

/// One time a delivery was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AttemptDetail {
    /// 1 for the first.
    pub number: u32,
    /// When.
    pub at: Timestamp,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// What was answered; absent when nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Why it failed; absent when it was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The first 2 KiB of the answer's body; what is not UTF-8 in it is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
}

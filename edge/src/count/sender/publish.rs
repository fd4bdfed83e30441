//! Hands a batch to the stream.

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::context::PublishError;
use shared::wire::count::{CONFIRM_HEADER, CountBatch, SUBJECT};
use thiserror::Error;
use tokio::time::timeout;

use crate::bus::Bus;

/// How long the stream may take to take a batch.
const ACK_TIMEOUT: Duration = Duration::from_secs(5);

/// Why the stream does not have a batch, as far as is known.
#[derive(Debug, Error)]
pub(super) enum SendError {
    #[error("the connection to NATS is down")]
    Down,
    #[error("the batch cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    #[error("the stream did not take the batch")]
    Refused(#[from] PublishError),
    #[error("the stream did not acknowledge the batch in time")]
    Late,
}

/// Publishes a batch that is to be confirmed at `inbox`; returns once the stream took it.
pub(super) async fn publish(bus: Bus, batch: CountBatch, inbox: String) -> Result<(), SendError> {
    // The client would queue the message and send it on reconnection, once per retry.
    if !bus.is_up() {
        return Err(SendError::Down);
    }
    let payload = serde_json::to_vec(&batch)?;
    let subject = format!("{SUBJECT}.{}", batch.process);
    let mut headers = HeaderMap::new();
    headers.insert(CONFIRM_HEADER, inbox);
    let sent = async { bus.jetstream().publish_with_headers(subject, headers, payload.into()).await?.await };
    match timeout(ACK_TIMEOUT, sent).await {
        Ok(acknowledged) => Ok(acknowledged.map(|_| ())?),
        Err(_) => Err(SendError::Late),
    }
}

//! One reading of the bucket from its beginning, and then whatever comes.
//!
//! This is an ordered consumer with one difference: the library's own continues by stream sequence when it lost its
//! place, and in a bucket that was made anew that skips what lies below. Here any gap, silence or reconnection ends the
//! watch, and the feed begins another from the beginning.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, Consumer, DeliverPolicy, ReplayPolicy, push};
use async_nats::jetstream::{self, Message};
use async_nats::{StatusCode, Subject, Subscriber};
use bytes::Bytes;
use futures::StreamExt;
use shared::wire::state::BUCKET;
use thiserror::Error;
use time::OffsetDateTime;
use tokio::time::{Instant, timeout_at};
use tracing::{debug, warn};

use crate::bus::Bus;

/// How often the server speaks when it has nothing to deliver.
const IDLE_HEARTBEAT: Duration = Duration::from_secs(2);
/// Silence for longer ends the watch.
const SILENCE_MAX: Duration = Duration::from_secs(6);
/// A consumer nobody listens to goes after this.
const INACTIVE_MAX: Duration = Duration::from_secs(10);

/// Why a watch ended, or could not begin.
#[derive(Debug, Error)]
pub(super) enum WatchError {
    #[error("the bucket does not exist yet")]
    NoBucket,
    #[error("the connection to NATS was lost")]
    Disconnected,
    #[error("the bucket was made anew")]
    Recreated,
    #[error("the bucket is ahead of what was delivered")]
    Behind,
    #[error("a message is missing")]
    Gap,
    #[error("the server fell silent")]
    Silent,
    #[error("{0} failed")]
    Request(&'static str, #[source] async_nats::Error),
}

/// A value of the bucket, or the loss of one.
pub(super) struct Delivery {
    /// The key inside the bucket.
    pub(super) key: String,
    /// The value; `None` for the marker of a deleted key.
    pub(super) value: Option<Bytes>,
    /// Messages the server has still waiting.
    pub(super) pending: u64,
    /// When the bucket took it, by the server's clock.
    pub(super) published: OffsetDateTime,
}

/// How far the bucket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// When it was made.
    created: OffsetDateTime,
    /// Sequence of its last message.
    last_sequence: u64,
    messages: u64,
}

/// Where a bucket and the consumer that reads it are found.
#[derive(Clone)]
pub(super) struct Place {
    context: jetstream::Context,
    stream: String,
    consumer: String,
}

/// What a look has seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) extent: Extent,
    /// What the server says of the consumer, when it was asked.
    pub(super) sent: Option<Sent>,
}

/// How far the server is with a consumer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// Messages not sent yet.
    pending: u64,
    /// How many it sent.
    consumer_sequence: u64,
}

pub(super) struct Watch {
    context: jetstream::Context,
    subscriber: Subscriber,
    prefix: String,
    place: Place,
    extent: Extent,
    consumer_sequence: u64,
    delivered: u64,
    /// What lies below was delivered, or taken out of the bucket again.
    complete_to: u64,
    heard_at: Instant,
    /// Nothing was waiting when the watch began.
    pub(super) is_empty: bool,
}

impl Watch {
    /// Begins to read from the beginning.
    pub(super) async fn begin(bus: &Bus) -> Result<Self, WatchError> {
        let context = bus.jetstream().clone();
        let stream = format!("KV_{BUCKET}");
        let extent = extent(&context, &stream).await?;
        let deliver_subject = bus.client().new_inbox();
        let subscribed = bus.client().subscribe(deliver_subject.clone()).await;
        let subscriber = subscribed.map_err(|error| WatchError::Request("subscribing", error.into()))?;
        let config = push::Config {
            deliver_subject,
            description: Some("edge feed".into()),
            deliver_policy: DeliverPolicy::LastPerSubject,
            ack_policy: AckPolicy::None,
            max_deliver: 1,
            filter_subject: format!("$KV.{BUCKET}.>"),
            replay_policy: ReplayPolicy::Instant,
            flow_control: true,
            idle_heartbeat: IDLE_HEARTBEAT,
            inactive_threshold: INACTIVE_MAX,
            num_replicas: 1,
            memory_storage: true,
            ..push::Config::default()
        };
        let made = context.create_consumer_on_stream(config, &stream).await;
        let consumer = made.map_err(|error| WatchError::Request("creating the consumer", error.into()))?;
        let is_empty = consumer.cached_info().num_pending == 0;
        let prefix = format!("$KV.{BUCKET}.");
        let place = Place { context: context.clone(), stream, consumer: consumer.cached_info().name.clone() };
        Ok(Self {
            context,
            subscriber,
            prefix,
            place,
            extent,
            consumer_sequence: 0,
            delivered: 0,
            complete_to: 0,
            heard_at: Instant::now(),
            is_empty,
        })
    }

    /// Sequence of the last message delivered.
    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The next delivery. May be dropped while waiting without losing one.
    pub(super) async fn next(&mut self) -> Result<Delivery, WatchError> {
        loop {
            let silent_at = self.heard_at + SILENCE_MAX;
            let received = timeout_at(silent_at, self.subscriber.next()).await.map_err(|_| WatchError::Silent)?;
            let message = received.ok_or(WatchError::Disconnected)?;
            self.heard_at = Instant::now();
            if message.status == Some(StatusCode::IDLE_HEARTBEAT) {
                self.answer(&message)?;
                continue;
            }
            if let Some(status) = message.status {
                warn!(%status, "the server ended the watch");
                return Err(WatchError::Silent);
            }
            return self.delivery(message);
        }
    }

    /// A heartbeat tells how much was delivered; one with a reply subject asks whether all of it was taken in.
    fn answer(&self, message: &async_nats::Message) -> Result<(), WatchError> {
        let headers = message.headers.as_ref();
        let stalled = headers.and_then(|headers| headers.get("Nats-Consumer-Stalled"));
        let stalled = stalled.map(|subject| Subject::from(subject.as_str()));
        if let Some(reply) = message.reply.clone().or(stalled) {
            let client = self.context.client();
            tokio::spawn(async move { client.publish(reply, Bytes::new()).await });
            return Ok(());
        }
        let last = headers.and_then(|headers| headers.get(async_nats::header::NATS_LAST_CONSUMER));
        match last.and_then(|last| last.as_str().parse::<u64>().ok()) {
            Some(last) if last != self.consumer_sequence => Err(WatchError::Gap),
            _ => Ok(()),
        }
    }

    fn delivery(&mut self, message: async_nats::Message) -> Result<Delivery, WatchError> {
        let message = Message { message, context: self.context.clone() };
        let info = message.info().map_err(|error| WatchError::Request("reading a message's position", error))?;
        let (pending, published) = (info.pending, info.published);
        let (consumer_sequence, stream_sequence) = (info.consumer_sequence, info.stream_sequence);
        if consumer_sequence != self.consumer_sequence + 1 {
            return Err(WatchError::Gap);
        }
        self.consumer_sequence = consumer_sequence;
        self.delivered = stream_sequence;
        let headers = message.headers.as_ref();
        let is_marker = headers.is_some_and(|headers| {
            headers.get("KV-Operation").is_some() || headers.get("Nats-Marker-Reason").is_some()
        });
        let key = message.subject.strip_prefix(self.prefix.as_str()).unwrap_or_default().to_owned();
        debug!(key, stream_sequence, pending, "received");
        let value = (!is_marker).then(|| message.message.payload.clone());
        Ok(Delivery { key, value, pending, published })
    }

    /// What [`Place::look`] needs, so that looking does not hold up the watch.
    pub(super) fn place(&self) -> (Place, Extent) {
        (self.place.clone(), self.extent)
    }

    /// Whether the server has nothing more to send, and everything it sent arrived.
    pub(super) fn has_received(&self, sent: Sent) -> bool {
        sent.pending == 0 && sent.consumer_sequence <= self.consumer_sequence
    }

    /// Everything that was in the bucket when the watch began has been delivered. The last message may have been taken
    /// out of the bucket since it was put, so its sequence need never arrive.
    pub(super) fn note_complete(&mut self) {
        self.complete_to = self.extent.last_sequence;
    }

    /// Whether everything up to `extent` was delivered.
    pub(super) fn has_all(&self, extent: &Extent) -> bool {
        extent.messages == 0 || self.delivered.max(self.complete_to) >= extent.last_sequence
    }
}

impl Place {
    /// A small read of how far the bucket is, and `with_consumer` of how far the server is with sending it; an error
    /// when it is another bucket than the watch began with.
    pub(super) async fn look(&self, begun: Extent, with_consumer: bool) -> Result<Look, WatchError> {
        let extent = extent(&self.context, &self.stream).await?;
        // A store put back from a copy keeps its birthday but goes back.
        if extent.created != begun.created || extent.last_sequence < begun.last_sequence {
            return Err(WatchError::Recreated);
        }
        let sent = if with_consumer { Some(self.sent().await?) } else { None };
        Ok(Look { extent, sent })
    }

    async fn sent(&self) -> Result<Sent, WatchError> {
        let found: Result<Consumer<push::Config>, _> =
            self.context.get_consumer_from_stream(&self.consumer, &self.stream).await;
        let consumer = found.map_err(|error| WatchError::Request("asking for the consumer", error.into()))?;
        let info = consumer.cached_info();
        Ok(Sent { pending: info.num_pending, consumer_sequence: info.delivered.consumer_sequence })
    }
}

async fn extent(context: &jetstream::Context, stream: &str) -> Result<Extent, WatchError> {
    use async_nats::jetstream::ErrorCode;
    use async_nats::jetstream::context::GetStreamErrorKind;
    match context.get_stream(stream).await {
        Ok(found) => {
            let info = found.cached_info();
            let (last_sequence, messages) = (info.state.last_sequence, info.state.messages);
            Ok(Extent { created: info.created, last_sequence, messages })
        }
        Err(error) => match error.kind() {
            GetStreamErrorKind::JetStream(inner) if inner.error_code() == ErrorCode::STREAM_NOT_FOUND => {
                Err(WatchError::NoBucket)
            }
            _ => Err(WatchError::Request("asking for the bucket", error.into())),
        },
    }
}

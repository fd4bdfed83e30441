//! The connection to NATS: kept up for ever, and its ups and downs made visible.

use std::time::Duration;

pub use async_nats::SubscribeError;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::{Client, ConnectOptions, Event, ServerAddr, Subscriber, jetstream};
use bytes::Bytes;
use shared::model::id::ProcessId;
use tokio::sync::watch;
use tracing::{info, warn};

use crate::clock;
use crate::config::Nats;

/// Only inboxes below this may be subscribed to by the role `edge`.
const INBOX_PREFIX: &str = "_INBOX_edge";
/// The longest wait between two tries to connect.
const RECONNECT_MAX: Duration = Duration::from_secs(4);
/// How long a request to the server may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection that is silent for two of these is given up.
const PING_INTERVAL: Duration = Duration::from_secs(5);
/// How long a message to nobody in particular may wait for room in the client's queue.
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(1);

/// Whether the connection stands, and the how manieth it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// Counts connections; what was read over an earlier one is not continued over a later one.
    pub epoch: u64,
    /// It stands now.
    pub is_up: bool,
}

/// The connection to NATS, cheap to clone.
#[derive(Clone)]
pub struct Bus {
    client: Client,
    jetstream: jetstream::Context,
    connection: watch::Receiver<Connection>,
}

impl Bus {
    /// Begins to connect, and goes on in the background until it succeeds and whenever it is lost.
    pub async fn connect(nats: &Nats, name: &str) -> Result<Self, async_nats::ConnectError> {
        let (sender, connection) = watch::channel(Connection::default());
        let mut options = ConnectOptions::new()
            .name(name)
            .custom_inbox_prefix(INBOX_PREFIX)
            .retry_on_initial_connect()
            .max_reconnects(None)
            .connection_timeout(REQUEST_TIMEOUT)
            .request_timeout(Some(REQUEST_TIMEOUT))
            .ping_interval(PING_INTERVAL)
            .reconnect_delay_callback(|attempt| {
                let whole = Duration::from_millis(50 << attempt.min(7)).min(RECONNECT_MAX);
                whole / 2 + clock::jitter(whole / 2)
            })
            .event_callback(move |event| {
                note(&sender, &event);
                std::future::ready(())
            });
        if let (Some(user), Some(password)) = (&nats.user, &nats.password) {
            options = options.user_and_password(user.clone(), password.clone());
        }
        let servers: Vec<ServerAddr> = nats.url.split(',').filter_map(|url| url.trim().parse().ok()).collect();
        let client = options.connect(servers).await?;
        let jetstream = ContextBuilder::new()
            .timeout(REQUEST_TIMEOUT)
            .ack_timeout(REQUEST_TIMEOUT)
            .backpressure_on_inflight(false)
            .build(client.clone());
        Ok(Self { client, jetstream, connection })
    }

    /// The plain client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Requests to JetStream.
    pub fn jetstream(&self) -> &jetstream::Context {
        &self.jetstream
    }

    /// A subject that is this process's alone, and what arrives there, over any number of connections.
    pub async fn inbox(&self, name: &str, process: ProcessId) -> Result<(String, Subscriber), SubscribeError> {
        let subject = format!("{INBOX_PREFIX}.{name}.{process}");
        let subscriber = self.client.subscribe(subject.clone()).await?;
        Ok((subject, subscriber))
    }

    /// Follows the connection's ups and downs.
    pub fn connection(&self) -> watch::Receiver<Connection> {
        self.connection.clone()
    }

    /// Whether the connection stands now.
    pub fn is_up(&self) -> bool {
        self.connection.borrow().is_up
    }

    /// Sends a message to whoever listens; while the connection is down it is dropped, since it would be old news.
    pub async fn say(&self, subject: &'static str, message: &impl serde::Serialize) {
        if !self.is_up() {
            return;
        }
        let payload = match serde_json::to_vec(message) {
            Ok(payload) => Bytes::from(payload),
            Err(error) => {
                warn!(%error, subject, "a message cannot be written as JSON");
                return;
            }
        };
        match tokio::time::timeout(PUBLISH_TIMEOUT, self.client.publish(subject, payload)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!(%error, subject, "a message could not be sent"),
            Err(_) => warn!(subject, "a message could not be sent: the client's queue is full"),
        }
    }

    /// Waits until everything said has left, for at most a second.
    pub async fn flush(&self) {
        if self.is_up() && tokio::time::timeout(PUBLISH_TIMEOUT, self.client.flush()).await.is_err() {
            warn!("messages may not have left: the connection did not take them within a second");
        }
    }
}

fn note(sender: &watch::Sender<Connection>, event: &Event) {
    match event {
        Event::Connected => {
            info!("connected to NATS");
            sender.send_modify(|connection| {
                connection.epoch += 1;
                connection.is_up = true;
            });
        }
        // The client itself is gone, at the end of the process.
        Event::Closed => sender.send_modify(|connection| connection.is_up = false),
        Event::Disconnected => {
            warn!("the connection to NATS is lost; answers go on from memory");
            sender.send_modify(|connection| connection.is_up = false);
        }
        other => warn!(event = %other, "NATS reports a problem"),
    }
}

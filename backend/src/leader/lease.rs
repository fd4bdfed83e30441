//! Leadership: a connection of its own that holds an advisory lock and listens, never inside a transaction.

use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_postgres::{AsyncMessage, Client, Config, NoTls, SimpleQueryMessage, Socket};

use crate::store;

/// Any number, the same on every backend of a database.
const LOCK: i64 = 0x666c_7578_6761_7465;
/// How often a backend that does not lead tries.
const POLL: Duration = Duration::from_secs(1);
/// A dead peer is noticed after about three of these.
const KEEPALIVE: Duration = Duration::from_secs(3);
/// Notifications say only "look": more than one waiting adds nothing.
const NOTIFICATIONS_MAX: usize = 16;

/// Held by the one backend that leads.
pub(super) struct Lease {
    client: Client,
    notifications: Receiver<()>,
}

impl Lease {
    /// Waits until nobody else leads.
    pub(super) async fn take(url: &str) -> Result<Self, tokio_postgres::Error> {
        let (sender, notifications) = channel(NOTIFICATIONS_MAX);
        let client = connect(url, Some(sender)).await?;
        loop {
            let row = client.query_one("select pg_try_advisory_lock($1)", &[&LOCK]).await?;
            if row.get(0) {
                break;
            }
            tokio::time::sleep(POLL).await;
        }
        client.batch_execute(&format!("listen {}", store::changeset::CHANNEL)).await?;
        Ok(Self { client, notifications })
    }

    /// Wakes the publisher for every notification; returns when the connection is gone, or leads to a server that may not
    /// write any more: after a fail-over its lock is nobody's.
    pub(super) async fn hold(mut self, wake: &Notify) {
        let mut check = tokio::time::interval(KEEPALIVE);
        loop {
            tokio::select! {
                notified = self.notifications.recv() => match notified {
                    Some(()) => wake.notify_one(),
                    None => return,
                },
                _ = check.tick() => {
                    let asked = self.client.simple_query("show transaction_read_only");
                    let Ok(Ok(answer)) = tokio::time::timeout(KEEPALIVE, asked).await else { return };
                    if answer.iter().any(may_not_write) {
                        return;
                    }
                }
            }
        }
    }
}

fn may_not_write(message: &SimpleQueryMessage) -> bool {
    matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some("on"))
}

/// A connection outside the pool, with keep-alives of seconds.
pub(super) async fn connect(url: &str, notify: Option<Sender<()>>) -> Result<Client, tokio_postgres::Error> {
    let mut config: Config = url.parse()?;
    config
        .application_name("fluxgate-leader")
        .connect_timeout(KEEPALIVE)
        .keepalives_idle(KEEPALIVE)
        .keepalives_interval(KEEPALIVE)
        .keepalives_retries(2)
        .tcp_user_timeout(KEEPALIVE * 3);
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(drive(connection, notify));
    Ok(client)
}

async fn drive(
    mut connection: tokio_postgres::Connection<Socket, tokio_postgres::tls::NoTlsStream>,
    notify: Option<Sender<()>>,
) {
    loop {
        match std::future::poll_fn(|context| connection.poll_message(context)).await {
            Some(Ok(AsyncMessage::Notification(_))) => {
                if let Some(notify) = &notify
                    && notify.try_send(()).is_err()
                {
                    tracing::trace!("the publisher is woken already");
                }
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                tracing::warn!(error = %crate::error::chain(&error), "a leader's connection broke");
                return;
            }
            None => return,
        }
    }
}

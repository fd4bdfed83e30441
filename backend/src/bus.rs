//! The connection to NATS.

use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event};

use crate::config::Nats;

/// Connects in the background and for ever: NATS may be gone at start, and come back at any time.
pub async fn connect(settings: &Nats) -> Result<Client, async_nats::ConnectError> {
    let mut options = ConnectOptions::new()
        .name("fluxgate-backend")
        .retry_on_initial_connect()
        .max_reconnects(None)
        .connection_timeout(Duration::from_secs(3))
        .ping_interval(Duration::from_secs(5))
        .request_timeout(Some(Duration::from_secs(5)))
        .reconnect_delay_callback(|attempt| {
            let ceiling = Duration::from_millis(100 * 2_u64.pow(u32::try_from(attempt.min(5)).unwrap_or(5)));
            ceiling.min(Duration::from_secs(2)).mul_f64(rand::random_range(0.5..1.0))
        })
        .event_callback(|event| async move {
            match event {
                Event::Connected => tracing::info!("connected to NATS"),
                Event::Disconnected => tracing::warn!("lost the connection to NATS"),
                other => tracing::debug!(event = %other, "NATS says"),
            }
        });
    if let (Some(user), Some(password)) = (&settings.user, &settings.password) {
        options = options.user_and_password(user.clone(), password.clone());
    }
    let servers: Vec<&str> = settings.url.split(',').map(str::trim).collect();
    options.connect(servers).await
}

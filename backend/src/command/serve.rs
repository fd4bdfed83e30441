//! `serve`: everything, in the order in which it starts.

use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::auth::sdk_key::{hex, random_bytes};
use crate::command::{Failure, connect};
use crate::config::Config;
use crate::error::chain;
use crate::http::router::router;
use crate::state::AppState;
use crate::store::migration::MigrationError;
use crate::{app, bus, leader, live, store};

/// Wait between tries while PostgreSQL is not there yet.
const RETRY: Duration = Duration::from_secs(1);
/// Requests under way may take this long to end.
const DRAIN_MAX: Duration = Duration::from_secs(10);

/// Serves until SIGTERM or SIGINT.
pub(super) async fn run(config: Config) -> Result<(), Failure> {
    let listen = config.server.listen;
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|error| format!("cannot listen on {listen}: {error}; choose another with BACKEND_SERVER__LISTEN"))?;
    let stop = CancellationToken::new();
    let mut stopping = JoinSet::new();
    stopping.spawn(wait_for_signal(stop.clone()));

    let pool = connect(&config).await?;
    while let Err(error) = store::migration::run(&pool).await {
        if !is_unavailable(&error) {
            return Err(error.into());
        }
        tracing::warn!(error = %chain(&error), "waiting for PostgreSQL");
        tokio::select! {
            () = tokio::time::sleep(RETRY) => {}
            () = stop.cancelled() => return Ok(()),
        }
    }
    let public_url = config.server.public_url.clone();
    let mut state = AppState::new(config, pool, stop.clone())?;
    open_setup(&mut state, &public_url).await?;
    if public_url.starts_with("http://") {
        tracing::warn!(
            public_url,
            "cookies are sent without encryption; set BACKEND_SERVER__PUBLIC_URL to an https:// address in production"
        );
    }
    let bus = bus::connect(&state.config.nats).await?;

    let mut tasks = JoinSet::new();
    tasks.spawn(live::listen(state.clone(), bus.clone(), stop.clone()));
    tasks.spawn(leader::run(state.clone(), bus, stop.clone()));
    tracing::info!(address = %listener.local_addr()?, "listening");
    let server = axum::serve(listener, router(state)).with_graceful_shutdown(stop.clone().cancelled_owned());
    let drained = async {
        stop.cancelled().await;
        tokio::time::sleep(DRAIN_MAX).await;
    };
    tokio::select! {
        done = async { server.await } => done?,
        () = drained => tracing::warn!("some requests did not end in time"),
    }
    stop.cancel();
    tasks.join_all().await;
    tracing::info!("stopped");
    Ok(())
}

async fn open_setup(state: &mut AppState, public_url: &str) -> Result<(), Failure> {
    if app::setup::is_open(state).await? {
        let code = hex(&random_bytes()[..8]);
        tracing::info!("nobody exists yet; open {}/setup?code={code}", public_url.trim_end_matches('/'));
        state.setup_code = Some(code.into());
    }
    Ok(())
}

async fn wait_for_signal(stop: CancellationToken) {
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("stopping");
    stop.cancel();
}

/// True when the database may come yet.
fn is_unavailable(error: &MigrationError) -> bool {
    match error {
        MigrationError::Database(sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut) => true,
        MigrationError::Database(sqlx::Error::Database(error)) => error.code().is_some_and(|c| c.starts_with("57P")),
        _ => false,
    }
}

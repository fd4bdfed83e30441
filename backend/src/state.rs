//! What a request can reach.

use std::sync::Arc;

use sqlx::PgPool;
use thiserror::Error;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::app::exchange;
use crate::auth::api_token::UnknownTokens;
use crate::auth::limit::TryLimit;
use crate::auth::session::SessionKeys;
use crate::clock::Clock;
use crate::config::{Config, ConfigError};
use crate::live::Live;
use crate::metrics::Metrics;

/// Cheap to clone; shared by all requests and tasks.
#[derive(Clone)]
pub struct AppState {
    /// PostgreSQL.
    pub pool: PgPool,
    /// Time and ids.
    pub clock: Clock,
    /// Settings.
    pub config: Arc<Config>,
    /// Keys that sign sessions.
    pub session_keys: Arc<SessionKeys>,
    /// Slows down guessing.
    pub sign_in_limit: Arc<TryLimit>,
    /// One permit for each export or import that may be under way.
    pub exchanges: Arc<Semaphore>,
    /// Tokens that nobody has to look for again.
    pub unknown_tokens: Arc<UnknownTokens>,
    /// What happens right now: edges, receipts, events for the UI.
    pub live: Arc<Live>,
    /// Figures of this process.
    pub metrics: Arc<Metrics>,
    /// The code that opens first run; absent when somebody exists.
    pub setup_code: Option<Arc<str>>,
    /// Cancelled when the process stops, so that streams end.
    pub stopping: CancellationToken,
}

impl AppState {
    /// Nobody is known to be live, and first run is closed.
    pub fn new(config: Config, pool: PgPool, stopping: CancellationToken) -> Result<Self, StartError> {
        Ok(Self {
            pool,
            clock: Clock::default(),
            session_keys: Arc::new(SessionKeys::new(&config.auth.secret_bytes()?)?),
            config: Arc::new(config),
            sign_in_limit: Arc::default(),
            exchanges: Arc::new(Semaphore::new(exchange::AT_ONCE_MAX)),
            unknown_tokens: Arc::default(),
            live: Arc::default(),
            metrics: Arc::default(),
            setup_code: None,
            stopping,
        })
    }
}

/// Why a backend cannot start with its settings.
#[derive(Debug, Error)]
pub enum StartError {
    /// A setting is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The keys that sign sessions cannot be made.
    #[error("the keys that sign sessions cannot be derived from auth.secret")]
    Keys(#[from] jsonwebtoken::errors::Error),
}

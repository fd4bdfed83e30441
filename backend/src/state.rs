//! What a request can reach.

use std::sync::Arc;

use sqlx::PgPool;
use tokio_util::sync::CancellationToken;

use crate::auth::limit::TryLimit;
use crate::auth::session::SessionKeys;
use crate::clock::Clock;
use crate::config::Config;
use crate::live::Live;

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
    /// What happens right now: edges, receipts, events for the UI.
    pub live: Arc<Live>,
    /// The code that opens first run; absent when somebody exists.
    pub setup_code: Option<Arc<str>>,
    /// Cancelled when the process stops, so that streams end.
    pub stopping: CancellationToken,
}

//! The one home of time and new ids, so that tests can move the one and seed the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use time::{Duration, OffsetDateTime};
use uuid::Uuid;

/// Tells the time and makes ids; clones share the same offset.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    offset_ms: Arc<AtomicI64>,
}

impl Clock {
    /// The present moment.
    #[expect(clippy::disallowed_methods, reason = "this is the one home of the system clock")]
    pub fn now(&self) -> OffsetDateTime {
        let offset = Duration::milliseconds(self.offset_ms.load(Ordering::Relaxed));
        // PostgreSQL keeps microseconds; cutting here makes what is written equal to what is read back.
        let now = OffsetDateTime::now_utc() + offset;
        now.replace_nanosecond(now.nanosecond() / 1_000 * 1_000).unwrap_or(now)
    }

    /// A new id, ordered by time.
    #[expect(clippy::disallowed_methods, reason = "this is the one home of new ids")]
    pub fn id<T: From<Uuid>>(&self) -> T {
        Uuid::now_v7().into()
    }

    /// Moves the clock forward, in tests.
    pub fn advance(&self, by: Duration) {
        let ms = i64::try_from(by.whole_milliseconds()).unwrap_or(i64::MAX);
        self.offset_ms.fetch_add(ms, Ordering::Relaxed);
    }
}

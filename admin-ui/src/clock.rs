//! The browser's clock and its randomness: the one place that reads them, and a signal that ticks every second.

use std::time::Duration;

use leptos::prelude::*;
use shared::model::timestamp::Timestamp;

/// Milliseconds since 1970 by the browser's clock.
pub fn now_ms() -> i64 {
    js_sys::Date::now() as i64
}

/// A moment so many minutes from now, for "turn it back on in 15 min".
pub fn in_minutes(minutes: i64) -> Option<Timestamp> {
    let at = now_ms() / 1_000 + minutes * 60;
    time::OffsetDateTime::from_unix_timestamp(at).ok().map(Timestamp::from)
}

/// A new id.
#[expect(clippy::disallowed_methods, reason = "the one home of ids in the browser")]
pub fn new_id() -> uuid::Uuid {
    uuid::Uuid::now_v7()
}

/// Random text that makes a split independent of others.
#[expect(clippy::disallowed_methods, reason = "the one home of randomness in the browser")]
pub fn new_seed() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// Ticks once a second. A context of the whole app.
#[derive(Clone, Copy)]
pub struct Clock(RwSignal<i64>);

impl Clock {
    /// Starts ticking.
    pub fn start() -> Self {
        let now = RwSignal::new(now_ms());
        let handle = set_interval_with_handle(move || now.set(now_ms()), Duration::from_secs(1));
        on_cleanup(move || {
            if let Ok(handle) = handle {
                handle.clear();
            }
        });
        Self(now)
    }

    /// The clock of the app.
    pub fn get() -> Self {
        expect_context()
    }

    /// Now, to the second; tracked.
    pub fn now_ms(self) -> i64 {
        self.0.get()
    }

    /// How long ago a moment was, in ms; never negative, since clocks differ; tracked.
    pub fn since_ms(self, at: Timestamp) -> i64 {
        (self.now_ms() - at.unix_ms()).max(0)
    }
}

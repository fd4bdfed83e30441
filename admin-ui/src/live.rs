//! Keeps every page current: one event stream for the whole app, whoever listens, and how it is doing.

use std::sync::Arc;
use std::time::Duration;

use gloo_timers::future::TimeoutFuture;
use leptos::prelude::*;
use leptos::task::spawn_local;
use shared::wire::api::event::Event;

use crate::api::client;
use crate::api::event::{End, Watched, read};
use crate::clock::now_ms;
use crate::session::Session;

/// The wait after the first loss; doubles with each further one.
const WAIT_MS: u32 = 500;
/// The longest wait between two tries.
const WAIT_MS_MAX: u32 = 30_000;
/// After so long without a stream the page says "offline".
const OFFLINE_AFTER_MS: i64 = 20_000;

/// How the stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not there yet.
    Connecting,
    /// Events come in.
    Live,
    /// Lost at that time (ms since 1970), being tried again.
    Lost(i64),
}

type Listener = Arc<dyn Fn(&Event) + Send + Sync>;

/// The event stream. A context of the whole app.
#[derive(Clone, Copy)]
pub struct Live {
    status: RwSignal<Status>,
    listeners: StoredValue<Vec<(u64, Listener)>>,
    next: StoredValue<u64>,
    /// Whatever happened between two streams was missed, a sign-in in between included.
    has_been_live: StoredValue<bool>,
    /// The flag whose counts the stream tells, too.
    watched: RwSignal<Option<Watched>>,
    /// The run whose stream is read right now.
    reading: StoredValue<Option<u64>>,
}

impl Live {
    /// Reads the stream while somebody is signed in.
    pub fn start(session: Session) -> Self {
        let live = Self {
            status: RwSignal::new(Status::Connecting),
            listeners: StoredValue::new(Vec::new()),
            next: StoredValue::new(0),
            has_been_live: StoredValue::new(false),
            watched: RwSignal::new(None),
            reading: StoredValue::new(None),
        };
        // Each sign-in and each other flag to watch begins a new run; an older one ends when it sees that it is not the
        // newest, but goes on reading until that one has a stream, so that nothing is missed in between.
        let run = StoredValue::new(0_u64);
        Effect::new(move |_| {
            run.update_value(|run| *run += 1);
            let mine = run.get_value();
            let watched = live.watched.get();
            if session.is_signed_in() {
                spawn_local(live.keep(mine, watched, move || run.get_value() == mine));
            } else {
                live.reading.set_value(None);
                live.status.set(Status::Connecting);
            }
        });
        live
    }

    /// The stream of the app.
    pub fn get() -> Self {
        expect_context()
    }

    /// Tracked.
    pub fn status(self) -> Status {
        self.status.get()
    }

    /// Whether the stream has been away for so long that the page is called offline, by the given time.
    pub fn is_offline(status: Status, now_ms: i64) -> bool {
        matches!(status, Status::Lost(since) if now_ms - since > OFFLINE_AFTER_MS)
    }

    /// Calls `listener` with every event until the owner that asks is gone.
    pub fn on_event(self, listener: impl Fn(&Event) + Send + Sync + 'static) {
        let id = self.next.get_value();
        self.next.set_value(id + 1);
        self.listeners.update_value(|known| known.push((id, Arc::new(listener))));
        on_cleanup(move || {
            self.listeners.try_update_value(|known| known.retain(|(other, _)| *other != id));
        });
    }

    /// From now on the stream tells the counts of this flag, until another is named: leaving its page costs no new stream.
    pub fn watch(self, flag: Watched) {
        if self.watched.with_untracked(|watched| watched.as_ref() != Some(&flag)) {
            self.watched.set(Some(flag));
        }
    }

    fn tell(self, event: &Event) {
        // A copy, because a listener may add or remove listeners.
        let listeners = self.listeners.with_value(|known| known.iter().map(|(_, l)| Arc::clone(l)).collect::<Vec<_>>());
        for listener in listeners {
            listener(event);
        }
    }

    async fn keep(self, mine: u64, watched: Option<Watched>, is_newest: impl Fn() -> bool + Copy + 'static) {
        let failures = StoredValue::new(0_u32);
        while is_newest() {
            let opened = move || {
                failures.set_value(0);
                self.status.set(Status::Live);
                // Taken over from a stream that was read until now: nothing was missed.
                let was_read = self.reading.get_value().is_some();
                if is_newest() {
                    self.reading.set_value(Some(mine));
                }
                if self.has_been_live.get_value() && !was_read {
                    self.tell(&Event::Resync);
                }
                self.has_been_live.set_value(true);
            };
            let is_read = move || self.reading.get_value() == Some(mine);
            let heard = move |event: Option<Event>| {
                if is_read()
                    && let Some(event) = event
                {
                    self.tell(&event);
                }
                is_read()
            };
            let end = read(watched.as_ref(), opened, heard).await;
            if is_read() {
                self.reading.set_value(None);
            }
            if !is_newest() {
                return;
            }
            if end == End::Refused && watched.is_some() {
                // The flag is gone; everything else goes on without it.
                self.watched.set(None);
                return;
            }
            if end == End::Unauthorized {
                client::unauthorized();
                return;
            }
            self.status.update(|status| {
                if !matches!(status, Status::Lost(_)) {
                    *status = Status::Lost(now_ms());
                }
            });
            TimeoutFuture::new(wait_ms(failures.get_value(), js_sys::Math::random())).await;
            failures.update_value(|failures| *failures = failures.saturating_add(1));
        }
    }
}

/// Calls `action` at once and then at most once per `pause`, however often it is asked; the last call is never lost.
pub fn throttled(pause: Duration, action: impl Fn() + Send + Sync + 'static) -> impl Fn() + Send + Sync + Clone {
    let action = Arc::new(action);
    let is_waiting = StoredValue::new(false);
    let is_due = StoredValue::new(false);
    move || {
        if is_waiting.try_get_value() != Some(false) {
            is_due.try_set_value(true);
            return;
        }
        is_waiting.set_value(true);
        action();
        let action = Arc::clone(&action);
        set_timeout(
            move || {
                let was_due = is_due.try_get_value() == Some(true);
                is_due.try_set_value(false);
                is_waiting.try_set_value(false);
                if was_due {
                    action();
                }
            },
            pause,
        );
    }
}

/// Half to all of the doubled wait, so that browsers do not come back in one wave.
fn wait_ms(failures: u32, random: f64) -> u32 {
    let longest = WAIT_MS.saturating_mul(1 << failures.min(10)).min(WAIT_MS_MAX);
    longest / 2 + (f64::from(longest / 2) * random) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_grows_to_its_cap() {
        assert_eq!(wait_ms(0, 0.0), 250);
        assert!((wait_ms(0, 1.0)..=500).contains(&500));
        assert_eq!(wait_ms(40, 1.0), WAIT_MS_MAX);
    }
}

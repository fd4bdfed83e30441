//! Server data as signals, and the one helper for writes.

use std::future::Future;

use leptos::prelude::*;
use leptos::task::spawn_local;
use shared::wire::api::event::Event;

use crate::api::client::ApiError;
use crate::live::Live;

/// Something the backend knows, asked for again when its key changes. Old data stays until new data is there.
pub struct Remote<T: Send + Sync + 'static> {
    data: RwSignal<Option<T>>,
    error: RwSignal<Option<ApiError>>,
    is_loading: RwSignal<bool>,
    again: RwSignal<u32>,
}

impl<T: Send + Sync + 'static> Clone for Remote<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Send + Sync + 'static> Copy for Remote<T> {}

impl<T: Clone + PartialEq + Send + Sync + 'static> Remote<T> {
    /// Loads by `key`; a `None` key loads nothing. With another key the old data stays, dimmed by the page.
    pub fn new<K, Fut>(key: impl Fn() -> Option<K> + 'static, fetch: impl Fn(K) -> Fut + 'static) -> Self
    where
        K: PartialEq + Clone + 'static,
        Fut: Future<Output = Result<T, ApiError>> + 'static,
    {
        let remote = Self {
            data: RwSignal::new(None),
            error: RwSignal::new(None),
            is_loading: RwSignal::new(false),
            again: RwSignal::new(0),
        };
        // Answers may overtake each other; only the newest question counts.
        let asked = StoredValue::new(0_u64);
        Effect::new(move |_| {
            remote.again.track();
            let Some(key) = key() else { return };
            asked.update_value(|asked| *asked += 1);
            let mine = asked.get_value();
            remote.is_loading.set(true);
            let answer = fetch(key);
            spawn_local(async move {
                let answer = answer.await;
                if asked.try_get_value() != Some(mine) {
                    return;
                }
                remote.is_loading.try_set(false);
                match answer {
                    Ok(data) => {
                        remote.error.try_set(None);
                        if remote.data.try_with_untracked(|old| old.as_ref() != Some(&data)) == Some(true) {
                            remote.data.try_set(Some(data));
                        }
                    }
                    Err(error) => {
                        remote.error.try_set(Some(error));
                    }
                }
            });
        });
        remote
    }

    /// Asks again whenever an event of the stream says that the answer may have changed.
    pub fn follow(self, concerns: impl Fn(&Event) -> bool + Send + Sync + 'static) -> Self {
        Live::get().on_event(move |event| {
            if matches!(event, Event::Resync) || concerns(event) {
                self.reload();
            }
        });
        self
    }

    /// Changes what was loaded by what is known to have changed since.
    pub fn change(self, change: impl FnOnce(&mut T)) {
        self.data.try_maybe_update(|data| match data {
            Some(data) => {
                change(data);
                (true, ())
            }
            None => (false, ()),
        });
    }

    /// Asks again.
    pub fn reload(self) {
        self.again.try_update(|again| *again = again.wrapping_add(1));
    }

    /// What was loaded last; tracked.
    pub fn data(self) -> Option<T> {
        self.data.get()
    }

    /// Looks at what was loaded last; tracked.
    pub fn with<U>(self, look: impl FnOnce(Option<&T>) -> U) -> U {
        self.data.with(|data| look(data.as_ref()))
    }

    /// Whether something was loaded; tracked, and quiet while it is only refreshed.
    pub fn is_loaded(self) -> Memo<bool> {
        let data = self.data;
        Memo::new(move |_| data.with(Option::is_some))
    }

    /// Why there is nothing to show; a failed refresh of shown data counts only when the thing itself is gone; tracked.
    pub fn failure(self) -> Option<ApiError> {
        let has_data = self.data.with(Option::is_some);
        self.error.get().filter(|error| !has_data || error.status() == Some(404))
    }

    /// Whether a question is open; tracked.
    pub fn is_loading(self) -> bool {
        self.is_loading.get()
    }
}

/// One write at a time: pending, then success or failure.
#[derive(Clone, Copy)]
pub struct Write {
    pending: RwSignal<bool>,
    error: RwSignal<Option<ApiError>>,
}

impl Write {
    /// Nothing is being written.
    pub fn new() -> Self {
        Self { pending: RwSignal::new(false), error: RwSignal::new(None) }
    }

    /// Sends, unless something is being sent; `done` gets the answer.
    pub fn run<T: 'static>(
        self,
        send: impl Future<Output = Result<T, ApiError>> + 'static,
        done: impl FnOnce(T) + 'static,
    ) {
        if self.pending.get_untracked() {
            return;
        }
        self.pending.set(true);
        self.error.set(None);
        spawn_local(async move {
            let answer = send.await;
            self.pending.try_set(false);
            match answer {
                Ok(answer) => done(answer),
                Err(error) => {
                    self.error.try_set(Some(error));
                }
            }
        });
    }

    /// Tracked.
    pub fn is_pending(self) -> bool {
        self.pending.get()
    }

    /// Why the last one failed; tracked.
    pub fn error(self) -> Option<ApiError> {
        self.error.get()
    }

    /// Forgets the last failure.
    pub fn clear(self) {
        self.error.set(None);
    }

    /// What the backend said of one field; tracked.
    pub fn field(self, name: &str) -> Option<String> {
        self.error.with(|error| {
            error.as_ref()?.fields().iter().find(|problem| problem.field == name).map(|problem| problem.message.clone())
        })
    }
}

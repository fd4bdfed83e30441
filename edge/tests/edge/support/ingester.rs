//! Confirms batches of counts as the backend does once they are in the database.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::jetstream::{self, stream};
use async_nats::{Client, HeaderMap};
use shared::wire::count::{CONFIRM_HEADER, Confirmation, CountBatch, STREAM};
use tokio::task::JoinHandle;

/// How often it looks at the stream, which it leaves as it is.
const INTERVAL: Duration = Duration::from_millis(50);

type Added = Arc<Mutex<BTreeMap<Confirmation, CountBatch>>>;

/// A task that confirms whatever lies in the stream, be it absent, full or made anew meanwhile.
pub(crate) struct Ingester {
    is_there: Arc<AtomicBool>,
    added: Added,
    task: JoinHandle<()>,
}

impl Ingester {
    pub(crate) fn start(client: Client) -> Self {
        let (is_there, added) = (Arc::new(AtomicBool::new(true)), Added::default());
        let task = tokio::spawn(ingest(client, Arc::clone(&is_there), Arc::clone(&added)));
        Self { is_there, added, task }
    }

    pub(crate) fn let_ingest(&self, is_there: bool) {
        self.is_there.store(is_there, Ordering::Relaxed);
    }

    pub(crate) fn confirmed(&self) -> Vec<CountBatch> {
        lock(&self.added).values().cloned().collect()
    }
}

impl Drop for Ingester {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn ingest(client: Client, is_there: Arc<AtomicBool>, added: Added) {
    let mut context = jetstream::new(client.clone());
    context.set_timeout(Duration::from_secs(1));
    let (mut stream_of, mut next) = (None, 1);
    loop {
        tokio::time::sleep(INTERVAL).await;
        if !is_there.load(Ordering::Relaxed) {
            continue;
        }
        let Ok(mut stream) = context.get_stream(STREAM).await else { continue };
        let Ok(info) = stream.info().await.cloned() else { continue };
        if stream_of != Some(info.created) || info.state.last_sequence + 1 < next {
            (stream_of, next) = (Some(info.created), 1);
        }
        while next <= info.state.last_sequence {
            let Some(()) = confirm(&client, &stream, next, &added).await else { break };
            next += 1;
        }
    }
}

/// Confirms one message; `None` when it cannot be read now.
async fn confirm(client: &Client, stream: &stream::Stream, sequence: u64, added: &Added) -> Option<()> {
    let message = stream.get_raw_message(sequence).await.ok()?;
    let batch: CountBatch = serde_json::from_slice(&message.payload).expect("a batch");
    let name = batch.confirmation();
    if !lock(added).values().any(|other| overlap(other, &batch)) {
        let first = lock(added).entry(name).or_insert_with(|| batch.clone()).clone();
        assert_eq!(first, batch, "a batch is never changed");
    }
    let headers: &HeaderMap = &message.headers;
    let subject = headers.get(CONFIRM_HEADER).expect("it says where to confirm it").as_str().to_owned();
    let confirmation = serde_json::to_vec(&name).expect("JSON");
    client.publish(subject, confirmation.into()).await.ok()?;
    Some(())
}

/// A copy of a folder sent some of the same: that is confirmed, and not added.
fn overlap(one: &CountBatch, other: &CountBatch) -> bool {
    let is_same = (one.first(), one.sequence) == (other.first(), other.sequence);
    one.process == other.process && !is_same && one.first() <= other.sequence && other.first() <= one.sequence
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

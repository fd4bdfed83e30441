//! The stream of counts and the leader's consumer of it.

use std::time::Duration;

use async_nats::Client as Bus;
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::{self, stream};
use shared::wire::count::{STREAM, SUBJECT};

/// The stream's bound; edges keep counting and wait when it is full.
const STREAM_BYTES_MAX: i64 = 1024 * 1024 * 1024;
const CONSUMER: &str = "ingest";
/// Batches under way at once.
pub(super) const PENDING_MAX: usize = 64;
/// A batch that was not acknowledged comes again after this: one that was under way to a leader that is gone waits so
/// long. Adding may take longer; then it comes again and changes nothing.
const ACK_WAIT: Duration = Duration::from_secs(10);

/// Makes both where they are missing.
pub(super) async fn open(bus: &Bus) -> Result<(stream::Stream, PullConsumer), async_nats::Error> {
    let stream = jetstream::new(bus.clone()).get_or_create_stream(config()).await?;
    let consumer = pull::Config {
        durable_name: Some(CONSUMER.into()),
        ack_policy: AckPolicy::Explicit,
        ack_wait: ACK_WAIT,
        max_ack_pending: PENDING_MAX as i64,
        ..Default::default()
    };
    // One that an earlier release made gets these settings, too.
    let consumer = stream.create_consumer(consumer).await?;
    Ok((stream, consumer))
}

fn config() -> stream::Config {
    stream::Config {
        name: STREAM.into(),
        description: Some("Counts on their way from edges to PostgreSQL".into()),
        subjects: vec![format!("{SUBJECT}.>")],
        retention: stream::RetentionPolicy::WorkQueue,
        discard: stream::DiscardPolicy::New,
        max_bytes: STREAM_BYTES_MAX,
        storage: stream::StorageType::File,
        ..Default::default()
    }
}

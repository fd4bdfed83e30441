//! Batches that cannot be added, kept for somebody to look at.

use shared::wire::count::{BATCH_BYTES_MAX, Confirmation};
use time::OffsetDateTime;
use tokio_postgres::Client;

/// As many are kept; the oldest go.
const KEPT_MAX: i64 = 1_000;
/// The longest reason that is kept, in characters.
const REASON_MAX: usize = 1_000;

/// One that comes again, since nobody heard that it was set aside, is kept once.
const KEEP: &str = "
insert into set_aside_batches (subject, process, sequence, part, reason, payload, at)
select $1, $2, $3, $4, $5, $6, $7
where not exists (select from set_aside_batches where process = $2 and sequence = $3 and part = $4)";
const TRIM: &str = "
delete from set_aside_batches
where id in (select id from set_aside_batches order by at desc, id desc offset $1)";

/// Keeps the bytes of a batch with the reason; of one that is too long its beginning.
pub(super) async fn keep(
    client: &Client,
    subject: &str,
    identity: Option<Confirmation>,
    reason: &str,
    payload: &[u8],
    now: OffsetDateTime,
) -> Result<(), tokio_postgres::Error> {
    let payload = &payload[..payload.len().min(BATCH_BYTES_MAX)];
    let process = identity.map(|identity| identity.process.uuid());
    let sequence = identity.and_then(|identity| i64::try_from(identity.sequence).ok());
    let part = identity.and_then(|identity| i32::try_from(identity.part).ok()).unwrap_or_default();
    let reason: String = reason.chars().filter(|character| *character != '\0').take(REASON_MAX).collect();
    client.execute(KEEP, &[&subject, &process, &sequence, &part, &reason, &payload, &now]).await?;
    let gone = client.execute(TRIM, &[&KEPT_MAX]).await?;
    if gone > 0 {
        tracing::warn!(batches = gone, "more than {KEPT_MAX} batches of counts are set aside; the oldest go");
    }
    Ok(())
}

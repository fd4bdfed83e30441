//! Reads a request's body within its bounds.

use std::ops::Deref;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures::poll;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::time::timeout;

/// The most bytes of a body.
pub(super) const BODY_BYTES_MAX: usize = 1024 * 1024;
/// How long a client may take for it.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// The most bytes of a body that is too long which are taken in, so that the client comes to read the refusal.
const DRAIN_BYTES_MAX: usize = 8 * 1024 * 1024;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    TooLong,
    TooSlow,
    Broken,
}

/// A body; nearly always in one piece, and then not copied.
pub(super) enum Whole {
    One(Bytes),
    Many(Vec<u8>),
}

impl Deref for Whole {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::One(bytes) => bytes,
            Self::Many(bytes) => bytes,
        }
    }
}

/// Reads the whole body. Its length is checked while it is read, whatever the head announced.
pub(super) async fn read(body: &mut Incoming) -> Result<Whole, BodyError> {
    if body.size_hint().lower() > BODY_BYTES_MAX as u64 {
        return Err(BodyError::TooLong);
    }
    let mut reading = pin!(read_frames(body));
    // Nearly every body came with its head; only one that did not is worth a timer.
    match poll!(reading.as_mut()) {
        Poll::Ready(read) => read,
        Poll::Pending => timeout(READ_TIMEOUT, reading).await.unwrap_or(Err(BodyError::TooSlow)),
    }
}

async fn read_frames(body: &mut Incoming) -> Result<Whole, BodyError> {
    let mut whole = Whole::One(Bytes::new());
    while let Some(frame) = body.frame().await {
        // Trailers are no part of the body.
        let Ok(data) = frame.map_err(|_| BodyError::Broken)?.into_data() else { continue };
        if whole.len() + data.len() > BODY_BYTES_MAX {
            return Err(BodyError::TooLong);
        }
        whole = match whole {
            Whole::One(first) if first.is_empty() => Whole::One(data),
            Whole::One(first) => Whole::Many([&*first, &*data].concat()),
            Whole::Many(mut bytes) => {
                bytes.extend_from_slice(&data);
                Whole::Many(bytes)
            }
        };
    }
    Ok(whole)
}

/// Takes in what is left of a body that is refused, within bounds.
pub(super) async fn drain(body: &mut Incoming) {
    let drained = async {
        let mut bytes = 0;
        while let Some(Ok(frame)) = body.frame().await {
            bytes += frame.data_ref().map_or(0, Bytes::len);
            if bytes > DRAIN_BYTES_MAX {
                break;
            }
        }
    };
    // A client that takes longer loses the refusal, nothing else.
    let _ = timeout(DRAIN_TIMEOUT, drained).await;
}

//! Whether the bucket is ahead of what was delivered.

use crate::feed::watch::{Look, Watch, WatchError};

/// Failed looks in a row that end the watch.
const FAILED_LOOKS_MAX: u32 = 3;

/// Tells a bucket that runs ahead from one whose messages are just on their way.
#[derive(Default)]
pub(super) struct Behind {
    failed: u32,
    /// What was delivered when the bucket was first seen ahead.
    since: Option<u64>,
}

/// How a watch stands to its bucket.
pub(super) enum Progress {
    /// Everything was delivered.
    Complete,
    /// Something is on its way.
    Moving,
    /// The bucket is ahead still, and nothing came since the last look.
    Stuck {
        /// The server has nothing more to send, and all it sent arrived.
        is_all_sent: bool,
    },
}

impl Behind {
    /// Judges by what a look has seen.
    pub(super) fn judge(&mut self, seen: Result<Look, WatchError>, watch: &Watch) -> Result<Progress, WatchError> {
        let look = match seen {
            Ok(look) => look,
            Err(WatchError::Request(what, error)) => {
                self.failed += 1;
                let is_over = self.failed >= FAILED_LOOKS_MAX;
                return if is_over { Err(WatchError::Request(what, error)) } else { Ok(Progress::Moving) };
            }
            // The bucket is gone or another.
            Err(error) => return Err(error),
        };
        self.failed = 0;
        if watch.has_all(&look.extent) {
            self.since = None;
            return Ok(Progress::Complete);
        }
        let before = self.since.replace(watch.delivered());
        let is_all_sent = look.sent.is_some_and(|sent| watch.has_received(sent));
        Ok(if before == self.since { Progress::Stuck { is_all_sent } } else { Progress::Moving })
    }
}

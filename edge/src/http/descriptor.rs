//! File descriptors: every connection takes one, and some must stay for NATS, the disk and the logs.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::warn;

/// What the process needs besides connections: NATS, the files of its folder, its runtimes.
const RESERVED: u64 = 64;

/// Raises the limit of this process as far as it may, and says how many of the `wanted` connections fit.
pub(super) fn connections(wanted: u32) -> usize {
    let limit = raise();
    let fitting = fitting(wanted, limit);
    // A few that do not fit are no news: the default asks for more than most systems allow.
    if fitting < wanted as usize / 2 {
        let limit = limit.unwrap_or(u64::MAX);
        warn!(
            wanted,
            fitting,
            limit,
            "fewer connections than EDGE_SERVER__CONNECTIONS_MAX are taken at once: the limit of open files is too low"
        );
    }
    fitting
}

/// The limit of open files once the soft one is as high as the hard one; `None` is no limit.
fn raise() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => maximum,
        Err(error) => {
            warn!(%error, "the limit of open files cannot be raised");
            current
        }
    }
}

fn fitting(wanted: u32, limit: Option<u64>) -> usize {
    let room = limit.map_or(u64::MAX, |limit| limit.saturating_sub(RESERVED).max(1));
    usize::try_from(u64::from(wanted).min(room)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_the_rest() {
        assert_eq!(fitting(20_000, None), 20_000);
        assert_eq!(fitting(20_000, Some(1_048_576)), 20_000);
        assert_eq!(fitting(20_000, Some(1024)), 960);
        assert_eq!(fitting(20_000, Some(10)), 1);
    }

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let hard = getrlimit(Resource::Nofile).maximum;
        assert_eq!(raise(), hard);
        assert_eq!(getrlimit(Resource::Nofile).current, hard);
    }
}

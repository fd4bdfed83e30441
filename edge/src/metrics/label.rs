//! What figures are told apart by.

use shared::evaluation::Reason;
use shared::wire::count::Mode;

/// All reasons, in the order of their counters.
pub(super) const REASONS: [Reason; 6] =
    [Reason::Static, Reason::Default, Reason::TargetingMatch, Reason::Split, Reason::Disabled, Reason::Error];

/// Both modes, in the order of their histograms.
pub(super) const MODES: [(Mode, &str); 2] = [(Mode::Single, "single"), (Mode::Bulk, "bulk")];

/// What was asked for, as far as metrics and spans tell it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// `POST /evaluate`.
    Evaluate,
    /// `POST /ofrep/v1/evaluate/flags/{key}`.
    OfrepSingle,
    /// `POST /ofrep/v1/evaluate/flags`.
    OfrepBulk,
    /// `POST /track`.
    Track,
    /// `GET /ofrep/v1/stream`.
    Stream,
    /// Health and metrics.
    Health,
    /// The description of the API and its pages.
    Docs,
    /// Everything else.
    Other,
}

pub(super) const ROUTES: [Route; 8] = [
    Route::Evaluate,
    Route::OfrepSingle,
    Route::OfrepBulk,
    Route::Track,
    Route::Stream,
    Route::Health,
    Route::Docs,
    Route::Other,
];

impl Route {
    /// The address as it is documented, or a word for several.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Evaluate => "/evaluate",
            Self::OfrepSingle => "/ofrep/v1/evaluate/flags/{key}",
            Self::OfrepBulk => "/ofrep/v1/evaluate/flags",
            Self::Track => "/track",
            Self::Stream => "/ofrep/v1/stream",
            Self::Health => "health",
            Self::Docs => "docs",
            Self::Other => "other",
        }
    }
}

/// Statuses told apart; any other is counted in the last place. What is answered most comes first.
pub(super) const STATUSES: [u16; 14] = [200, 304, 404, 400, 401, 403, 204, 405, 408, 413, 429, 500, 503, 0];

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthFailure {
    /// No key was sent.
    Missing,
    /// Nobody knows the key.
    Unknown,
    /// The key is not known, but may become known: the feed is not live.
    UnknownNotLive,
    /// The key was revoked.
    Revoked,
    /// The key's time is over.
    Expired,
    /// A client key from a web origin that it is not for.
    Origin,
    /// The token of an event stream is wrong or too old.
    Token,
}

pub(super) const AUTH_FAILURES: [(AuthFailure, &str); 7] = [
    (AuthFailure::Missing, "missing"),
    (AuthFailure::Unknown, "unknown"),
    (AuthFailure::UnknownNotLive, "unknown_not_live"),
    (AuthFailure::Revoked, "revoked"),
    (AuthFailure::Expired, "expired"),
    (AuthFailure::Origin, "origin"),
    (AuthFailure::Token, "token"),
];

/// Why evaluations that were counted never come home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountsLost {
    /// More different counts waited than are kept.
    Full,
    /// More processes in a row ended without a confirmation than are kept.
    Restarts,
}

pub(super) const COUNTS_LOST: [(CountsLost, &str); 2] =
    [(CountsLost::Full, "full"), (CountsLost::Restarts, "restarts")];

/// Why a span never reached a collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpansLost {
    /// More spans waited than are kept.
    Full,
    /// The collector did not take them.
    Collector,
}

pub(super) const SPANS_LOST: [(SpansLost, &str); 2] = [(SpansLost::Full, "full"), (SpansLost::Collector, "collector")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_stands_at_its_number() {
        assert!(REASONS.iter().enumerate().all(|(at, reason)| *reason as usize == at));
        assert!(MODES.iter().enumerate().all(|(at, (mode, _))| *mode as usize == at));
        assert!(ROUTES.iter().enumerate().all(|(at, route)| *route as usize == at));
        assert!(AUTH_FAILURES.iter().enumerate().all(|(at, (why, _))| *why as usize == at));
        assert!(COUNTS_LOST.iter().enumerate().all(|(at, (why, _))| *why as usize == at));
        assert!(SPANS_LOST.iter().enumerate().all(|(at, (why, _))| *why as usize == at));
    }
}

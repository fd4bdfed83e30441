//! When something that failed is sent again.

use sha2::{Digest, Sha256};
use shared::model::id::DeliveryId;
use time::{Duration, OffsetDateTime};

/// Waits between one attempt and the next, as Standard Webhooks has them: about 75 hours in all.
const WAITS: [Duration; 9] = [
    Duration::seconds(5),
    Duration::minutes(5),
    Duration::minutes(30),
    Duration::hours(2),
    Duration::hours(5),
    Duration::hours(10),
    Duration::hours(14),
    Duration::hours(20),
    Duration::hours(24),
];
/// A wait is longer by up to this part of it, so that what failed together does not come back together.
const JITTER: f64 = 0.1;
/// A receiver that asks for a longer wait is not believed.
const RETRY_AFTER_MAX: Duration = Duration::hours(24);
/// How long a receiver is left alone that has too much to do and does not say for how long.
const PAUSE: Duration = Duration::minutes(5);

/// When a delivery is sent again after so many failures; `None` when it was sent often enough. The jitter is the
/// delivery's own, so the times of a delivery can be computed.
pub fn next(id: DeliveryId, failures: usize, now: OffsetDateTime) -> Option<OffsetDateTime> {
    let wait = *WAITS.get(failures.checked_sub(1)?)?;
    let mut hash = Sha256::new_with_prefix(id.uuid().as_bytes());
    hash.update(failures.to_le_bytes());
    let hash = hash.finalize();
    let part = f64::from(u16::from_le_bytes([hash[0], hash[1]])) / f64::from(u16::MAX);
    Some(now + wait + wait * (part * JITTER))
}

/// Until when a receiver that has too much to do is left alone: as long as it says, else until the retry, but not long.
pub fn pause(after: Option<Duration>, retry_at: Option<OffsetDateTime>, now: OffsetDateTime) -> OffsetDateTime {
    match after {
        Some(after) => now + after.min(RETRY_AFTER_MAX),
        None => retry_at.unwrap_or(now + PAUSE).min(now + PAUSE),
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const NOW: OffsetDateTime = OffsetDateTime::UNIX_EPOCH;

    #[test]
    fn waits_are_those_of_the_standard_and_up_to_a_tenth_longer() {
        let seconds = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
        let mut jitters = Vec::new();
        for id in (0..50).map(|n| DeliveryId::from(Uuid::from_u128(n))) {
            for (failures, wait) in seconds.into_iter().enumerate() {
                let waited = (next(id, failures + 1, NOW).expect("a retry") - NOW).as_seconds_f64() / f64::from(wait);
                assert!((1.0..=1.1).contains(&waited), "{waited}");
                jitters.push(waited);
            }
            assert_eq!(next(id, 10, NOW), None);
            assert_eq!(next(id, 1, NOW), next(id, 1, NOW));
        }
        assert!(jitters.iter().any(|part| *part < 1.02) && jitters.iter().any(|part| *part > 1.08));
    }

    #[test]
    fn a_receiver_is_left_alone_for_as_long_as_it_says_but_for_a_day_at_most() {
        let in_two_hours = Some(NOW + Duration::hours(2));
        assert_eq!(pause(Some(Duration::seconds(7)), in_two_hours, NOW), NOW + Duration::seconds(7));
        assert_eq!(pause(Some(Duration::days(400)), None, NOW), NOW + Duration::days(1));
        assert_eq!(pause(None, in_two_hours, NOW), NOW + Duration::minutes(5));
        assert_eq!(pause(None, Some(NOW + Duration::seconds(5)), NOW), NOW + Duration::seconds(5));
    }
}

//! The token in the address of an event stream: browsers cannot send headers with it, and the SDK key itself must not
//! stand in an address, which proxies write into their logs.
//!
//! `<key id>.<period>.<signature>`: the signature is an HMAC keyed by the stored hash of the SDK key, so any edge that
//! holds the key can check it and nobody needs to remember it. It opens the event stream and nothing else.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use shared::model::id::SdkKeyId;
use uuid::Uuid;

use crate::metrics::AuthFailure;
use crate::sdk_key::{Refusal, unknown};
use crate::snapshot::{KeyHash, SdkKey, Snapshot};

/// A token stays the same for so long, so that clients keep their connection.
const PERIOD_MS: i64 = 12 * 60 * 60 * 1000;
/// It is taken in its own period and the next two, 36 hours in all; a clock ahead of ours may give out the next one.
const PERIODS_VALID: std::ops::RangeInclusive<i64> = -1..=2;
/// What is signed begins with this, so that no other use of the same hash can be taken for it.
const PURPOSE: &[u8] = b"fluxgate event stream\n";

/// The period of a time, in milliseconds since 1970.
pub(in crate::http) fn period(now_ms: i64) -> i64 {
    now_ms.div_euclid(PERIOD_MS)
}

/// The token of a key for the current period.
pub(super) fn issue(id: SdkKeyId, hash: &KeyHash, now_ms: i64) -> String {
    let (id, period) = (id.uuid().simple(), period(now_ms));
    let signature = mac(hash, &format!("{id}.{period}")).finalize().into_bytes();
    format!("{id}.{period}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// The key that a token was given out for.
pub(super) fn verify<'s>(
    token: &str,
    snapshot: &'s Snapshot,
    now_ms: i64,
) -> Result<(&'s KeyHash, &'s SdkKey), Refusal> {
    let invalid = Refusal::Denied(AuthFailure::Token);
    let (signed, signature) = token.rsplit_once('.').ok_or(invalid)?;
    let (id, issued) = signed.split_once('.').ok_or(invalid)?;
    let id = Uuid::try_parse(id).map_err(|_| invalid)?;
    let issued: i64 = issued.parse().map_err(|_| invalid)?;
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| invalid)?;
    let (hash, key) = snapshot.keys.find(id.into()).ok_or_else(|| unknown(snapshot))?;
    mac(hash, signed).verify_slice(&signature).map_err(|_| invalid)?;
    let is_valid = period(now_ms).checked_sub(issued).is_some_and(|age| PERIODS_VALID.contains(&age));
    if is_valid { Ok((hash, key)) } else { Err(invalid) }
}

fn mac(hash: &KeyHash, signed: &str) -> Hmac<Sha256> {
    // A key is filled up with zeros to a block of the hash, which is what HMAC says too.
    let mut block = [0; 64];
    block[..hash.len()].copy_from_slice(hash);
    let mut mac = Hmac::<Sha256>::new(&block.into());
    mac.update(PURPOSE);
    mac.update(signed.as_bytes());
    mac
}

//! Who may ask about which environment.

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HeaderValue, ORIGIN};
use sha2::{Digest, Sha256};
use shared::model::sdk_key::SdkKeyKind;

use crate::clock;
use crate::metrics::AuthFailure;
use crate::snapshot::{Environment, KeyHash, SdkKey, Snapshot};

/// The header that carries a key beside `Authorization: Bearer`.
const API_KEY: &str = "x-api-key";

/// What a request brought to prove who it is.
#[derive(Clone, Debug)]
pub struct Credential {
    hash: Option<KeyHash>,
    origin: Option<HeaderValue>,
}

/// Why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing is known yet at all.
    NotReady,
    /// See the reason.
    Denied(AuthFailure),
}

impl Credential {
    /// The credential in a request's headers, its key already hashed.
    pub fn of(headers: &HeaderMap) -> Self {
        let bearer = headers.get(AUTHORIZATION).and_then(|value| bearer(value.as_bytes()));
        let key = bearer.or_else(|| headers.get(API_KEY).map(|value| value.as_bytes().trim_ascii()));
        let hash = key.filter(|key| !key.is_empty()).map(|key| Sha256::digest(key).into());
        Self { hash, origin: headers.get(ORIGIN).cloned() }
    }

    /// The web origin that the request comes from, where it says so.
    pub fn origin(&self) -> Option<&HeaderValue> {
        self.origin.as_ref()
    }

    /// The environment that the key opens.
    pub fn open<'s>(&self, snapshot: &'s Snapshot) -> Result<Opened<'s>, Refusal> {
        if snapshot.environments.is_empty() {
            return Err(Refusal::NotReady);
        }
        let hash = self.hash.ok_or(Refusal::Denied(AuthFailure::Missing))?;
        let key = snapshot.keys.get(&hash).ok_or_else(|| unknown(snapshot))?;
        admit(snapshot, hash, key, self.origin.as_ref())
    }
}

/// What a key opens.
#[derive(Clone, Copy, Debug)]
pub struct Opened<'s> {
    /// Hash of the key.
    pub hash: KeyHash,
    /// The key.
    pub key: &'s SdkKey,
    /// What it may ask about.
    pub environment: &'s Environment,
}

/// Why a key that is not found is refused. Web clients take 401 for final, so it is said only when it is certain.
pub fn unknown(snapshot: &Snapshot) -> Refusal {
    Refusal::Denied(if snapshot.knows_all_keys { AuthFailure::Unknown } else { AuthFailure::UnknownNotLive })
}

/// Opens the environment of a key that was found, unless it is refused.
pub fn admit<'s>(
    snapshot: &'s Snapshot,
    hash: KeyHash,
    key: &'s SdkKey,
    origin: Option<&HeaderValue>,
) -> Result<Opened<'s>, Refusal> {
    if key.is_revoked {
        return Err(Refusal::Denied(AuthFailure::Revoked));
    }
    if key.expires_at_ms.is_some_and(|at| clock::now_ms() >= at) {
        return Err(Refusal::Denied(AuthFailure::Expired));
    }
    if key.kind == SdkKeyKind::Client && !is_from(origin, &key.origins) {
        return Err(Refusal::Denied(AuthFailure::Origin));
    }
    let environment = snapshot.environments.get(&key.environment).ok_or(Refusal::NotReady)?;
    Ok(Opened { hash, key, environment })
}

/// Requests without an origin come from apps rather than web pages, which cannot be held to one.
fn is_from(origin: Option<&HeaderValue>, origins: &[String]) -> bool {
    match origin {
        Some(origin) if !origins.is_empty() => {
            origins.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(origin.as_bytes()))
        }
        _ => true,
    }
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, key) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| key.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash_of(name: &'static str, value: &'static str) -> Option<KeyHash> {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        Credential::of(&headers).hash
    }

    #[test]
    fn a_key_comes_as_bearer_or_as_api_key() {
        let expected: KeyHash = Sha256::digest("fg_srv_1").into();
        for (name, value) in
            [("authorization", "Bearer fg_srv_1"), ("authorization", "bearer  fg_srv_1 "), ("x-api-key", "fg_srv_1")]
        {
            assert_eq!(hash_of(name, value), Some(expected), "{name}: {value}");
        }
        for (name, value) in [("authorization", "Basic eDp5"), ("authorization", "Bearer "), ("x-api-key", "")] {
            assert_eq!(hash_of(name, value), None, "{name}: {value}");
        }
    }

    #[test]
    fn without_any_state_nobody_is_called_wrong() {
        let headers = HeaderMap::new();
        let refusal = Credential::of(&headers).open(&Snapshot::default()).map(|_| ());
        assert_eq!(refusal, Err(Refusal::NotReady));
    }
}

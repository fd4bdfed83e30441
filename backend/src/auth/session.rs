//! The session cookie: a short JWT that names a row.

use hkdf::Hkdf;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use shared::model::id::SessionId;
use time::{Duration, OffsetDateTime};

use crate::error::AppError;

/// The cookie's name.
pub const COOKIE: &str = "fluxgate_session";
/// A session that is not used ends after this.
pub const IDLE: Duration = Duration::hours(12);
/// Clocks of backends may differ by this much.
pub const LEEWAY: Duration = Duration::minutes(1);
/// A cookie older than this is renewed when used.
pub const RENEW_AFTER: Duration = Duration::minutes(5);

/// Keys that sign and check session cookies, derived from the one secret.
pub struct SessionKeys {
    signing: EncodingKey,
    checking: DecodingKey,
}

/// What a cookie says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The session's row.
    pub sid: SessionId,
    /// When the cookie was made, in unix seconds.
    pub iat: i64,
    /// When it ends, in unix seconds.
    pub exp: i64,
}

impl SessionKeys {
    /// Derives the keys.
    pub fn new(secret: &[u8; 32]) -> Result<Self, jsonwebtoken::errors::Error> {
        let mut key = [0; 32];
        Hkdf::<Sha256>::new(None, secret)
            .expand(b"fluxgate session v1", &mut key)
            .unwrap_or_else(|_| unreachable!("32 bytes are within what HKDF can give"));
        Ok(Self { signing: EncodingKey::from_secret(&key)?, checking: DecodingKey::from_secret(&key)? })
    }

    /// A cookie's value for a session.
    pub fn sign(&self, session: SessionId, now: OffsetDateTime) -> Result<String, AppError> {
        let claims = Claims { sid: session, iat: now.unix_timestamp(), exp: (now + IDLE).unix_timestamp() };
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.signing).map_err(AppError::internal)
    }

    /// What a cookie says, when it was signed here and has not ended. Another backend may have made it a moment ago, by a
    /// clock that is ahead of this one.
    pub fn check(&self, token: &str, now: OffsetDateTime) -> Option<Claims> {
        let mut validation = Validation::new(Algorithm::HS256);
        // Compared below with the clock that tests can move.
        validation.validate_exp = false;
        let claims = jsonwebtoken::decode::<Claims>(token, &self.checking, &validation).ok()?.claims;
        let (now, leeway) = (now.unix_timestamp(), LEEWAY.whole_seconds());
        (claims.exp + leeway > now && claims.iat - leeway <= now).then_some(claims)
    }
}

/// The `Set-Cookie` value that starts or renews a session, or ends it when the value is empty.
pub fn cookie(value: &str, is_secure: bool) -> String {
    let secure = if is_secure { "; Secure" } else { "" };
    let age = if value.is_empty() { 0 } else { IDLE.whole_seconds() };
    format!("{COOKIE}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}")
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_cookie_is_good_until_its_end_and_only_under_its_own_secret() {
        let keys = SessionKeys::new(&[7; 32]).expect("keys");
        let session = SessionId::from(Uuid::from_u128(9));
        let now = OffsetDateTime::UNIX_EPOCH + Duration::days(20_000);
        let token = keys.sign(session, now).expect("a token");
        assert_eq!(keys.check(&token, now).map(|claims| claims.sid), Some(session));
        assert_eq!(keys.check(&token, now + IDLE + LEEWAY), None);
        assert_eq!(SessionKeys::new(&[8; 32]).expect("keys").check(&token, now), None);
    }

    #[test]
    fn a_cookie_of_a_backend_whose_clock_is_a_little_ahead_is_good() {
        let keys = SessionKeys::new(&[7; 32]).expect("keys");
        let session = SessionId::from(Uuid::from_u128(9));
        let now = OffsetDateTime::UNIX_EPOCH + Duration::days(20_000);
        let of = |ahead| keys.sign(session, now + ahead).expect("a token");
        assert!(keys.check(&of(Duration::SECOND), now).is_some());
        assert!(keys.check(&of(LEEWAY), now).is_some());
        assert!(keys.check(&of(LEEWAY + Duration::SECOND), now).is_none());
    }
}

//! What stands for somebody outside: 32 random bytes behind a prefix that says what they are, shown once, stored as
//! SHA-256. That many random bytes cannot be guessed, so a fast hash is enough.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::auth::sdk_key::{NewSecret, random_bytes};

/// Random bytes of a secret.
const SECRET_BYTES: usize = 32;

/// What a secret is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A program acts for a person.
    ApiToken,
    /// Somebody is asked to come in.
    Invite,
    /// Somebody chooses a new password.
    PasswordReset,
}

impl Kind {
    /// How such a secret begins.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::ApiToken => "fg_api_",
            Self::Invite => "fg_inv_",
            Self::PasswordReset => "fg_pwd_",
        }
    }
}

/// Makes a secret.
pub fn generate(kind: Kind) -> NewSecret {
    let secret = format!("{}{}", kind.prefix(), URL_SAFE_NO_PAD.encode(random_bytes()));
    let hint = format!("{}…{}", kind.prefix(), &secret[secret.len() - 4..]);
    let hash = Sha256::digest(secret.as_bytes()).to_vec();
    NewSecret { secret, hash, hint }
}

/// What is stored of a secret; `None` when it can be none of that kind, so that nobody has to look.
pub fn hash_of(kind: Kind, secret: &[u8]) -> Option<Vec<u8>> {
    let random = secret.strip_prefix(kind.prefix().as_bytes())?;
    let is_whole = URL_SAFE_NO_PAD.decode(random).is_ok_and(|bytes| bytes.len() == SECRET_BYTES);
    is_whole.then(|| Sha256::digest(secret).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_by_its_hash_and_what_is_none_is_not_looked_for() {
        let new = generate(Kind::ApiToken);
        assert_eq!(hash_of(Kind::ApiToken, new.secret.as_bytes()), Some(new.hash));
        assert_eq!(hash_of(Kind::Invite, new.secret.as_bytes()), None);
        assert_eq!(hash_of(Kind::ApiToken, &new.secret.as_bytes()[..40]), None);
        assert_eq!(hash_of(Kind::ApiToken, b"fg_api_\xff"), None);
        assert_eq!(new.hint.chars().count(), "fg_api_".len() + 5);
    }
}

//! Secrets of webhooks: shown once, kept encrypted, since signing needs them again.
//!
//! The key is derived from `auth.secret`, so a copy of the database signs nothing. The webhook's id is sealed in, so one
//! webhook's secret cannot be put in another's place.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hkdf::Hkdf;
use sha2::Sha256;
use shared::model::id::WebhookId;

use crate::auth::sdk_key::random_bytes;
use crate::config::Auth;
use crate::error::AppError;

/// What a secret's text begins with.
const PREFIX: &str = "whsec_";

/// What signs, and the text that the receiver is given of it.
pub(super) struct NewSecret {
    pub(super) text: String,
    pub(super) sealed: Vec<u8>,
}

/// Makes a secret for a webhook.
pub(super) fn generate(auth: &Auth, webhook: WebhookId) -> Result<NewSecret, AppError> {
    let bytes = random_bytes();
    let text = format!("{PREFIX}{}", STANDARD.encode(bytes));
    Ok(NewSecret { text, sealed: seal(auth, webhook, &bytes)? })
}

/// Encrypts a secret: a nonce, then what was sealed with it.
fn seal(auth: &Auth, webhook: WebhookId, secret: &[u8]) -> Result<Vec<u8>, AppError> {
    let mut sealed = secret.to_vec();
    let nonce = key(auth)?
        .seal_in_place_append_tag(Aad::from(webhook.uuid().into_bytes()), &mut sealed)
        .map_err(|_| AppError::internal("a webhook's secret cannot be encrypted"))?;
    Ok([nonce.as_ref().as_slice(), &sealed].concat())
}

/// Decrypts a secret; `None` when it was encrypted under another `auth.secret`, or for another webhook.
pub fn open(auth: &Auth, webhook: WebhookId, sealed: &[u8]) -> Option<Vec<u8>> {
    let (nonce, sealed) = sealed.split_at_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut secret = sealed.to_vec();
    let opened = key(auth).ok()?.open_in_place(nonce, Aad::from(webhook.uuid().into_bytes()), &mut secret).ok()?;
    Some(opened.to_vec())
}

fn key(auth: &Auth) -> Result<RandomizedNonceKey, AppError> {
    let secret = auth.secret_bytes().map_err(AppError::internal)?;
    let mut key = [0; 32];
    Hkdf::<Sha256>::new(None, &secret)
        .expand(b"fluxgate webhook secrets v1", &mut key)
        .unwrap_or_else(|_| unreachable!("32 bytes are within what HKDF can give"));
    RandomizedNonceKey::new(&AES_256_GCM, &key).map_err(|_| AppError::internal("the key of webhooks' secrets"))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn auth(byte: &str) -> Auth {
        Auth { secret: byte.repeat(32) }
    }

    #[test]
    fn a_secret_opens_only_under_its_own_key_and_for_its_own_webhook() {
        let (one, two) = (WebhookId::from(Uuid::from_u128(1)), WebhookId::from(Uuid::from_u128(2)));
        let made = generate(&auth("5a"), one).expect("a secret");
        let bytes = STANDARD.decode(made.text.strip_prefix("whsec_").expect("a prefix")).expect("base64");
        assert_eq!((bytes.len(), open(&auth("5a"), one, &made.sealed)), (32, Some(bytes)));
        assert_eq!(open(&auth("5b"), one, &made.sealed), None);
        assert_eq!(open(&auth("5a"), two, &made.sealed), None);
        for at in [0, NONCE_LEN, made.sealed.len() - 1] {
            let mut forged = made.sealed.clone();
            forged[at] ^= 1;
            assert_eq!(open(&auth("5a"), one, &forged), None);
        }
        assert_eq!(open(&auth("5a"), one, &[1, 2, 3]), None);
    }

    #[test]
    fn the_same_secret_is_never_encrypted_alike() {
        let id = WebhookId::from(Uuid::from_u128(1));
        let sealed = || seal(&auth("5a"), id, &[7; 32]).expect("encrypted");
        assert_ne!(sealed(), sealed());
    }
}

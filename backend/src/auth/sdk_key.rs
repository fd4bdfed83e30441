//! Making SDK keys: 32 random bytes, shown once, stored as SHA-256.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use shared::model::sdk_key::SdkKeyKind;

/// A new key and what is stored of it.
#[derive(Debug)]
pub struct NewSecret {
    /// What the application sends.
    pub secret: String,
    /// SHA-256 of it.
    pub hash: Vec<u8>,
    /// Its beginning and end, to recognise it by.
    pub hint: String,
}

/// Makes a key.
pub fn generate(kind: SdkKeyKind) -> NewSecret {
    let secret = format!("{}{}", kind.prefix(), URL_SAFE_NO_PAD.encode(random_bytes()));
    let hint = format!("{}…{}", kind.prefix(), &secret[secret.len() - 4..]);
    let hash = Sha256::digest(secret.as_bytes()).to_vec();
    NewSecret { secret, hash, hint }
}

/// 32 bytes from the operating system's source.
pub fn random_bytes() -> [u8; 32] {
    rand::random()
}

/// Lower-case hex, as edges compare it.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

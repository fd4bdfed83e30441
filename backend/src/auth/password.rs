//! Passwords: argon2id, checked off the async threads.

use std::time::Duration;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::AppError;

/// The shortest and longest password, in characters.
pub const LENGTH: std::ops::RangeInclusive<usize> = 12..=200;

/// Passwords hashed at once; each takes 19 MiB and a core, and anybody may ask to sign in.
static TURNS: Semaphore = Semaphore::const_new(4);

/// The longest wait for a turn.
const TURN_MAX: Duration = Duration::from_secs(5);

/// Whether a password may be chosen; else the field is named.
pub fn check(field: &str, password: &str) -> Result<(), AppError> {
    if LENGTH.contains(&password.chars().count()) {
        return Ok(());
    }
    let message = format!("a password has {} to {} characters", LENGTH.start(), LENGTH.end());
    Err(AppError::field(field, message))
}

/// Hashes a password in PHC form, or says that its length is wrong.
pub async fn hash(password: String) -> Result<String, AppError> {
    check("password", &password)?;
    let _turn = turn().await?;
    tokio::task::spawn_blocking(move || {
        let hash =
            Argon2::default().hash_password(password.as_bytes()).map_err(|e| AppError::internal(e.to_string()))?;
        Ok(hash.to_string())
    })
    .await
    .map_err(AppError::internal)?
}

/// Whether the password is the one that was hashed. Without a hash it takes as long and is wrong, so that an answer's
/// time does not tell who exists.
pub async fn verify(password: String, hash: Option<String>) -> Result<bool, AppError> {
    let _turn = turn().await?;
    tokio::task::spawn_blocking(move || {
        let Some(hash) = hash else {
            let wasted = Argon2::default().hash_password(password.as_bytes());
            tracing::trace!(hashed = wasted.is_ok(), "no such person");
            return Ok(false);
        };
        let hash = PasswordHash::new(&hash).map_err(|e| AppError::internal(e.to_string()))?;
        Ok(Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
    })
    .await
    .map_err(AppError::internal)?
}

/// Waits for a turn, but not behind everybody who guesses.
async fn turn() -> Result<SemaphorePermit<'static>, AppError> {
    match tokio::time::timeout(TURN_MAX, TURNS.acquire()).await {
        Ok(turn) => turn.map_err(AppError::internal),
        Err(_) => Err(AppError::TooManyTries { seconds: TURN_MAX.as_secs() }),
    }
}

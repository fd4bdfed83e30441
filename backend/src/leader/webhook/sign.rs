//! Signatures of Standard Webhooks 1.0: HMAC-SHA256 over id, time and body, so that neither can be exchanged.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The value of `webhook-signature`: one signature per secret, separated by a space.
pub fn signatures(secrets: &[Vec<u8>], id: &str, timestamp: i64, body: &str) -> String {
    let signed = secrets.iter().map(|secret| signature(secret, id, timestamp, body));
    signed.collect::<Vec<_>>().join(" ")
}

fn signature(secret: &[u8], id: &str, timestamp: i64, body: &str) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret).unwrap_or_else(|_| unreachable!("a key of HMAC may have any length"));
    mac.update(format!("{id}.{timestamp}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vector_of_the_standards_libraries_is_met() {
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("base64");
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        let body = r#"{"test": 2432232314}"#;
        assert_eq!(signatures(std::slice::from_ref(&secret), id, 1_614_265_330, body), expected);
        let both = signatures(&[secret, vec![7; 32]], id, 1_614_265_330, body);
        let (first, second) = both.split_once(' ').expect("two signatures");
        assert!(first == expected && second.starts_with("v1,") && second != expected);
    }
}

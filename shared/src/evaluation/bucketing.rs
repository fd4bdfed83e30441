//! From a bucketing key to a bucket.

use std::io::Write;

use crate::evaluation::context::{Number, Value};
use crate::model::split::BUCKETS;

/// Whole numbers beyond this are not the same in every language, so they are no bucketing key.
const INTEGER_MAX: i128 = 1 << 53;
/// `-9007199254740992` has 17 bytes.
const INTEGER_BYTES: usize = 20;

/// A value made text for hashing and for comparison with named keys.
pub(super) enum BucketingKey<'a> {
    Text(&'a str),
    Integer { digits: [u8; INTEGER_BYTES], len: usize },
}

impl<'a> BucketingKey<'a> {
    /// Text as it is, whole numbers in plain decimal; everything else counts as missing.
    pub(super) fn of(value: Option<&'a Value<'_>>) -> Option<Self> {
        match value? {
            Value::Text(text) if !text.is_empty() => Some(Self::Text(text)),
            Value::Number(Number::Integer(integer)) if integer.abs() <= INTEGER_MAX => {
                let mut digits = [0; INTEGER_BYTES];
                let mut rest = digits.as_mut_slice();
                write!(rest, "{integer}").ok()?;
                let len = INTEGER_BYTES - rest.len();
                Some(Self::Integer { digits, len })
            }
            _ => None,
        }
    }

    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Integer { digits, len } => std::str::from_utf8(&digits[..*len]).unwrap_or_default(),
        }
    }
}

/// The bucket of a key under a seed: `murmur3_x86_32(seed + ":" + key)`, scaled to [`BUCKETS`].
pub fn bucket(seed: &str, key: &str) -> u32 {
    Murmur3::with_prefix(&format!("{seed}:")).bucket(key)
}

/// MurmurHash3 x86 32 with seed 0, paused after a prefix so that only the key is hashed per evaluation.
#[derive(Clone, Debug)]
pub(super) struct Murmur3 {
    hash: u32,
    tail: u32,
    len: u32,
}

impl Murmur3 {
    pub(super) fn with_prefix(prefix: &str) -> Self {
        let mut state = Self { hash: 0, tail: 0, len: 0 };
        state.write(prefix.as_bytes());
        state
    }

    pub(super) fn bucket(&self, key: &str) -> u32 {
        let mut state = self.clone();
        state.write(key.as_bytes());
        ((u64::from(state.finish()) * u64::from(BUCKETS)) >> 32) as u32
    }

    fn write(&mut self, mut bytes: &[u8]) {
        while !self.len.is_multiple_of(4) {
            let Some((first, rest)) = bytes.split_first() else { return };
            self.write_byte(*first);
            bytes = rest;
        }
        let (blocks, rest) = bytes.as_chunks::<4>();
        for block in blocks {
            self.mix(u32::from_le_bytes(*block));
        }
        self.len = self.len.wrapping_add(4 * blocks.len() as u32);
        rest.iter().for_each(|byte| self.write_byte(*byte));
    }

    fn write_byte(&mut self, byte: u8) {
        self.tail |= u32::from(byte) << (8 * (self.len % 4));
        self.len = self.len.wrapping_add(1);
        if self.len.is_multiple_of(4) {
            let block = std::mem::take(&mut self.tail);
            self.mix(block);
        }
    }

    fn mix(&mut self, block: u32) {
        self.hash = (self.hash ^ scramble(block)).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }

    fn finish(&self) -> u32 {
        let mut hash = self.hash ^ scramble(self.tail) ^ self.len;
        hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
        hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
        hash ^ (hash >> 16)
    }
}

fn scramble(block: u32) -> u32 {
    block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hash(text: &str) -> u32 {
        Murmur3::with_prefix(text).finish()
    }

    #[test]
    fn published_vectors_hold() {
        let vectors = [
            ("", 0),
            ("hello", 0x248b_fa47),
            ("hello, world", 0x149b_bb7f),
            ("ejOoVL", 0),
            ("bY9fO-", 1),
            ("SI7p-", 0x7fff_ffff),
            ("6LvT0", 0x8000_0000),
            ("ceQdGm", 0xffff_ffff),
        ];
        for (text, expected) in vectors {
            assert_eq!(hash(text), expected, "{text}");
        }
    }

    #[test]
    fn only_text_and_safe_whole_numbers_are_bucketing_keys() {
        let key = |json: &str| {
            let value: Value<'_> = serde_json::from_str(json).expect("JSON");
            BucketingKey::of(Some(&value)).map(|key| key.as_str().to_owned())
        };
        for (json, expected) in
            [("\"u\"", "u"), ("42", "42"), ("42.0", "42"), ("-7e1", "-70"), ("9007199254740992", "9007199254740992")]
        {
            assert_eq!(key(json).as_deref(), Some(expected), "{json}");
        }
        for missing in ["\"\"", "1.5", "true", "null", "[\"u\"]", "{}", "9007199254740993", "1e300"] {
            assert_eq!(key(missing), None, "{missing}");
        }
    }

    proptest! {
        #[test]
        fn hashing_in_two_parts_equals_the_reference(prefix in ".{0,40}", key in ".{0,40}") {
            let mut parts = Murmur3::with_prefix(&prefix);
            parts.write(key.as_bytes());
            let whole = format!("{prefix}{key}");
            let reference = murmur3::murmur3_32(&mut whole.as_bytes(), 0).expect("a slice never fails to read");
            prop_assert_eq!(parts.finish(), reference);
        }
    }
}

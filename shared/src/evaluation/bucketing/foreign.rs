//! The hashes of other products that are not murmur3.

use md5::Md5;
use sha1::Sha1;
use sha1::digest::Digest;

use crate::evaluation::bucketing::fnv::Fnv;
use crate::evaluation::bucketing::key::KeyText;

/// How often Flagsmith's text is repeated at most; every repetition has a chance of 1 in 9,999.
const FLAGSMITH_REPEATS_MAX: usize = 16;

/// A hash paused where the key begins, or whose text begins with the key.
#[derive(Clone, Debug)]
pub(super) enum Foreign {
    /// The first 15 hexadecimal digits of SHA-1.
    Sha1(Sha1),
    /// What Flagsmith makes of MD5.
    Md5(Md5),
    /// CRC-32 as in IEEE 802.3.
    Crc32(crc32fast::Hasher),
    /// FNV-1a over bytes.
    Fnv(Fnv),
    /// FNV-1a over UTF-16 units.
    FnvOfUtf16(Fnv),
    /// FNV-1a over the decimal digits of [`FnvOfUtf16`](Self::FnvOfUtf16).
    FnvTwice(Fnv),
}

impl Foreign {
    pub(super) fn sha1(before: &str) -> Self {
        Self::Sha1(Sha1::new().chain_update(before))
    }

    pub(super) fn md5(before: &str) -> Self {
        Self::Md5(Md5::new().chain_update(before))
    }

    pub(super) fn crc32(before: &str) -> Self {
        let mut hash = crc32fast::Hasher::new();
        hash.update(before.as_bytes());
        Self::Crc32(hash)
    }

    /// The value of `before + key + after`, where `before` was already hashed.
    pub(super) fn hash(&self, before: &str, key: &str, after: &str) -> u64 {
        match self {
            Self::Sha1(paused) => {
                let digest = paused.clone().chain_update(key).chain_update(after).finalize();
                // 15 hexadecimal digits are 60 bits.
                digest.iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte)) >> 4
            }
            Self::Md5(paused) => flagsmith(paused, before, key).0,
            Self::Crc32(paused) => {
                let mut hash = paused.clone();
                hash.update(key.as_bytes());
                hash.update(after.as_bytes());
                hash.finalize().into()
            }
            Self::Fnv(paused) => paused.write(key.as_bytes()).finish().into(),
            Self::FnvOfUtf16(paused) => paused.write_utf16(key).write_utf16(after).finish().into(),
            Self::FnvTwice(paused) => {
                let first = KeyText::of_u32(paused.write_utf16(key).finish());
                Fnv::new().write(first.as_bytes()).finish().into()
            }
        }
    }

    /// How often the text stands in what is hashed, with a comma between.
    pub(super) fn repeats(&self, before: &str, key: &str) -> usize {
        match self {
            Self::Md5(paused) => flagsmith(paused, before, key).1,
            _ => 1,
        }
    }
}

/// The digest modulo 9,999 where that is no 9,998, which would be the whole; else the same of the text repeated.
fn flagsmith(paused: &Md5, before: &str, key: &str) -> (u64, usize) {
    let mut hash = paused.clone();
    let mut repeats = 1;
    loop {
        hash.update(key);
        let digest: [u8; 16] = hash.clone().finalize().into();
        let remainder = (u128::from_be_bytes(digest) % 9_999) as u64;
        if remainder < 9_998 || repeats == FLAGSMITH_REPEATS_MAX {
            return (remainder.min(9_997), repeats);
        }
        hash.update(",");
        hash.update(before);
        repeats += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_vectors_hold() {
        // SHA-1 of "abc" begins a9993e364706816a, its last digit left out.
        assert_eq!(Foreign::sha1("a").hash("a", "b", "c"), 0xa99_93e3_6470_6816);
        assert_eq!(Foreign::crc32("1234").hash("1234", "567", "89"), 0xcbf4_3926);
        assert_eq!(Foreign::FnvOfUtf16(Fnv::new()).hash("", "foo", "bar"), 0xbf9c_f968);
    }

    #[test]
    fn flagsmith_repeats_the_text_until_it_is_less_than_the_whole() {
        let with_repeats = |key: &str| Foreign::md5("10,").repeats("10,", key) > 1;
        let key = (0..100_000).map(|user| format!("user-{user}")).find(|key| with_repeats(key)).expect("1 in 9,999");
        let text = format!("10,{key}");
        let remainder = |text: &str| {
            let digest: [u8; 16] = Md5::digest(text).into();
            (u128::from_be_bytes(digest) % 9_999) as u64
        };
        assert_eq!(remainder(&text), 9_998);
        assert_eq!(Foreign::md5("10,").hash("10,", &key, ""), remainder(&format!("{text},{text}")));
    }
}

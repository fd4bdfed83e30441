//! From a bucketing key to a bucket.
//!
//! [`Bucketing`] is made once per split, with everything hashed that stands before the key, and then asked for each
//! key without allocation. [`Algorithm`] says which formula belongs to which product and maps a hash to a bucket; the
//! texts that are hashed and the hashes themselves are here.

mod cbor;
mod fnv;
mod foreign;
mod key;
mod murmur3;

use crate::model::split::{Algorithm, BUCKETS, MissingKey};
use cbor::Encoder;
use fnv::Fnv;
use foreign::Foreign;
pub use key::Key;
pub(super) use key::{KeyText, named};
use murmur3::Murmur3;

/// The seed that Unleash gives to the hash of its variants.
const UNLEASH_VARIANT_SEED: u32 = 86_028_157;

/// The bucket of a key under a seed by our own algorithm: `murmur3_x86_32(seed + ":" + key)`, scaled to [`BUCKETS`].
pub fn bucket(seed: &str, key: &str) -> u32 {
    let hash = Murmur3::with_prefix(0, &format!("{seed}:")).hash(key.as_bytes());
    Algorithm::Murmur3.bucket_of(hash.into(), BUCKETS)
}

/// How the keys of one split become buckets.
#[derive(Clone, Debug)]
pub struct Bucketing {
    algorithm: Algorithm,
    total: u32,
    hash: Hash,
    /// What is hashed before the key.
    before: Box<str>,
    /// What is hashed after it.
    after: Box<str>,
}

/// A hash that has read everything before the key.
#[derive(Clone, Debug)]
enum Hash {
    Murmur3(Murmur3),
    /// murmur3 of an encoded value, whose first bytes depend on the key.
    Cbor,
    Foreign(Foreign),
}

impl Bucketing {
    /// Prepares a split's hash; a `total` of 0 is taken for 1.
    pub fn new(algorithm: Algorithm, seed: &str, total: u32) -> Self {
        let colon = || Box::from(format!("{seed}:"));
        let dot = || Box::from(format!("{seed}."));
        let nothing = Box::<str>::default;
        let (before, after) = match algorithm {
            Algorithm::Murmur3 | Algorithm::UnleashRollout | Algorithm::UnleashVariant => (colon(), nothing()),
            Algorithm::Launchdarkly | Algorithm::PosthogRollout => (dot(), nothing()),
            Algorithm::PosthogVariant => (dot(), "variant".into()),
            Algorithm::GrowthbookV1 | Algorithm::FliptRollout => (nothing(), seed.into()),
            Algorithm::FlagdV1
            | Algorithm::FlagdV2
            | Algorithm::FlagdV3
            | Algorithm::FlagdV3Shorthand
            | Algorithm::GrowthbookV2
            | Algorithm::FlagsmithRollout
            | Algorithm::FlagsmithVariant
            | Algorithm::GoFeatureFlag
            | Algorithm::FliptDistribution => (seed.into(), nothing()),
        };
        let hash = match algorithm {
            Algorithm::Murmur3 | Algorithm::FlagdV1 | Algorithm::FlagdV2 | Algorithm::UnleashRollout => {
                Hash::Murmur3(Murmur3::with_prefix(0, &before))
            }
            Algorithm::UnleashVariant => Hash::Murmur3(Murmur3::with_prefix(UNLEASH_VARIANT_SEED, &before)),
            Algorithm::FlagdV3 | Algorithm::FlagdV3Shorthand => Hash::Cbor,
            Algorithm::Launchdarkly | Algorithm::PosthogRollout | Algorithm::PosthogVariant => {
                Hash::Foreign(Foreign::sha1(&before))
            }
            Algorithm::FlagsmithRollout | Algorithm::FlagsmithVariant => Hash::Foreign(Foreign::md5(&before)),
            Algorithm::FliptRollout | Algorithm::FliptDistribution => Hash::Foreign(Foreign::crc32(&before)),
            Algorithm::GoFeatureFlag => Hash::Foreign(Foreign::Fnv(Fnv::new().write(before.as_bytes()))),
            Algorithm::GrowthbookV1 => Hash::Foreign(Foreign::FnvOfUtf16(Fnv::new())),
            Algorithm::GrowthbookV2 => Hash::Foreign(Foreign::FnvTwice(Fnv::new().write_utf16(&before))),
        };
        Self { algorithm, total: total.max(1), hash, before, after }
    }

    /// How many buckets there are.
    pub fn total(&self) -> u32 {
        self.total
    }

    /// The bucket of a key, always below the total; `None` when the key is missing, or counts as missing in this
    /// algorithm, and that means that the split does not apply.
    #[inline]
    pub fn bucket(&self, key: Option<&Key<'_>>) -> Option<u32> {
        // Nearly every call; the general way below takes twice as long for the same answer.
        if let (Hash::Murmur3(paused), Some(Key::Text(text))) = (&self.hash, key)
            && !text.is_empty()
        {
            return Some(self.algorithm.bucket_of(paused.hash(text.as_bytes()).into(), self.total));
        }
        self.bucket_of_any(key)
    }

    /// What is hashed, for people: the text, or the encoded value in hexadecimal; empty when the key counts as missing.
    pub fn input(&self, key: &Key<'_>) -> String {
        let Some(key) = self.usable(key) else { return String::new() };
        let text = || key.text().map(|text| format!("{}{}{}", self.before, text.as_str(), self.after));
        match &self.hash {
            Hash::Murmur3(_) => text().unwrap_or_default(),
            Hash::Cbor => {
                let mut hex = String::new();
                self.encode(&key, |bytes| hex.extend(bytes.iter().map(|byte| format!("{byte:02x}"))));
                hex
            }
            Hash::Foreign(foreign) => {
                let repeats = key.text().map_or(1, |text| foreign.repeats(&self.before, text.as_str()));
                vec![text().unwrap_or_default(); repeats].join(",")
            }
        }
    }

    fn bucket_of_any(&self, key: Option<&Key<'_>>) -> Option<u32> {
        match key.and_then(|key| self.hash(key)) {
            Some(hash) => Some(self.algorithm.bucket_of(hash, self.total)),
            None if self.algorithm.missing_key() == MissingKey::FirstBucket => Some(0),
            None => None,
        }
    }

    fn hash(&self, key: &Key<'_>) -> Option<u64> {
        let key = self.usable(key)?;
        match &self.hash {
            Hash::Murmur3(paused) => Some(paused.hash(key.text()?.as_bytes()).into()),
            Hash::Cbor => {
                let mut hash = Murmur3::new(0);
                self.encode(&key, |bytes| hash.write(bytes))?;
                Some(hash.finish().into())
            }
            Hash::Foreign(foreign) => Some(foreign.hash(&self.before, key.text()?.as_str(), &self.after)),
        }
    }

    /// The key unless it counts as missing in this algorithm whatever it is hashed as.
    fn usable<'k>(&self, key: &Key<'k>) -> Option<Key<'k>> {
        match key.normalised() {
            Key::Text("") if !self.algorithm.hashes_empty_text() => None,
            Key::Integer(0) if !self.algorithm.hashes_zero() => None,
            key => Some(key),
        }
    }

    /// Writes flagd's value; `None` for a key that counts as missing.
    fn encode(&self, key: &Key<'_>, write: impl FnMut(&[u8])) -> Option<()> {
        let mut cbor = Encoder(write);
        let is_typed = self.algorithm == Algorithm::FlagdV3 && self.before.is_empty();
        match key {
            Key::Boolean(boolean) if is_typed => cbor.boolean(*boolean),
            Key::Integer(integer) if is_typed => cbor.integer(*integer),
            Key::Float(float) if is_typed && float.is_finite() => cbor.float(*float),
            _ => {
                let text = key.text()?;
                let text = text.as_str();
                if self.algorithm == Algorithm::FlagdV3Shorthand {
                    cbor.array_head(2);
                    cbor.text(&[&self.before]);
                    cbor.text(&[text]);
                } else {
                    cbor.text(&[&self.before, text]);
                }
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket_of(algorithm: Algorithm, seed: &str, key: Key<'_>) -> Option<u32> {
        Bucketing::new(algorithm, seed, BUCKETS).bucket(Some(&key))
    }

    #[test]
    fn keys_without_a_text_are_missing_and_only_launchdarkly_has_a_bucket_for_them() {
        for algorithm in Algorithm::ALL {
            let missing = (algorithm == Algorithm::Launchdarkly).then_some(0);
            assert_eq!(Bucketing::new(algorithm, "s", BUCKETS).bucket(None), missing, "{algorithm:?}");
            for key in [Key::Float(1.5), Key::Float(f64::NAN), Key::Boolean(true), Key::Integer(1 << 54)] {
                assert_eq!(bucket_of(algorithm, "s", key), missing, "{algorithm:?} {key:?}");
                assert_eq!(Bucketing::new(algorithm, "s", BUCKETS).input(&key), "", "{algorithm:?} {key:?}");
            }
        }
    }

    #[test]
    fn an_empty_text_is_missing_except_where_the_product_hashes_it() {
        for algorithm in Algorithm::ALL {
            let bucket = bucket_of(algorithm, "s", Key::Text(""));
            match algorithm {
                Algorithm::Launchdarkly => {
                    assert!(bucket.is_some_and(|bucket| bucket > 0), "not the bucket of a missing key")
                }
                Algorithm::FlagsmithRollout | Algorithm::FlagsmithVariant => assert!(bucket.is_some()),
                _ => assert_eq!(bucket, None, "{algorithm:?}"),
            }
        }
    }

    #[test]
    fn a_whole_number_is_hashed_as_its_decimal_text() {
        for algorithm in Algorithm::ALL {
            let text = bucket_of(algorithm, "s", Key::Text("42"));
            assert!(text.is_some());
            for number in [Key::Integer(42), Key::Float(42.0)] {
                assert_eq!(bucket_of(algorithm, "s", number), text, "{algorithm:?}");
            }
            let zero = bucket_of(algorithm, "s", Key::Float(-0.0));
            let is_growthbook = matches!(algorithm, Algorithm::GrowthbookV1 | Algorithm::GrowthbookV2);
            assert_eq!(zero, bucket_of(algorithm, "s", Key::Text("0")).filter(|_| !is_growthbook), "{algorithm:?}");
        }
        // But flagd without anything before the key hashes numbers as numbers.
        let typed = bucket_of(Algorithm::FlagdV3, "", Key::Integer(42));
        assert_ne!(typed, bucket_of(Algorithm::FlagdV3, "", Key::Text("42")));
        assert!(bucket_of(Algorithm::FlagdV3, "", Key::Float(1.5)).is_some());
    }

    #[test]
    fn what_is_hashed_is_shown() {
        let input = |algorithm, key| Bucketing::new(algorithm, "seed", BUCKETS).input(&key);
        assert_eq!(input(Algorithm::Murmur3, Key::Text("u1")), "seed:u1");
        assert_eq!(input(Algorithm::Launchdarkly, Key::Integer(7)), "seed.7");
        assert_eq!(input(Algorithm::PosthogVariant, Key::Text("u1")), "seed.u1variant");
        assert_eq!(input(Algorithm::FliptRollout, Key::Text("u1")), "u1seed");
        assert_eq!(input(Algorithm::FlagdV3, Key::Text("u1")), "66736565647531");
        assert_eq!(input(Algorithm::FlagdV3Shorthand, Key::Text("u1")), "826473656564627531");
    }
}

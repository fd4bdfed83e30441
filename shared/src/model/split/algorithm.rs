//! How a bucketing key becomes a bucket: our own algorithm, and those of the products that flags are imported from.
//!
//! Each makes a text of the split's seed and the key, hashes it, and maps the hash's value onto `0..total`. The map
//! keeps the order of a product's values and gives two of them different buckets wherever a boundary can stand between
//! them, so every boundary of that product is a number of buckets and everybody keeps their variant.
//!
//! What is hashed stands with the hashes, in `evaluation::bucketing`; how a product's weights become ranges of buckets
//! is [`Algorithm::ranges`].

use serde::{Deserialize, Serialize};

/// `0xFFFFFFFFFFFFFFF`, the largest value of the 15 hexadecimal digits that LaunchDarkly and PostHog take.
const FIFTEEN_DIGITS_MAX: u64 = (1 << 60) - 1;

/// How a bucketing key becomes a bucket. Stored by name so that imported flags keep every user where they were.
///
/// A product that compares differently in a rollout ("on for 30 %") and in a split has two algorithms. `seed` and `key`
/// are those of our split; `+` joins texts; hashes are of UTF-8 bytes unless another thing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Algorithm {
    /// Ours: `murmur3_x86_32(seed + ":" + key) × total / 2^32`.
    #[default]
    Murmur3,
    /// flagd's `fractional` of old: `|murmur3_x86_32(seed + key)| / (2^31 − 1)`, the hash taken as a signed number.
    ///
    /// The seed is the flag's key in the shorthand form, else what `cat` puts before the attribute, which may be
    /// nothing. Engines divide by 2^31 − 1, 2^31 or 2^32 − 1 and some round to 32-bit floats; this is the Go and Python
    /// one. It gives no variant to the 3 of 2^32 hashes that reach 100 %; here they go to the last. The JavaScript
    /// engine hashes keys beyond ASCII in a way of its own, also in [`FlagdV2`](Self::FlagdV2); this is UTF-8, as
    /// elsewhere.
    FlagdV1,
    /// flagd's `fractional` on whole numbers: `murmur3_x86_32(seed + key) × total / 2^32`, the seed as in
    /// [`FlagdV1`](Self::FlagdV1).
    FlagdV2,
    /// flagd's `fractional` on typed values: `murmur3_x86_32(cbor(value)) × total / 2^32`.
    ///
    /// With a seed the value is the text `seed + key`, as `cat` makes it. Without one it is the key itself: a text, a
    /// number or a boolean, in the deterministic encoding of RFC 8949 §4.2.1, whole floats from −2^63 to 2^64 − 1 as
    /// integers. Arrays and objects, which flagd would hash too, count as missing here.
    FlagdV3,
    /// The shorthand of [`FlagdV3`](Self::FlagdV3): the value is the array of two texts `[seed, key]`, where the seed
    /// is the flag's key.
    FlagdV3Shorthand,
    /// Unleash's gradual rollouts: `murmur3_x86_32(seed + ":" + key) mod 100 + 1`, of 100. The seed is the group id, or
    /// the flag's name where that is empty.
    ///
    /// Where engines differ this is the Node one: a rollout of 33.5 is 33 of the 100 values and one of 150 is everyone
    /// (Yggdrasil: nobody, both times), and an empty group id is the flag's name (Yggdrasil: it stays empty). But of
    /// keys beyond ASCII the Node engine hashes only the low 8 bits of each UTF-16 unit; this is UTF-8, as Yggdrasil.
    UnleashRollout,
    /// Unleash's variants: `murmur3_x86_32(seed + ":" + key) mod total` with the hash's own seed 86028157. The total is
    /// the sum of the weights; the seed is the group id of the strategy, or the flag's name. Keys as in
    /// [`UnleashRollout`](Self::UnleashRollout).
    UnleashVariant,
    /// LaunchDarkly: the first 15 hexadecimal digits of `sha1(seed + "." + key)`, of `0xFFFFFFFFFFFFFFF`.
    ///
    /// The seed is `flag key + "." + salt`, or the rollout's own number in decimal. LaunchDarkly compares fractions as
    /// 64-bit floats in its JavaScript, Python, Ruby and PHP engines and as 32-bit ones in Go and Java. This follows
    /// the former, in exact whole numbers: no different but for about one user in 10^15. Go and Java disagree with it
    /// on up to about one user in 10^7 at each boundary.
    Launchdarkly,
    /// GrowthBook with `hashVersion` 1: `fnv1a_32(key + seed) mod 1000`, of 1,000, over UTF-16 code units.
    ///
    /// The seed is the rule's seed, or the flag's or experiment's key; `__` and the name for a namespace. A rollout
    /// with coverage follows the published cases and the Python engine, which leave out a value equal to the coverage;
    /// the JavaScript engine 1.8.0 takes it in.
    GrowthbookV1,
    /// GrowthBook with `hashVersion` 2: `fnv1a_32(decimal(fnv1a_32(seed + key))) mod 10000`, of 10,000, as in
    /// [`GrowthbookV1`](Self::GrowthbookV1).
    GrowthbookV2,
    /// A percentage split in a segment of Flagsmith: `md5(seed + key) mod 9999`, of 9,998.
    ///
    /// The whole digest is one number. When the result is 9,998 the text is hashed again, repeated once more with a
    /// comma between. The seed is `segment id + ","` for a trait and `segment id + "," + environment key + "_"` for
    /// identifiers. Identities that Flagsmith keeps in its own database are hashed there by a number that no
    /// application sends; only what its local evaluation answers can be kept.
    FlagsmithRollout,
    /// The variants of a feature of Flagsmith: hashed as in [`FlagsmithRollout`](Self::FlagsmithRollout), with the seed
    /// `feature state key + "," + environment key + "_"`.
    ///
    /// What the weights leave is the feature's own value, "control", which an import names last with that weight.
    FlagsmithVariant,
    /// GO Feature Flag: `fnv1a_32(seed + key) mod total`, where the total is 1,000 times the sum of the percentages and
    /// the seed is the flag's name.
    GoFeatureFlag,
    /// A threshold rollout of Flipt: `crc32_ieee(key + seed) mod 100`, of 100; the seed is the flag's key.
    FliptRollout,
    /// A distribution of Flipt: `crc32_ieee(seed + key) mod 1000`, of 1,000; the seed is the flag's key.
    ///
    /// Shares that do not add up to 100 % leave values to nobody, as on its server; its client engines stretch them.
    FliptDistribution,
    /// A release condition of PostHog: the first 15 hexadecimal digits of `sha1(seed + "." + key)`, of
    /// `0xFFFFFFFFFFFFFFF`; the seed is the flag's key. Floats are followed as in
    /// [`Launchdarkly`](Self::Launchdarkly).
    PosthogRollout,
    /// The variants of PostHog: as [`PosthogRollout`](Self::PosthogRollout), of `sha1(seed + "." + key + "variant")`.
    PosthogVariant,
}

/// In which order variants take their buckets, from 0 upwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariantOrder {
    /// As they are written.
    AsWritten,
    /// By the bytes of their names, from Z to A.
    NamesDescending,
    /// By a priority that is stated with each, the smallest number first.
    Priority,
}

/// Which side of a boundary a value equal to it is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// A share of 30 takes values below 30.
    Below,
    /// A share of 30 takes values up to 30.
    UpTo,
}

/// What a split does about a bucketing key that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingKey {
    /// It does not apply.
    ///
    /// So it is in flagd, Flagsmith, GrowthBook and PostHog; GO Feature Flag and Flipt answer an error. Unleash draws a
    /// number by chance where stickiness is `default` or `random`, which no pure rule can repeat: an import makes a
    /// rollout of 100 % a fixed variant, so that those stay on.
    NotApplied,
    /// It takes bucket 0, and so the first variant that has a share: LaunchDarkly.
    FirstBucket,
}

impl Algorithm {
    /// All of them, ours first.
    pub const ALL: [Self; 17] = [
        Self::Murmur3,
        Self::FlagdV1,
        Self::FlagdV2,
        Self::FlagdV3,
        Self::FlagdV3Shorthand,
        Self::UnleashRollout,
        Self::UnleashVariant,
        Self::Launchdarkly,
        Self::GrowthbookV1,
        Self::GrowthbookV2,
        Self::FlagsmithRollout,
        Self::FlagsmithVariant,
        Self::GoFeatureFlag,
        Self::FliptRollout,
        Self::FliptDistribution,
        Self::PosthogRollout,
        Self::PosthogVariant,
    ];

    /// In which order that product's variants take their buckets.
    pub fn variant_order(self) -> VariantOrder {
        match self {
            Self::GoFeatureFlag => VariantOrder::NamesDescending,
            Self::FlagsmithVariant => VariantOrder::Priority,
            _ => VariantOrder::AsWritten,
        }
    }

    /// Which side of a boundary a value equal to it is on in that product.
    pub fn comparison(self) -> Comparison {
        match self {
            Self::UnleashRollout | Self::FlagsmithRollout | Self::PosthogRollout => Comparison::UpTo,
            _ => Comparison::Below,
        }
    }

    /// What that product does about a bucketing key that is missing.
    pub fn missing_key(self) -> MissingKey {
        if self == Self::Launchdarkly { MissingKey::FirstBucket } else { MissingKey::NotApplied }
    }

    /// Whether it is for one variant with a percentage rather than for a division among several.
    pub fn is_rollout(self) -> bool {
        matches!(self, Self::UnleashRollout | Self::FlagsmithRollout | Self::FliptRollout | Self::PosthogRollout)
    }

    /// Whether that product hashes an empty text like any other; elsewhere it counts as missing.
    pub(crate) fn hashes_empty_text(self) -> bool {
        matches!(self, Self::Launchdarkly | Self::FlagsmithRollout | Self::FlagsmithVariant)
    }

    /// Whether the number 0 is a key; the engines of GrowthBook take it for no value.
    pub(crate) fn hashes_zero(self) -> bool {
        !matches!(self, Self::GrowthbookV1 | Self::GrowthbookV2)
    }

    /// The bucket of a hash's value, always below `total`, which is 1 or more.
    #[inline]
    pub(crate) fn bucket_of(self, hash: u64, total: u32) -> u32 {
        match self {
            Self::Murmur3 | Self::FlagdV2 | Self::FlagdV3 | Self::FlagdV3Shorthand => {
                // A boundary at c of a sum s is `hash × s / 2^32 < c`; the same factor on s and c leaves it as it is.
                ((hash * u64::from(total)) >> 32) as u32
            }
            _ => self.bucket_of_foreign(hash, total),
        }
    }

    fn bucket_of_foreign(self, hash: u64, total: u32) -> u32 {
        match self {
            // 2^31 − 1 is prime, so no hash but 0 and the largest lies on a boundary, where floats could err.
            Self::FlagdV1 => self.spread(u64::from((hash as i32).unsigned_abs()), i32::MAX as u64, total),
            Self::UnleashRollout => self.spread(hash % 100 + 1, 100, total),
            Self::GrowthbookV1 | Self::FliptDistribution => self.spread(hash % 1_000, 1_000, total),
            Self::GrowthbookV2 => self.spread(hash % 10_000, 10_000, total),
            // With fewer buckets than values, values would share buckets; a split has 100,000.
            Self::FlagsmithRollout | Self::FlagsmithVariant => self.spread(hash, 9_998, total),
            Self::FliptRollout => self.spread(hash % 100, 100, total),
            Self::Launchdarkly | Self::PosthogRollout | Self::PosthogVariant => {
                self.spread(hash, FIFTEEN_DIGITS_MAX, total)
            }
            // The remainder is the bucket, so the total must be the product's own.
            _ => (hash % u64::from(total)) as u32,
        }
    }

    /// `value` of `whole`, in buckets: rounded down where values below a boundary are meant, and so that the bucket is
    /// the one before the boundary where values up to it are. Both leave `value` on its side of every boundary that is
    /// a number of buckets.
    fn spread(self, value: u64, whole: u64, total: u32) -> u32 {
        let (scaled, whole) = (u128::from(value) * u128::from(total), u128::from(whole));
        let bucket = match self.comparison() {
            Comparison::Below => scaled / whole,
            Comparison::UpTo => scaled.div_ceil(whole).saturating_sub(1),
        };
        // The whole itself is a value of some: it belongs to the last bucket.
        bucket.min(u128::from(total - 1)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_stored_in_snake_case() {
        let name = |algorithm: Algorithm| serde_json::to_string(&algorithm).expect("a name");
        assert_eq!(name(Algorithm::default()), r#""murmur3""#);
        assert_eq!(name(Algorithm::FlagdV3Shorthand), r#""flagd_v3_shorthand""#);
        assert_eq!(name(Algorithm::Launchdarkly), r#""launchdarkly""#);
        assert_eq!(name(Algorithm::GrowthbookV1), r#""growthbook_v1""#);
        assert_eq!(name(Algorithm::GoFeatureFlag), r#""go_feature_flag""#);
        for algorithm in Algorithm::ALL {
            let again: Algorithm = serde_json::from_str(&name(algorithm)).expect("a known name");
            assert_eq!(again, algorithm);
        }
        assert!(serde_json::from_str::<Algorithm>(r#""growthbook_v99""#).is_err());
    }

    #[test]
    fn the_highest_hash_is_in_the_last_bucket() {
        for total in [1, 3, 100, 100_000, u32::MAX] {
            for top in [i32::MAX as u64, 1 << 31] {
                assert_eq!(Algorithm::FlagdV1.bucket_of(top, total), total - 1);
            }
            for algorithm in [Algorithm::Launchdarkly, Algorithm::PosthogRollout, Algorithm::PosthogVariant] {
                assert_eq!(algorithm.bucket_of(FIFTEEN_DIGITS_MAX, total), total - 1);
            }
            assert_eq!(Algorithm::Murmur3.bucket_of(u64::from(u32::MAX), total), total - 1);
        }
    }

    #[test]
    fn a_value_on_a_boundary_is_on_the_side_the_product_puts_it() {
        // Half of 9,998 is a value of Flagsmith's: 4,999, which is 50 %.
        assert_eq!(Algorithm::FlagsmithRollout.bucket_of(4_999, 100_000), 49_999);
        assert_eq!(Algorithm::FlagsmithVariant.bucket_of(4_999, 100_000), 50_000);
        // Of 1,001 parts, 5 × 10^5 of them: an exact boundary of the 15 digits, which are divisible by 1,001.
        let boundary = FIFTEEN_DIGITS_MAX / 1_001 * 500;
        assert_eq!(Algorithm::PosthogRollout.bucket_of(boundary, 1_001), 499);
        assert_eq!(Algorithm::PosthogVariant.bucket_of(boundary, 1_001), 500);
    }
}

//! Ranges of versions, such as `^1.2` or `>=1 <2`.
//!
//! Whatever is written, a range is one stretch of the order of versions, so it is kept as its two edges and many ranges
//! are kept as the stretches they cover together. Membership is precedence alone: `<2` holds `2.0.0-alpha`. Only the
//! upper end that `^` and `~` imply lies before the pre-releases of that version.

use crate::compare::semver::comparator::{COMPARATORS_MAX, Comparator, RangeError, is_blank};
use crate::compare::semver::{OwnedVersion, Version};
use crate::compare::shown;

/// A place in the order of versions: just before a version, or just after it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    version: OwnedVersion,
    is_after: bool,
}

impl Edge {
    pub(super) fn before(version: impl Into<OwnedVersion>) -> Self {
        Self { version: version.into(), is_after: false }
    }

    pub(super) fn after(version: impl Into<OwnedVersion>) -> Self {
        Self { version: version.into(), is_after: true }
    }

    fn is_below(&self, version: Version<'_>) -> bool {
        let own = self.version.as_version();
        own < version || (own == version && !self.is_after)
    }
}

/// Versions between two edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// Nothing below; `None` when there is no such limit.
    pub(super) low: Option<Edge>,
    /// Nothing above; `None` when there is no such limit.
    pub(super) high: Option<Edge>,
}

impl Range {
    /// Reads comparators, all of which must hold, with blanks or single commas between them.
    ///
    /// A comparator is `^`, `~`, `>=`, `<=`, `>`, `<` or `=`, or none, before a version. Missing parts are zeros; only
    /// after `=` or none must the version be whole.
    pub fn parse(text: &str) -> Result<Self, RangeError> {
        let mut range = Self { low: None, high: None };
        let mut rest = text.trim_matches(is_blank);
        if rest.is_empty() {
            return Err(RangeError::Empty(shown(text)));
        }
        for _ in 0..COMPARATORS_MAX {
            let (comparator, following) = Comparator::split_from(rest, text)?;
            range = range.and(comparator.range(text)?);
            rest = following.trim_start_matches(is_blank);
            if rest.is_empty() {
                return Ok(range);
            }
            if let Some(next) = rest.strip_prefix(',') {
                rest = next.trim_start_matches(is_blank);
            }
        }
        Err(RangeError::TooMany(shown(text)))
    }

    /// Whether a version lies in the range.
    pub fn contains(&self, version: Version<'_>) -> bool {
        self.low.as_ref().is_none_or(|low| low.is_below(version))
            && self.high.as_ref().is_none_or(|high| !high.is_below(version))
    }

    /// Whether no version can lie in the range, as in `>2 <1`.
    pub fn is_empty(&self) -> bool {
        matches!((&self.low, &self.high), (Some(low), Some(high)) if low >= high)
    }

    fn and(self, other: Self) -> Self {
        let low = self.low.max(other.low);
        let high = match (self.high, other.high) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Self { low, high }
    }
}

/// What any of many ranges contains.
#[derive(Clone, Debug)]
pub struct Ranges(Box<[Range]>);

impl Ranges {
    /// Whether a version lies in any of the ranges.
    pub fn contains(&self, version: Version<'_>) -> bool {
        let end = self.0.partition_point(|range| range.low.as_ref().is_none_or(|low| low.is_below(version)));
        self.0[..end].last().is_some_and(|range| range.contains(version))
    }
}

impl FromIterator<Range> for Ranges {
    /// Joins what overlaps or touches, so that a version can only be in the last range that begins below it.
    fn from_iter<I: IntoIterator<Item = Range>>(ranges: I) -> Self {
        let mut ranges: Vec<Range> = ranges.into_iter().filter(|range| !range.is_empty()).collect();
        ranges.sort_unstable_by(|a, b| a.low.cmp(&b.low));
        let mut joined: Vec<Range> = Vec::new();
        for range in ranges {
            match joined.last_mut() {
                Some(last) if last.high.is_none() => break,
                Some(last) if range.low <= last.high => {
                    if range.high.is_none() || range.high > last.high {
                        last.high = range.high;
                    }
                }
                _ => joined.push(range),
            }
        }
        Self(joined.into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn holds(range: &str, version: &str) -> bool {
        let range = Range::parse(range).unwrap_or_else(|error| panic!("{error}"));
        range.contains(Version::parse(version).unwrap_or_else(|| panic!("'{version}' is a version")))
    }

    #[test]
    fn a_range_holds_what_its_comparators_say() {
        for (range, inside, outside) in [
            ("^1.2.3", &["1.2.3", "1.9.0", "1.3.0-rc.1"][..], &["1.2.2", "1.2.3-rc.1", "2.0.0-0", "2.0.0"][..]),
            ("^1", &["1.0.0", "1.99.99"], &["1.0.0-rc.1", "2.0.0-alpha"]),
            ("^1.2-beta", &["1.2.0-beta", "1.2.0", "1.3.0"], &["1.2.0-alpha", "2.0.0-0"]),
            ("^0.2.3", &["0.2.3", "0.2.9"], &["0.2.2", "0.3.0-0", "0.3.0"]),
            ("^0.0.3", &["0.0.3"], &["0.0.2", "0.0.4-0", "0.0.4"]),
            ("^0.0.0", &["0.0.0"], &["0.0.1-0", "0.0.1"]),
            ("^0.0", &["0.0.0", "0.0.9"], &["0.1.0-0", "0.1.0"]),
            ("^0.2", &["0.2.0", "0.2.7"], &["0.1.9", "0.3.0-0"]),
            ("^0", &["0.0.0", "0.9.9"], &["1.0.0-0", "1.0.0"]),
            ("~1", &["1.0.0", "1.9.9"], &["0.9.9", "2.0.0-0"]),
            ("~1.2", &["1.2.0", "1.2.9"], &["1.2.0-rc.1", "1.3.0-0", "1.3.0"]),
            ("~1.2.3", &["1.2.3", "1.2.9"], &["1.2.2", "1.3.0-alpha"]),
            ("~0", &["0.0.1", "0.9.9"], &["1.0.0-0"]),
            (">=1 <2", &["1.0.0", "1.9.9", "2.0.0-alpha"], &["1.0.0-rc.1", "2.0.0"]),
            ("<2", &["2.0.0-alpha", "0.0.0-0"], &["2.0.0"]),
            (">1.2", &["1.2.1", "1.3.0-0"], &["1.2.0", "1.2.0-rc.1"]),
            ("<=1.2", &["1.2.0", "1.2.0-rc.1"], &["1.2.1-0", "1.2.1"]),
            ("=1.2.3", &["1.2.3", "v1.2.3+build"], &["1.2.4", "1.2.3-rc.1"]),
            ("1.2.3-rc.1", &["1.2.3-rc.1"], &["1.2.3", "1.2.3-rc.2"]),
            ("~9.99", &["9.99.1"], &["9.100.0-0", "10.0.0"]),
            ("^99999999999999999999", &["99999999999999999999.5"], &["100000000000000000000.0.0-0"]),
            (">2 <1", &[], &["0.0.0", "1.5.0", "3.0.0"]),
        ] {
            inside.iter().for_each(|version| assert!(holds(range, version), "{range} holds {version}"));
            outside.iter().for_each(|version| assert!(!holds(range, version), "{range} does not hold {version}"));
        }
    }

    #[test]
    fn comparators_stand_apart_by_blanks_or_commas() {
        let plain = Range::parse(">=1 <2");
        for same in [">=1,<2", ">=1, <2", ">=1 , <2", ">= 1 < 2", "  >=v1\t<V2+b ", ">=\t1,\n<2", "<2 >=1 >=0 <=3"] {
            assert_eq!(Range::parse(same), plain, "{same}");
        }
        assert!(Range::parse(&[">=1"; COMPARATORS_MAX].join(" ")).is_ok());
    }

    #[test]
    fn a_range_that_nothing_can_be_in_says_so() {
        for empty in [">2 <1", ">1.2.3 <1.2.3", ">1.2.3 <=1.2.3", "^1 ^2", "1.2.3 1.2.4"] {
            assert!(Range::parse(empty).expect(empty).is_empty(), "{empty}");
        }
        for full in [">=1.2.3 <=1.2.3", "<1", ">1", "^1 ~1.2"] {
            assert!(!Range::parse(full).expect(full).is_empty(), "{full}");
        }
    }

    const VERSION: &str = r"[0-2](\.[0-2](\.[0-2])?)?(-(0|a|a\.1))?";
    const RANGE: &str = r"((\^|~|>=|<=|>|<) ?[0-2](\.[0-2](\.[0-2](-(0|a))?)?)?|=?[0-2]\.[0-2]\.[0-2])( , | |,)?";

    proptest! {
        #[test]
        fn reading_never_panics(text in ".*", looks_right in r"[\^~>=<, 0-9v.*x|-]{0,12}") {
            let _ = Range::parse(&text);
            let _ = Range::parse(&looks_right);
        }

        #[test]
        fn all_comparators_of_a_range_must_hold(one in RANGE, other in RANGE, version in VERSION) {
            let [one, other] = [one, other].map(|range| range.trim_matches([' ', ',']).to_owned());
            let together = holds(&format!("{one} {other}"), &version);
            prop_assert_eq!(together, holds(&one, &version) && holds(&other, &version));
        }

        #[test]
        fn many_ranges_hold_what_any_of_them_holds(
            ranges in prop::collection::vec(RANGE, 0..12),
            versions in prop::collection::vec(VERSION, 20),
        ) {
            let ranges: Vec<Range> = ranges
                .chunks(2)
                .filter_map(|pair| Range::parse(pair.join(" ").trim_matches([' ', ','])).ok())
                .collect();
            let joined: Ranges = ranges.iter().cloned().collect();
            for text in &versions {
                let version = Version::parse(text).expect("a version");
                let is_in_any = ranges.iter().any(|range| range.contains(version));
                prop_assert_eq!(joined.contains(version), is_in_any, "{}", text);
            }
        }
    }
}

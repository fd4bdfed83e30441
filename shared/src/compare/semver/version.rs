//! Versions and their order.

use std::cmp::Ordering;

/// A version borrowed from its text; equal when precedence is.
#[derive(Clone, Copy, Debug)]
pub struct Version<'a> {
    /// Major, minor and patch, without leading zeros.
    pub(super) numbers: [&'a str; 3],
    /// How many of the numbers were written.
    pub(super) written: usize,
    /// The identifiers between `-` and `+`; empty for a release.
    pub(super) pre_release: &'a str,
}

impl<'a> Version<'a> {
    /// Reads a text that is wholly a version.
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut rest = text.strip_prefix(['v', 'V']).unwrap_or(text);
        let mut numbers = ["0"; 3];
        let mut written = 0;
        loop {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (number, after) = rest.split_at(digits);
            if digits == 0 || (digits > 1 && number.starts_with('0')) {
                return None;
            }
            *numbers.get_mut(written)? = number;
            written += 1;
            rest = after;
            match rest.strip_prefix('.') {
                Some(next) => rest = next,
                None => break,
            }
        }
        if rest.is_empty() {
            return Some(Self { numbers, written, pre_release: "" });
        }
        let (rest, build) = rest.split_once('+').map_or((rest, None), |(before, build)| (before, Some(build)));
        let pre_release = match rest.strip_prefix('-') {
            None if rest.is_empty() => None,
            None => return None,
            pre_release => pre_release,
        };
        if !build.is_none_or(|build| build.split('.').all(is_identifier))
            || !pre_release.is_none_or(|pre_release| pre_release.split('.').all(is_pre_release_identifier))
        {
            return None;
        }
        Some(Self { numbers, written, pre_release: pre_release.unwrap_or_default() })
    }
}

fn is_number(text: &str) -> bool {
    is_digits(text) && (text == "0" || !text.starts_with('0'))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn is_pre_release_identifier(text: &str) -> bool {
    is_identifier(text) && (!is_digits(text) || is_number(text))
}

impl Ord for Version<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let mut numbers = self.numbers.iter().zip(other.numbers).map(|(a, b)| compare_numbers(a, b));
        let different = numbers.find(|ordering| ordering.is_ne());
        different.unwrap_or_else(|| match (self.pre_release, other.pre_release) {
            ("", "") => Ordering::Equal,
            // A pre-release comes before its release.
            ("", _) => Ordering::Greater,
            (_, "") => Ordering::Less,
            (a, b) => compare_pre_releases(a, b),
        })
    }
}

/// Without leading zeros the longer number is the greater one, so no number is too long.
fn compare_numbers(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// Of equal beginnings the one with more identifiers is greater, which is how iterators compare.
fn compare_pre_releases(a: &str, b: &str) -> Ordering {
    let identifiers = |text| str::split(text, '.').map(Identifier);
    identifiers(a).cmp(identifiers(b))
}

/// A part of a pre-release: numbers come before words.
struct Identifier<'a>(&'a str);

impl Ord for Identifier<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (is_digits(self.0), is_digits(other.0)) {
            (true, true) => compare_numbers(self.0, other.0),
            (false, false) => self.0.cmp(other.0),
            (is_number, _) => {
                if is_number {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
        }
    }
}

macro_rules! equal_as_ordered {
    ($($name:ty),+) => {$(
        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.cmp(other) == Ordering::Equal
            }
        }

        impl Eq for $name {}
    )+};
}

equal_as_ordered!(Version<'_>, Identifier<'_>, OwnedVersion);

/// A version that keeps its own text, for compiled values.
#[derive(Clone, Debug)]
pub struct OwnedVersion {
    pub(super) numbers: [Box<str>; 3],
    pre_release: Box<str>,
}

impl OwnedVersion {
    /// The version, borrowed for comparison.
    pub fn as_version(&self) -> Version<'_> {
        let [major, minor, patch] = &self.numbers;
        Version { numbers: [major, minor, patch], written: 3, pre_release: &self.pre_release }
    }
}

impl From<Version<'_>> for OwnedVersion {
    fn from(version: Version<'_>) -> Self {
        Self { numbers: version.numbers.map(Box::from), pre_release: version.pre_release.into() }
    }
}

impl Ord for OwnedVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_version().cmp(&other.as_version())
    }
}

/// Versions to be equal to any of.
#[derive(Clone, Debug)]
pub struct Versions(Box<[OwnedVersion]>);

impl Versions {
    /// Whether a version of the same precedence is among these.
    pub fn contains(&self, version: Version<'_>) -> bool {
        self.0.binary_search_by(|known| known.as_version().cmp(&version)).is_ok()
    }
}

impl FromIterator<OwnedVersion> for Versions {
    fn from_iter<I: IntoIterator<Item = OwnedVersion>>(versions: I) -> Self {
        let mut versions: Vec<OwnedVersion> = versions.into_iter().collect();
        versions.sort_unstable();
        versions.dedup();
        Self(versions.into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn version(text: &str) -> Version<'_> {
        Version::parse(text).unwrap_or_else(|| panic!("'{text}' is a version"))
    }

    #[test]
    fn precedence_is_that_of_semantic_versioning() {
        let ascending = [
            "0.0.0-0",
            "0.0.0",
            "0.9.9",
            "1.0.0-0",
            "1.0.0-9",
            "1.0.0-10",
            "1.0.0-10.a",
            "1.0.0--",
            "1.0.0-0a",
            "1.0.0-Alpha",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.9",
            "1.0.0-alpha.10",
            "1.0.0-alpha.beta",
            "1.0.0-beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-beta-2",
            "1.0.0-rc.1",
            "1.0.0",
            "1.2.3-beta",
            "1.2.3",
            "1.9.0",
            "1.10.0",
            "9.9.9",
            "10.0.0",
            "99999999999999999999.0.0",
            "100000000000000000000.0.0",
        ];
        for (i, a) in ascending.iter().enumerate() {
            for (j, b) in ascending.iter().enumerate() {
                assert_eq!(version(a).cmp(&version(b)), i.cmp(&j), "{a} {b}");
            }
        }
    }

    #[test]
    fn build_metadata_is_ignored_but_must_be_well_written() {
        assert_eq!(version("1.2.3+abc"), version("1.2.3"));
        assert_eq!(version("1.2.3-rc.1+001.-"), version("1.2.3-rc.1"));
        for text in ["1.2.3+", "1.2.3+a..b", "1.2.3+a+b", "1.2.3+ä", "1.2.3+a b"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_leading_v_and_missing_parts_are_tolerated() {
        for (loose, strict) in [
            ("v1.2.3", "1.2.3"),
            ("V1", "1.0.0"),
            ("1.2", "1.2.0"),
            ("2", "2.0.0"),
            ("1.2-beta", "1.2.0-beta"),
            ("1-0", "1.0.0-0"),
            ("1+build", "1.0.0"),
        ] {
            assert_eq!(version(loose), version(strict), "{loose}");
        }
    }

    #[test]
    fn what_is_no_version_is_not_read() {
        let unreadable = "v vv1 V.1 - + . 1. .1 1..2 1.2.3.4 \
             01.2.3 1.02.3 1.2.03 00 1.2.3- 1.2.3-a. 1.2.3-.a 1.2.3-a..b 1.2.3-01 1.2.3-a.00 \
             1.2.3-ä 1.x * =1.2.3 1,2 +1 -1 １.2.3 latest 1.2.3\0 1_0";
        for text in unreadable.split(' ').chain(["", " 1.2.3", "1.2.3 ", "1. 2", "v 1"]) {
            assert_eq!(Version::parse(text), None, "{text}");
        }
        assert!(Version::parse("1.2.3-01a.0.-01").is_some(), "zeros may lead in words");
    }

    #[test]
    fn a_list_holds_versions_by_precedence() {
        let list: Versions = (0..10_000).map(|n| OwnedVersion::from(version(&format!("1.{n}-rc.{n}")))).collect();
        assert!(list.contains(version("1.0-rc.0+x")) && list.contains(version("v1.9999.0-rc.9999")));
        assert!(!list.contains(version("1.3")) && !list.contains(version("1.9999.0-rc.9998")));
        assert!(![].into_iter().collect::<Versions>().contains(version("1")));
    }

    /// The order computed from parsed numbers instead of texts.
    fn reference(text: &str) -> ([u64; 3], bool, Vec<(bool, u64, String)>) {
        let (core, pre_release) = text.split_once('-').unwrap_or((text, ""));
        let mut numbers = core.split('.').map(|number| number.parse().expect("a number"));
        let numbers = [(); 3].map(|()| numbers.next().unwrap_or(0));
        let identifiers = pre_release.split('.').filter(|part| !part.is_empty());
        let identifiers = identifiers.map(|part| match part.parse() {
            Ok(number) => (false, number, String::new()),
            Err(_) => (true, 0, part.to_owned()),
        });
        (numbers, pre_release.is_empty(), identifiers.collect())
    }

    const WRITTEN: &str =
        r"(0|[1-9][0-9]{0,2})(\.(0|[1-9][0-9]?)){0,2}(-(0|1[0-9]?|a|[a-c-]{1,2})(\.(0|2|10|a|b1)){0,2})?";

    proptest! {
        #[test]
        fn reading_never_panics(text in ".*", looks_right in r"[vV]?[0-9.]{0,8}[-+]?[a0.+-]{0,8}") {
            Version::parse(&text);
            Version::parse(&looks_right);
        }

        #[test]
        fn the_order_is_that_of_the_parsed_parts(a in WRITTEN, b in WRITTEN) {
            prop_assert_eq!(version(&a).cmp(&version(&b)), reference(&a).cmp(&reference(&b)));
            prop_assert_eq!(OwnedVersion::from(version(&a)).cmp(&version(&b).into()), version(&a).cmp(&version(&b)));
        }

        #[test]
        fn the_order_is_total(a in WRITTEN, b in WRITTEN, c in WRITTEN) {
            let (a, b, c) = (version(&a), version(&b), version(&c));
            prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
            prop_assert!(!(a <= b && b <= c) || a <= c);
        }
    }
}

//! The tag of a bulk answer: the revision it was made by, and a hash of all that it says.
//!
//! The hash runs over what each flag was compiled from and what it answered, so it differs when any answer does,
//! whatever the context was; over the SDK key and the period of its stream token, which the body carries; and over the
//! mark of stale answers. Every edge makes the same tag of the same answers.

use std::fmt;

use hyper::HeaderMap;
use hyper::header::IF_NONE_MATCH;
use percent_encoding::percent_decode_str;
use shared::evaluation::Outcome;
use xxhash_rust::xxh3::xxh3_64;

/// Odd, and with bits set all over: the fractional part of the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// The query parameter by which a client that heard an event says which state it wants to see.
const CONFIG_PARAMETER: &str = "flagConfigEtag=";

/// A hash of numbers that is the same everywhere.
#[derive(Clone, Copy)]
pub(super) struct Hash(u64);

impl Hash {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed ^ FACTOR)
    }

    #[inline]
    pub(super) fn add(&mut self, value: u64) {
        let wide = u128::from(self.0.rotate_left(23) ^ value) * u128::from(FACTOR);
        self.0 = (wide as u64) ^ ((wide >> 64) as u64) ^ value;
    }

    /// Adds a flag, by what it was compiled from, and its answer.
    #[inline]
    pub(super) fn add_answer(&mut self, digest: u64, outcome: &Outcome<'_>) {
        let variant = outcome.variant_index.map_or(0, |index| u64::from(index) + 1);
        let error = outcome.error.map_or(0, |(code, _)| code as u64 + 1);
        self.add(digest ^ (variant << 16) ^ ((outcome.reason as u64) << 8) ^ error);
        if let Some(parent) = outcome.blocked_by {
            self.add(xxh3_64(parent.as_bytes()));
        }
    }
}

/// A tag, without its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ETag(String);

impl ETag {
    pub(super) fn new(revision: u64, hash: Hash) -> Self {
        Self(format!("{}-{:016x}", of_revision(revision), hash.0))
    }

    /// Whether the client holds this very answer. Tags are compared weakly, since proxies that compress weaken them.
    pub(super) fn is_held(&self, headers: &HeaderMap) -> bool {
        let lines = headers.get_all(IF_NONE_MATCH).into_iter().filter_map(|value| value.to_str().ok());
        // No comma is inside a tag of ours, and a foreign one that has some is not held here anyway.
        let mut tags = lines.flat_map(|line| line.split(',')).map(str::trim);
        tags.any(|tag| tag == "*" || opaque(tag) == self.0)
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0)
    }
}

/// What an event says of the state to be fetched; tags of answers begin with it.
pub(super) fn of_revision(revision: u64) -> String {
    format!("r{revision}")
}

/// The revision that a client heard of by an event and now wants to see, from the query.
pub(super) fn awaited_revision(query: Option<&str>) -> u64 {
    let parameter = query.into_iter().flat_map(|query| query.split('&')).find_map(|pair| {
        let value = pair.strip_prefix(CONFIG_PARAMETER)?;
        percent_decode_str(value).decode_utf8().ok()
    });
    let revision = parameter.as_deref().and_then(|tag| opaque(tag).strip_prefix('r')?.split('-').next()?.parse().ok());
    revision.unwrap_or(0)
}

fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag).trim_matches('"')
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn tags_are_compared_weakly_in_lists_and_with_a_star() {
        let tag = ETag::new(7, Hash::new(1));
        let text = tag.to_string();
        let opaque = text.trim_matches('"');
        let held = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(IF_NONE_MATCH, HeaderValue::from_str(value).expect("a value"));
            }
            tag.is_held(&headers)
        };
        for values in [
            &[text.as_str()][..],
            &[&format!("W/{text}")],
            &[&format!("\"a\", {text}")],
            &[&format!("\"a\",W/{text} , \"b\"")],
            &["\"a\"", &text],
            &["*"],
            &[opaque],
        ] {
            assert!(held(values), "{values:?}");
        }
        for values in [&[][..], &[""], &["\"r7\""], &["\"*\""], &[&format!("\"{opaque}x\"")]] {
            assert!(!held(values), "{values:?}");
        }
    }

    #[test]
    fn the_revision_that_an_event_named_is_read_from_the_query() {
        for (query, revision) in [
            ("flagConfigEtag=r1042", 1042),
            ("flagConfigEtag=%22r1042%22&flagConfigLastModified=1", 1042),
            ("a=b&flagConfigEtag=W/%22r1042-00ff%22", 1042),
            ("flagConfigEtag=", 0),
            ("flagConfigEtag=abc", 0),
            ("flagConfigEtag=r99999999999999999999", 0),
            ("xflagConfigEtag=r5", 0),
            ("", 0),
        ] {
            assert_eq!(awaited_revision(Some(query)), revision, "{query}");
        }
        assert_eq!(awaited_revision(None), 0);
    }
}

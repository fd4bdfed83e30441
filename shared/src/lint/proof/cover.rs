//! Whether everything that passes a comparison is among what is known not to be there.
//!
//! Yes is a proof. No may also mean that it is not seen.

use std::collections::HashSet;
use std::net::IpAddr;
use std::rc::Rc;

use crate::compare::moment::Moment;
use crate::compare::network::Network;
use crate::compare::number::Number;
use crate::compare::semver::{OwnedVersion, Range};
use crate::lint::proof::comparison::{Comparison, Element, Passing, Readable, parts};
use crate::lint::proof::stretch::{Stretch, are_everything};
use crate::model::condition::Operator;

/// Elements that an attribute does not have.
#[derive(Clone)]
pub(super) struct Missing<'d> {
    pub(super) comparison: Rc<Comparison<'d>>,
    /// Everything the comparison can read, not only what passes it.
    pub(super) is_all: bool,
}

impl Missing<'_> {
    fn has(&self, element: Element<'_>) -> bool {
        if self.is_all { self.comparison.readable.reads(element) } else { self.comparison.passes(element) }
    }

    /// Whether every element that something can read is missing.
    fn has_all_of(&self, readable: Readable) -> bool {
        if self.is_all {
            self.comparison.readable.includes(readable)
        } else {
            Readable::Texts.includes(readable) && self.comparison.passes_every_text()
        }
    }
}

/// Whether nothing that passes the comparison can be there. Counts in `work` what it looks at.
pub(super) fn is_nothing_left(comparison: &Comparison<'_>, missing: &[Missing<'_>], work: &mut u64) -> bool {
    if missing.iter().any(|missing| missing.has_all_of(comparison.readable)) {
        return true;
    }
    match comparison.passing() {
        Passing::Numbers(stretch) => stretch.is_covered(&numbers(missing)),
        Passing::Versions(stretch) => stretch.is_covered(&versions(missing)),
        Passing::Moments(stretch) => stretch.is_covered(&moments(missing)),
        _ => comparison.leaf.values.iter().all(|value| {
            *work += missing.len() as u64 + 1;
            has_value(comparison, value, missing)
        }),
    }
}

/// Whether nothing that a comparison can read can be there.
pub(super) fn is_nothing_readable(readable: Readable, missing: &[Missing<'_>]) -> bool {
    missing.iter().any(|missing| missing.has_all_of(readable))
        || match readable {
            Readable::Numbers => are_everything(&numbers(missing)),
            Readable::Versions => are_everything(&versions(missing)),
            Readable::Moments => are_everything(&moments(missing)),
            Readable::Anything | Readable::Texts | Readable::ShortTexts | Readable::Addresses => false,
        }
}

fn passing<'m>(missing: &'m [Missing<'_>]) -> impl Iterator<Item = &'m Passing> {
    missing.iter().filter(|missing| !missing.is_all).map(|missing| missing.comparison.passing())
}

fn numbers<'m>(missing: &'m [Missing<'_>]) -> Vec<&'m Stretch<Number>> {
    passing(missing).filter_map(|p| if let Passing::Numbers(stretch) = p { Some(stretch) } else { None }).collect()
}

fn versions<'m>(missing: &'m [Missing<'_>]) -> Vec<&'m Stretch<OwnedVersion>> {
    passing(missing).filter_map(|p| if let Passing::Versions(stretch) = p { Some(stretch) } else { None }).collect()
}

fn moments<'m>(missing: &'m [Missing<'_>]) -> Vec<&'m Stretch<Moment>> {
    passing(missing).filter_map(|p| if let Passing::Moments(stretch) = p { Some(stretch) } else { None }).collect()
}

/// Whether all that passes for one of the comparison's values is missing.
fn has_value(comparison: &Comparison<'_>, value: &str, missing: &[Missing<'_>]) -> bool {
    let (operator, ignore_case) = (comparison.leaf.operator, comparison.leaf.ignore_case);
    let is_listed = |missing: &Missing<'_>| {
        let leaf = missing.comparison.leaf;
        !missing.is_all
            && (leaf.operator, leaf.ignore_case) == (operator, ignore_case)
            && missing.comparison.lists(value)
    };
    if missing.iter().any(is_listed) {
        return true;
    }
    match operator {
        Operator::Equals => {
            let has = |element: Element<'_>| missing.iter().any(|missing| missing.has(element));
            missing.iter().any(|missing| has_text(missing, value, ignore_case))
                && Number::parse(value).is_none_or(|number| has(Element::Number(number)))
                && value.parse().map_or(true, |boolean| has(Element::Boolean(boolean)))
        }
        Operator::Contains | Operator::StartsWith | Operator::EndsWith => missing.iter().any(|missing| {
            // What contains a text contains the parts of it; at an end, only what stands there is known.
            let is_part = [operator, Operator::Contains].contains(&missing.comparison.leaf.operator);
            is_part && !missing.is_all && has_text(missing, value, ignore_case)
        }),
        // The same precedence is the same to every comparison of versions.
        Operator::SemverEqual => missing
            .iter()
            .any(|missing| missing.comparison.readable == Readable::Versions && missing.has(Element::Text(value))),
        Operator::SemverIn => Range::parse(value).is_ok_and(|range| range.is_empty()),
        Operator::InNetwork => passing(missing).any(|passing| match passing {
            Passing::Within { parts, .. } => is_inside(value, parts),
            _ => false,
        }),
        _ => false,
    }
}

/// Whether a text is missing, where asked for in upper and lower case.
fn has_text(missing: &Missing<'_>, value: &str, ignore_case: bool) -> bool {
    let leaf = missing.comparison.leaf;
    let is_in_any_case = !missing.is_all && leaf.ignore_case && leaf.operator.can_ignore_case();
    (is_in_any_case || !ignore_case || is_caseless(value)) && missing.has(Element::Text(value))
}

/// Whether the value equals no other text when case is ignored.
fn is_caseless(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_alphabetic())
}

/// Whether a network is among wider ones, or is one of them.
fn is_inside(value: &str, networks: &HashSet<(IpAddr, u32)>) -> bool {
    let Some((address, prefix)) = Network::parse(value).ok().and_then(|network| parts(&network)) else { return false };
    (0..=prefix).any(|prefix| networks.contains(&(lowest(address, prefix), prefix)))
}

fn lowest(address: IpAddr, prefix: u32) -> IpAddr {
    match address {
        IpAddr::V4(v4) => IpAddr::V4((v4.to_bits() & u32::MAX.checked_shl(32 - prefix).unwrap_or(0)).into()),
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() & u128::MAX.checked_shl(128 - prefix).unwrap_or(0)).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::text::fold;

    #[test]
    fn only_itself_folds_to_a_character_that_is_no_letter() {
        for c in (0..=u32::from(char::MAX)).filter_map(char::from_u32) {
            let (text, folded) = (c.to_string(), fold(&c.to_string()));
            assert!(text == folded || !folded.chars().any(|f| is_caseless(&f.to_string())), "{c}");
        }
    }

    #[test]
    fn a_network_lies_in_wider_ones_of_its_family() {
        let wide = |list: &[&str]| -> HashSet<(IpAddr, u32)> {
            list.iter().filter_map(|text| parts(&Network::parse(text).expect("a network"))).collect()
        };
        let cases = [
            ("10.1.0.0/16", &["10.0.0.0/8"][..], true),
            ("10.0.0.0/8", &["10.0.0.0/8"], true),
            ("10.0.0.0/8", &["10.1.0.0/16"], false),
            ("10.0.0.7", &["10.0.0.0/29"], true),
            ("10.0.0.8", &["10.0.0.0/29"], false),
            ("0.0.0.0/0", &["0.0.0.0/1", "128.0.0.0/1"], false),
            ("10.0.0.7", &["0.0.0.0/0"], true),
            ("10.0.0.7", &["::/0"], false),
            ("2001:DB8::1", &["2001:db8::/32"], true),
            ("2001:db9::1", &["2001:db8::/32", "::/1"], true),
        ];
        for (network, list, is_in) in cases {
            assert_eq!(is_inside(network, &wide(list)), is_in, "{network} {list:?}");
        }
    }
}

//! Numbers: read from a whole text, compared by value.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use hashbrown::HashSet;

/// Whole floats below this are integers here. Those beyond are only the nearest double to what was written.
const INTEGER_LIMIT: f64 = 18_446_744_073_709_551_616.0;
/// 2^127, from where on a float does not fit the integers of [`Number`].
const I128_LIMIT: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;

/// A JSON number, compared by value: `10`, `10.0` and `1e1` are equal.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// A whole number of up to 64 bits, signed or not, or a float that is one.
    Integer(i128),
    /// Any other finite number.
    Float(f64),
}

impl Number {
    /// Reads a text that is wholly a JSON number: no blanks, no `+`, no leading zeros, digits around the point.
    ///
    /// Numbers that no double can hold, such as `1e999`, are not read.
    pub fn parse(text: &str) -> Option<Self> {
        if !is_json_number(text) {
            return None;
        }
        if let Ok(integer) = text.parse::<i64>() {
            return Some(Self::Integer(integer.into()));
        }
        if let Ok(integer) = text.parse::<u64>() {
            return Some(Self::Integer(integer.into()));
        }
        text.parse::<f64>().ok().filter(|float| float.is_finite()).map(Self::from)
    }

    /// The nearest double.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Integer(integer) => integer as f64,
            Self::Float(float) => float,
        }
    }
}

fn is_json_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let (text, exponent) = match text.split_once(['e', 'E']) {
        Some((text, exponent)) => (text, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (text, None),
    };
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(is_digits)
        && exponent.is_none_or(is_digits)
}

impl From<f64> for Number {
    fn from(float: f64) -> Self {
        if float.fract() == 0.0 && float.abs() < INTEGER_LIMIT {
            Self::Integer(float as i128)
        } else {
            Self::Float(float)
        }
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a.cmp(b),
            // Both zeros are equal. What is not a number cannot be read, but must not break the order either.
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(b).unwrap_or_else(|| a.total_cmp(b)),
            (Self::Integer(integer), Self::Float(float)) => compare_mixed(*integer, *float),
            (Self::Float(float), Self::Integer(integer)) => compare_mixed(*integer, *float).reverse(),
        }
    }
}

/// Compares without making the integer a float, which would round it.
fn compare_mixed(integer: i128, float: f64) -> Ordering {
    if float.is_nan() {
        return if float.is_sign_positive() { Ordering::Less } else { Ordering::Greater };
    }
    if float >= I128_LIMIT {
        return Ordering::Less;
    }
    if float < -I128_LIMIT {
        return Ordering::Greater;
    }
    integer.cmp(&(float.trunc() as i128)).then_with(|| 0.0_f64.total_cmp(&(float.fract() + 0.0)))
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Integer(integer) => integer.hash(state),
            // Equal numbers must have equal hashes, however they were made.
            Self::Float(float) if float.fract() == 0.0 && (-I128_LIMIT..I128_LIMIT).contains(float) => {
                (*float as i128).hash(state);
            }
            Self::Float(float) => float.to_bits().hash(state),
        }
    }
}

/// Numbers to be equal to any of.
///
/// Always hashed: even for a single value that takes no longer than comparing it.
#[derive(Clone, Debug)]
pub struct Numbers(HashSet<Number>);

impl Numbers {
    /// Whether the number is one of these.
    pub fn contains(&self, number: Number) -> bool {
        self.0.contains(&number)
    }
}

impl FromIterator<Number> for Numbers {
    fn from_iter<I: IntoIterator<Item = Number>>(numbers: I) -> Self {
        let mut numbers: HashSet<Number> = numbers.into_iter().collect();
        numbers.shrink_to_fit();
        Self(numbers)
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use hashbrown::DefaultHashBuilder;
    use proptest::prelude::*;

    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap_or_else(|| panic!("'{text}' is a number"))
    }

    #[test]
    fn a_number_equals_every_way_to_write_it() {
        for (a, b) in [("10", "10.0"), ("10", "1e1"), ("100000", "1e5"), ("0", "-0"), ("0", "-0.0"), ("0.5", "5E-1")] {
            assert_eq!(number(a), number(b), "{a} {b}");
        }
    }

    #[test]
    fn only_a_whole_text_that_is_a_json_number_is_read() {
        let unreadable = "+10 01234 -01 00 .5 5. - -.5 1e 1e+ e5 1.e5 1_000 1,5 0x10 1.3.4 1e5.5 \
             --1 abc NaN Infinity inf 1e999 -1e999 １ 1\0";
        for text in unreadable.split(' ').chain(["", " 10", "10 "]) {
            assert_eq!(Number::parse(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_compared_by_value_not_as_text() {
        assert!(number("10") > number("9"));
        assert!(number("9.5") > number("9"));
        assert!(number("-1.5") < number("-1"));
        assert!(number("-0.5") < number("0") && number("0.5") > number("0"));
        assert!(number("1e300") > number("18446744073709551615"));
        assert!(number("-1e300") < number("-9223372036854775808"));
    }

    #[test]
    fn integers_of_64_bits_are_compared_exactly() {
        assert!(number("9007199254740993") > number("9007199254740992"));
        assert!(number("18446744073709551615") > number("18446744073709551614"));
        assert!(number("-9223372036854775808") < number("-9223372036854775807"));
        assert!(number("9007199254740993") > number("9007199254740992.0"));
        assert!(number("2251799813685249") > number("2251799813685248.5"));
        assert!(number("2251799813685248") < number("2251799813685248.5"));
        assert!(number("18446744073709551615") < number("18446744073709551616"));
    }

    #[test]
    fn numbers_that_no_document_holds_keep_the_order_total() {
        let odd = [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 10.0, 1e30].map(Number::Float);
        let hasher = DefaultHashBuilder::default();
        let all: Vec<Number> =
            odd.into_iter().chain([i128::MIN, -1, 0, 10, 1e30 as i128, i128::MAX].map(Number::Integer)).collect();
        for a in &all {
            for b in &all {
                assert_eq!(a.cmp(b), b.cmp(a).reverse(), "{a:?} {b:?}");
                assert!(a != b || hasher.hash_one(a) == hasher.hash_one(b), "{a:?} {b:?}");
                for c in &all {
                    assert!(!(a <= b && b <= c) || a <= c, "{a:?} {b:?} {c:?}");
                }
            }
        }
    }

    #[test]
    fn a_list_holds_its_numbers_whether_few_or_many() {
        for count in [0, 1, 2, 10_000] {
            let numbers: Numbers = (0..count).map(|n| number(&format!("{n}.5"))).collect();
            assert_eq!((0..count).filter(|n| numbers.contains(Number::from(*n as f64 + 0.5))).count(), count);
            assert!(!numbers.contains(number("0")) && !numbers.contains(number("10000.5")));
        }
    }

    /// As the context's deserializer reads JSON.
    fn as_json(text: &str) -> Option<Number> {
        let number: serde_json::Number = serde_json::from_str(text).ok()?;
        let integer = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
        integer.map(Number::Integer).or_else(|| number.as_f64().map(Number::from))
    }

    fn numbers() -> impl Strategy<Value = Number> {
        let near = prop::sample::select(vec![0_i128, 1 << 53, 1 << 63, 1 << 64, -(1 << 53), -(1 << 63), -(1 << 64)]);
        let text = prop_oneof!["-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,2})?", "-?[1-9][0-9]{15,20}", "-?[1-9]e-?[0-9]{1,3}"];
        prop_oneof![
            (near, -3..4_i128).prop_map(|(near, offset)| Number::Integer(near + offset)),
            text.prop_filter_map("too large", |text| Number::parse(&text)),
            any::<f64>().prop_filter("finite", |float| float.is_finite()).prop_map(Number::from),
        ]
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in ".*") {
            Number::parse(&text);
        }

        #[test]
        fn a_text_is_read_as_the_same_json_is(text in "-?[0-9]{1,25}(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?") {
            prop_assert_eq!(Number::parse(&text), as_json(&text));
        }

        #[test]
        fn what_is_no_json_is_no_number(text in "[-+.eE0-9 ]{0,8}") {
            let bare = text.trim() == text;
            prop_assert_eq!(Number::parse(&text), as_json(&text).filter(|_| bare));
        }

        #[test]
        fn the_order_is_total(a in numbers(), b in numbers(), c in numbers()) {
            prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
            prop_assert!(!(a <= b && b <= c) || a <= c);
            let hasher = DefaultHashBuilder::default();
            prop_assert!(a != b || hasher.hash_one(a) == hasher.hash_one(b));
        }
    }
}

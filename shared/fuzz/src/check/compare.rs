//! Texts, parted by NUL bytes: the last is compared with all before it, in every way there is.

use std::net::IpAddr;

use shared::compare::moment::Moment;
use shared::compare::network::{Network, NetworkError, Networks, address};
use shared::compare::number::{Number, Numbers};
use shared::compare::pattern::{Pattern, TEXT_BYTES_MAX};
use shared::compare::semver::{OwnedVersion, Range, Ranges, Version, Versions};
use shared::compare::text::{Needles, Texts, fold};
use shared::evaluation::{Bucketing, Key, bucket};
use shared::model::key::{FlagKey, SegmentKey};
use shared::model::split::{Algorithm, BUCKETS, BUCKETS_MAX};
use shared::model::variant::ValueType;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Patterns take long to compile.
const PATTERNS_MAX: usize = 3;

/// Compares; `false` where the bytes are no text.
pub fn check(data: &[u8]) -> bool {
    let Ok(texts) = std::str::from_utf8(data) else { return false };
    let mut values: Vec<&str> = texts.split('\0').collect();
    let text = values.pop().unwrap_or_default();
    check_texts(&values, text);
    check_numbers(&values, text);
    check_versions(&values, text);
    check_ranges(&values, text);
    check_networks(&values, text);
    check_moment(text);
    check_patterns(&values, text);
    check_keys(&values, text);
    check_values(text);
    true
}

fn check_texts(values: &[&str], text: &str) {
    for ignore_case in [false, true] {
        let prepared = |text: &str| if ignore_case { fold(text) } else { text.to_owned() };
        let whole = prepared(text);
        let any = |test: &dyn Fn(&str) -> bool| values.iter().any(|value| test(&prepared(value)));
        assert_eq!(Texts::new(values, ignore_case).contains(text), any(&|value| whole == value));
        let anywhere = Needles::anywhere(values, ignore_case).expect("few enough values");
        assert_eq!(anywhere.found_in(text), any(&|value| whole.contains(value)));
        assert_eq!(Needles::at_start(values, ignore_case).found_in(text), any(&|value| whole.starts_with(value)));
        assert_eq!(Needles::at_end(values, ignore_case).found_in(text), any(&|value| whole.ends_with(value)));
    }
}

fn check_numbers(values: &[&str], text: &str) {
    let is_bare = text.trim_matches([' ', '\t', '\n', '\r']) == text;
    let json = serde_json::from_str::<serde_json::Number>(text).ok().filter(|_| is_bare);
    let number = Number::parse(text);
    let integer = |json: &serde_json::Number| json.as_i64().map(i128::from).or_else(|| json.as_u64().map(i128::from));
    let expected = json.and_then(|json| match integer(&json) {
        Some(integer) => Some(Number::Integer(integer)),
        None => json.as_f64().map(Number::from),
    });
    assert_eq!(number, expected);
    let Some(number) = number else { return };
    let others: Vec<Number> = values.iter().filter_map(|value| Number::parse(value)).collect();
    for other in &others {
        assert_eq!(number.cmp(other), other.cmp(&number).reverse());
        if let (Number::Integer(a), Number::Integer(b)) = (number, *other) {
            assert_eq!(number.cmp(other), a.cmp(&b));
        }
        // Rounding keeps the order, though it may make equal what is not.
        let rounded = number.as_f64().total_cmp(&other.as_f64());
        assert!(number.as_f64() == other.as_f64() || number.cmp(other) == rounded, "{number:?} {other:?}");
    }
    let is_any = others.contains(&number);
    assert_eq!(others.into_iter().collect::<Numbers>().contains(number), is_any);
}

/// A version as the parts that decide its place in the order: numbers as texts after their lengths.
type Parts = ([(usize, String); 3], bool, Vec<Identifier>);

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(usize, String),
    Word(String),
}

fn parts(text: &str) -> Option<Parts> {
    let is_number =
        |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit()) && (t == "0" || !t.starts_with('0'));
    let is_word = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let is_digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
    let (text, build) = text.split_once('+').unwrap_or((text, "0"));
    let (core, pre_release) = text.split_once('-').map_or((text, None), |(core, rest)| (core, Some(rest)));
    let numbers: Vec<&str> = core.split('.').collect();
    let identifiers: Vec<&str> = pre_release.map(|text| text.split('.').collect()).unwrap_or_default();
    let is_right = numbers.len() <= 3
        && numbers.iter().all(|number| is_number(number))
        && identifiers.iter().all(|part| is_word(part) && (!is_digits(part) || is_number(part)))
        && build.split('.').all(is_word);
    let number = |at: usize| numbers.get(at).map_or((1, "0".to_owned()), |n| (n.len(), (*n).to_owned()));
    let identifier = |part: &&str| match is_digits(part) {
        true => Identifier::Number(part.len(), (*part).to_owned()),
        false => Identifier::Word((*part).to_owned()),
    };
    is_right.then(|| ([0, 1, 2].map(number), pre_release.is_none(), identifiers.iter().map(identifier).collect()))
}

fn check_versions(values: &[&str], text: &str) {
    let (version, known) = (Version::parse(text), parts(text));
    assert_eq!(version.is_some(), known.is_some());
    let (Some(version), Some(known)) = (version, known) else { return };
    let others: Vec<&str> = values.iter().copied().filter(|value| Version::parse(value).is_some()).collect();
    let mut is_any = false;
    for other in &others {
        let order = version.cmp(&Version::parse(other).expect("a version"));
        assert_eq!(order, known.cmp(&parts(other).expect("a version")), "{other}");
        is_any |= order.is_eq();
    }
    let versions = others.iter().filter_map(|text| Version::parse(text).map(OwnedVersion::from));
    assert_eq!(versions.collect::<Versions>().contains(version), is_any);
}

fn check_ranges(values: &[&str], text: &str) {
    let ranges: Vec<(&str, Range)> = values.iter().filter_map(|v| Some((*v, Range::parse(v).ok()?))).collect();
    for message in values.iter().filter_map(|value| Range::parse(value).err()) {
        assert!(!message.to_string().contains('\n'), "{message}");
    }
    let Some(version) = Version::parse(text) else { return };
    let known = parts(text).expect("a version");
    for (written, range) in &ranges {
        assert!(!range.is_empty() || !range.contains(version), "{written}");
        if let Some(expected) = is_in_simple(written, &known) {
            assert_eq!(range.contains(version), expected, "{written} {text}");
        }
    }
    let is_any = ranges.iter().any(|(_, range)| range.contains(version));
    assert_eq!(ranges.into_iter().map(|(_, range)| range).collect::<Ranges>().contains(version), is_any);
}

/// Whether a version is in a range of one comparator; `None` for others.
fn is_in_simple(range: &str, version: &Parts) -> Option<bool> {
    let range = range.trim_matches(|c: char| c.is_ascii_whitespace());
    let operand = range.trim_start_matches(['^', '~', '<', '>', '=']);
    let operator = &range[..range.len() - operand.len()];
    let operand = operand.trim_start_matches(|c: char| c.is_ascii_whitespace());
    let limit = parts(operand)?;
    let core = operand.split(['-', '+']).next().unwrap_or_default();
    let written = core.split('.').count();
    let is_alike_to = |at: usize| version >= &limit && version.0[..=at] == limit.0[..=at];
    match operator {
        ">=" => Some(version >= &limit),
        ">" => Some(version > &limit),
        "<=" => Some(version <= &limit),
        "<" => Some(version < &limit),
        "=" | "" => Some(version == &limit),
        "~" => Some(is_alike_to(if written == 1 { 0 } else { 1 })),
        "^" => Some(is_alike_to(limit.0[..written].iter().position(|n| n.1 != "0").unwrap_or(written - 1))),
        _ => None,
    }
}

fn check_networks(values: &[&str], text: &str) {
    let mut networks = Vec::new();
    for value in values {
        match Network::parse(value) {
            Ok(network) => {
                assert_eq!(Network::parse(&network.to_string()), Ok(network));
                networks.push((network, *value));
            }
            Err(error) => {
                assert!(!error.to_string().contains('\n'), "{error}");
                if let NetworkError::HostBits { network, host, .. } = error {
                    assert!(Network::parse(&network.to_string()).is_ok() && Network::parse(&host.to_string()).is_ok());
                }
            }
        }
    }
    let Some(address) = address(text) else { return };
    let digits = |address: IpAddr| match address {
        IpAddr::V4(v4) => format!("4{:032b}", v4.to_bits()),
        IpAddr::V6(v6) => format!("6{:0128b}", v6.to_bits()),
    };
    let is_in = |written: &str| {
        let (first, prefix) = written.split_once('/').unwrap_or((written, "128"));
        let first = digits(first.parse().expect("an address"));
        let prefix = prefix.parse::<usize>().expect("a prefix").min(first.len() - 1);
        digits(address).starts_with(&first[..=prefix])
    };
    let is_any = networks.iter().any(|(_, written)| is_in(written));
    assert_eq!(networks.into_iter().map(|(network, _)| network).collect::<Networks>().contains(address), is_any);
}

fn check_moment(text: &str) {
    let moment = Moment::parse(text);
    // The other parser takes any letter between date and time, and makes another moment of second 60.
    let is_usual = matches!(text.as_bytes().get(10), Some(b'T' | b't' | b' ')) && text.get(17..19) != Some("60");
    if let Ok(known) = OffsetDateTime::parse(text, &Rfc3339)
        && is_usual
    {
        let ms = known.unix_timestamp_nanos().div_euclid(1_000_000);
        assert_eq!(moment.map(|moment| i128::from(moment.unix_ms())), Some(ms));
    }
    if let Some(moment) = moment {
        assert!(Moment::from_unix_ms(moment.unix_ms()) <= moment);
        assert_eq!(Moment::parse(&moment.unix_ms().to_string()), Some(Moment::from_unix_ms(moment.unix_ms())));
    }
}

fn check_patterns(values: &[&str], text: &str) {
    for value in values.iter().take(PATTERNS_MAX) {
        match Pattern::parse(value) {
            Ok(pattern) if text.len() <= TEXT_BYTES_MAX => {
                assert_eq!(pattern.found_in(text), pattern.clone().found_in(text));
            }
            Ok(_) => {}
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
        }
    }
}

fn check_keys(values: &[&str], text: &str) {
    if let Ok(key) = text.parse::<FlagKey>() {
        assert_eq!(key.as_str(), text);
    }
    if let Ok(key) = text.parse::<SegmentKey>() {
        assert_eq!(key.as_str(), text);
    }
    let seed = values.first().copied().unwrap_or_default();
    let number = Number::parse(text).map(|number| match number {
        Number::Integer(integer) => Key::Integer(integer),
        Number::Float(float) => Key::Float(float),
    });
    for algorithm in Algorithm::ALL {
        for total in [1, 100, BUCKETS, BUCKETS_MAX] {
            let bucketing = Bucketing::new(algorithm, seed, total);
            for key in [Some(Key::Text(text)), number].into_iter().flatten() {
                assert!(bucketing.bucket(Some(&key)).is_none_or(|bucket| bucket < total), "{algorithm:?} {total}");
                bucketing.input(&key);
            }
        }
    }
    let own = Bucketing::new(Algorithm::Murmur3, seed, BUCKETS).bucket(Some(&Key::Text(text)));
    assert_eq!(own, Some(bucket(seed, text)).filter(|_| !text.is_empty()));
}

/// What a text becomes as a value is JSON of its type and becomes the same once more.
fn check_values(text: &str) {
    let types = [ValueType::Boolean, ValueType::String, ValueType::Integer, ValueType::Float, ValueType::Object];
    for value_type in types {
        let Ok(json) = value_type.json(text) else { continue };
        let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        match value_type {
            ValueType::Boolean => assert!(value.is_boolean()),
            ValueType::String => assert_eq!(value.as_str(), Some(text)),
            ValueType::Integer => assert!(value.is_i64()),
            ValueType::Float => assert!(value.is_f64()),
            ValueType::Object => assert!(value.is_object()),
        }
        if value_type != ValueType::String {
            assert_eq!(value_type.json(&json).as_ref(), Ok(&json));
        }
    }
}

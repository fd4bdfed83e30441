//! Moments: points in time, read from RFC 3339 or unix milliseconds.

use crate::compare::number::Number;

const NANOSECONDS_PER_MILLISECOND: i128 = 1_000_000;
const NANOSECONDS_PER_SECOND: i128 = 1_000_000_000;
/// Digits of a fraction beyond these are cut.
const FRACTION_DIGITS_MAX: usize = 9;
/// How many days of a common year lie before each month.
const DAYS_BEFORE_MONTH: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

/// A point in time to the nanosecond, ordered by time, whatever offset it was written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Since 1970-01-01T00:00:00Z; leap seconds are not counted.
    nanoseconds: i128,
}

impl Moment {
    /// Reads a time as RFC 3339 writes it, or unix milliseconds as a whole number.
    ///
    /// No zone means UTC; between date and time stands `T`, `t` or a blank; digits beyond nanoseconds are cut; second
    /// 60 is the first of the next minute. A date alone is not read, since it names no moment.
    pub fn parse(text: &str) -> Option<Self> {
        from_rfc3339(text.as_bytes()).or_else(|| Self::from_number(Number::parse(text)?))
    }

    /// The moment so many milliseconds after 1970-01-01T00:00:00Z.
    pub fn from_unix_ms(ms: i64) -> Self {
        Self { nanoseconds: i128::from(ms) * NANOSECONDS_PER_MILLISECOND }
    }

    /// Reads a number as unix milliseconds; fractions, and what 64 bits cannot hold, are not read.
    pub fn from_number(number: Number) -> Option<Self> {
        match number {
            Number::Integer(ms) => i64::try_from(ms).ok().map(Self::from_unix_ms),
            Number::Float(_) => None,
        }
    }

    /// Milliseconds since 1970-01-01T00:00:00Z, rounded down.
    pub fn unix_ms(self) -> i64 {
        let ms = self.nanoseconds.div_euclid(NANOSECONDS_PER_MILLISECOND);
        // Both ways to make a moment keep it within 64 bits of milliseconds.
        i64::try_from(ms).unwrap_or(i64::MAX)
    }
}

fn from_rfc3339(text: &[u8]) -> Option<Moment> {
    let (fixed, rest) = text.split_first_chunk::<19>()?;
    let [y1, y2, y3, y4, b'-', mo1, mo2, b'-', d1, d2, b'T' | b't' | b' ', h1, h2, b':', mi1, mi2, b':', s1, s2] =
        *fixed
    else {
        return None;
    };
    let days = days_since_epoch(digits(&[y1, y2, y3, y4])?, digits(&[mo1, mo2])?, digits(&[d1, d2])?)?;
    let (hour, minute, second) = (digits(&[h1, h2])?, digits(&[mi1, mi2])?, digits(&[s1, s2])?);
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (fraction, rest) = fraction(rest)?;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second - offset_seconds(rest)?;
    Some(Moment { nanoseconds: i128::from(seconds) * NANOSECONDS_PER_SECOND + i128::from(fraction) })
}

/// A number without sign; callers pass few enough digits.
fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0')))
}

/// Days from 1970-01-01 to a date, when there is that date.
fn days_since_epoch(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let index = usize::try_from(month).ok()?.checked_sub(1)?;
    let before_month = DAYS_BEFORE_MONTH.get(index)? + i64::from(is_leap && month > 2);
    let after_month = DAYS_BEFORE_MONTH.get(index + 1).unwrap_or(&365) + i64::from(is_leap && month >= 2);
    if day < 1 || day > after_month - before_month {
        return None;
    }
    Some(days_before_year(year) - days_before_year(1970) + before_month + day - 1)
}

/// Days from the start of year 0 to the start of a year, less one.
fn days_before_year(year: i64) -> i64 {
    let last = year - 1;
    year * 365 + last.div_euclid(4) - last.div_euclid(100) + last.div_euclid(400)
}

/// The nanoseconds of a fraction, if there is one, and what follows it.
fn fraction(text: &[u8]) -> Option<(i64, &[u8])> {
    let Some(text) = text.strip_prefix(b".") else { return Some((0, text)) };
    let len = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if len == 0 {
        return None;
    }
    let kept = len.min(FRACTION_DIGITS_MAX);
    let nanoseconds = (kept..FRACTION_DIGITS_MAX).fold(digits(&text[..kept])?, |number, _| number * 10);
    Some((nanoseconds, &text[len..]))
}

/// How far a zone is ahead of UTC.
fn offset_seconds(zone: &[u8]) -> Option<i64> {
    let [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] = *zone else {
        return matches!(zone, b"" | b"Z" | b"z").then_some(0);
    };
    let (hours, minutes) = (digits(&[h1, h2])?, digits(&[m1, m2])?);
    let seconds = (hours * 60 + minutes) * 60;
    (hours <= 23 && minutes <= 59).then_some(if sign == b'-' { -seconds } else { seconds })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ms(text: &str) -> i64 {
        Moment::parse(text).unwrap_or_else(|| panic!("'{text}' is a moment")).unix_ms()
    }

    #[test]
    fn equal_instants_with_different_offsets_are_equal() {
        let utc = Moment::parse("2026-01-01T00:00:00Z").expect("a moment");
        for same in ["2026-01-01T01:00:00+01:00", "2025-12-31T18:30:00.000-05:30", "2026-01-01T00:00:00-00:00"] {
            assert_eq!(Moment::parse(same), Some(utc), "{same}");
        }
        assert_eq!(Moment::parse("1767225600000"), Some(utc));
    }

    #[test]
    fn a_time_without_a_zone_is_utc() {
        let limit = Moment::parse("2026-01-01T00:00:00");
        assert_eq!(limit, Moment::parse("2026-01-01T00:00:00Z"));
        assert!(Moment::parse("2026-01-01T00:00:01Z") > limit);
    }

    #[test]
    fn times_are_counted_from_1970_as_everywhere() {
        // Reference values: GNU date.
        let cases = [
            ("1970-01-01T00:00:00Z", 0),
            ("1969-12-31T23:59:59.999Z", -1),
            ("2000-02-29T12:00:00z", 951_825_600_000),
            ("1900-03-01t00:00:00Z", -2_203_891_200_000),
            ("0000-01-01 00:00:00Z", -62_167_219_200_000),
            ("9999-12-31 23:59:59Z", 253_402_300_799_000),
            ("2027-03-28T02:30:00+01:00", 1_806_197_400_000),
            ("2024-12-31T23:59:59", 1_735_689_599_000),
        ];
        for (text, expected) in cases {
            assert_eq!(ms(text), expected, "{text}");
        }
    }

    #[test]
    fn every_day_of_the_calendar_follows_the_day_before() {
        let mut expected = days_since_epoch(0, 1, 1).expect("a day");
        for year in 0..=9999 {
            let leap_day = u8::from(year % 400 == 0 || (year % 4 == 0 && year % 100 != 0));
            for (month, days) in (1..).zip([31, 28 + leap_day, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]) {
                assert_eq!(days_since_epoch(year, month, 0), None);
                assert_eq!(days_since_epoch(year, month, i64::from(days) + 1), None);
                for day in 1..=i64::from(days) {
                    assert_eq!(days_since_epoch(year, month, day), Some(expected), "{year}-{month}-{day}");
                    expected += 1;
                }
            }
        }
    }

    #[test]
    fn a_fraction_of_any_length_is_read_and_cut_at_nanoseconds() {
        let nanoseconds = |text| Moment::parse(text).map(|moment| moment.nanoseconds);
        assert_eq!(nanoseconds("1970-01-01T00:00:00.5Z"), Some(500_000_000));
        assert_eq!(nanoseconds("1970-01-01T00:00:00.123456789"), Some(123_456_789));
        assert_eq!(nanoseconds("1970-01-01T00:00:00.1234567899+00:00"), Some(123_456_789));
        let long = format!("1970-01-01T00:00:00.{}Z", "9".repeat(100_000));
        assert_eq!(nanoseconds(&long), Some(999_999_999));
        assert!(Moment::parse("2026-01-01T00:00:00.000000001Z") > Moment::parse("2026-01-01T00:00:00Z"));
    }

    #[test]
    fn second_60_is_the_first_of_the_next_minute() {
        assert_eq!(Moment::parse("2016-12-31T23:59:60Z"), Moment::parse("2017-01-01T00:00:00Z"));
        assert_eq!(Moment::parse("2016-12-31T23:59:60.25Z"), Moment::parse("2017-01-01T00:00:00.25Z"));
        assert_eq!(Moment::parse("2016-12-31T23:59:61Z"), None);
    }

    #[test]
    fn a_whole_number_is_unix_milliseconds() {
        assert_eq!(Moment::parse("1700000000000"), Some(Moment::from_unix_ms(1_700_000_000_000)));
        assert_eq!(Moment::parse("1.7e12"), Some(Moment::from_unix_ms(1_700_000_000_000)));
        assert_eq!(Moment::parse("120e-1"), Some(Moment::from_unix_ms(12)));
        assert_eq!(Moment::parse("-1"), Some(Moment::from_unix_ms(-1)));
        assert_eq!(ms("1700000000000"), ms("2023-11-14T22:13:20Z"));
        for extreme in [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX] {
            assert_eq!(Moment::from_unix_ms(extreme).unix_ms(), extreme);
        }
    }

    #[test]
    fn what_names_no_moment_is_not_read() {
        let cases = [
            "",
            "not-a-date",
            "yes",
            "tomorrow",
            "2026-01-01",
            "2026-01-01T00:00Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00,5Z",
            "2026-01-01T00:00:00 Z",
            "2026-01-01T00:00:00+0100",
            "2026-01-01T00:00:00+01",
            "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:00+01:60",
            "2026-01-01T00:00:00 Europe/Paris",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-02-29T00:00:00Z",
            "2100-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-00-10T00:00:00Z",
            "2026-13-10T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "26-01-01T00:00:00Z",
            "+2026-01-01T00:00:00Z",
            "20260101T000000Z",
            " 2026-01-01T00:00:00Z",
            "2026-01-01T00:00:00Z ",
            "2026-01-01\u{a0}00:00:00Z",
            "２026-01-01T00:00:00Z",
            "1700000000000.5",
            "+1700000000000",
            "9223372036854775808",
            "1e400",
        ];
        for text in cases {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn reading_never_panics(
            text in ".*",
            looks_right in r"\d{4}-\d\d-\d\d[Tt \u{e4}]\d\d:\d\d:\d\d(\.\d{0,12})?(Z|[+-]\d\d:\d\d)?.?",
        ) {
            Moment::parse(&text);
            Moment::parse(&looks_right);
        }

        #[test]
        fn the_later_of_two_written_times_is_greater(
            a in 86_400..253_402_200_000_i64,
            b in 86_400..253_402_200_000_i64,
            zone in -1439..1440_i64,
        ) {
            let written = |seconds: i64, zone: i64| {
                let local = seconds + zone * 60;
                let time = time_of_day(local);
                let sign = if zone < 0 { '-' } else { '+' };
                format!("{}T{time}{sign}{:02}:{:02}", date(local), zone.abs() / 60, zone.abs() % 60)
            };
            let (one, other) = (Moment::parse(&written(a, zone)), Moment::parse(&written(b, 0)));
            prop_assert_eq!(one.map(Moment::unix_ms), Some(a * 1000));
            prop_assert_eq!(one.cmp(&other), a.cmp(&b));
        }
    }

    fn time_of_day(seconds: i64) -> String {
        let of_day = seconds.rem_euclid(86_400);
        format!("{:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60)
    }

    /// The date found by walking, so that it shares nothing with the parser.
    fn date(seconds: i64) -> String {
        let (mut days, mut year, mut month) = (seconds.div_euclid(86_400), 1970, 0);
        loop {
            let leap_day = i64::from(year % 400 == 0 || (year % 4 == 0 && year % 100 != 0));
            let len = [31, 28 + leap_day, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month];
            if days < len {
                return format!("{year:04}-{:02}-{:02}", month + 1, days + 1);
            }
            days -= len;
            month = (month + 1) % 12;
            year += i64::from(month == 0);
        }
    }
}

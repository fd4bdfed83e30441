//! Numbers and dates as people read them. Dates, zones and their names come from the browser's `Intl`.

use js_sys::{Date, Object, Reflect};
use shared::model::timestamp::Timestamp;
use wasm_bindgen::JsValue;

/// Dates are English like the rest of the UI, in the browser's time zone.
const LOCALE: &str = "en-GB";

/// An exact number with thousands set apart: `4,000`.
pub fn exact(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Three significant digits with k, M or G: `12.4 k`.
pub fn compact(number: u64) -> String {
    let (scale, unit) = match number {
        0..1_000 => return number.to_string(),
        1_000..999_500 => (1_000.0, "k"),
        999_500..999_500_000 => (1_000_000.0, "M"),
        _ => (1_000_000_000.0, "G"),
    };
    let value = number as f64 / scale;
    let text = match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    };
    let short = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{short} {unit}")
}

/// A part of a whole: `10.05 %`.
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0 %".into();
    }
    let text = format!("{:.2}", part as f64 * 100.0 / whole as f64);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Memory: `31 MiB`.
pub fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1024 * 1024))
}

/// A duration in one unit: `14 ms`, `12 s`, `3 d`.
pub fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{} s", ms / 1_000),
        60_000..3_600_000 => format!("{} min", ms / 60_000),
        3_600_000..86_400_000 => format!("{} h", ms / 3_600_000),
        _ => format!("{} d", ms / 86_400_000),
    }
}

/// How long ago, without seconds that would change under the reader's eyes: `just now`, `2 min ago`.
pub fn ago(ms: i64) -> String {
    match u64::try_from(ms).unwrap_or(0) {
        0..60_000 => "just now".into(),
        ms => format!("{} ago", duration(ms)),
    }
}

/// `1 edge`, `2 edges`.
pub fn plural(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", exact(count), if count == 1 { "" } else { "s" })
}

/// Words in a row: `a`, `a and b`, `a, b and c`.
pub fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Time of day: `14:02`.
pub fn time(at: Timestamp) -> String {
    let options = options(&[("hour", "2-digit"), ("minute", "2-digit")]);
    date(at).to_locale_time_string_with_options(LOCALE, &options).into()
}

/// Day and time with the zone: `14 Apr 2026, 09:00 CEST`.
pub fn date_time(at: Timestamp) -> String {
    let options = options(&[
        ("day", "numeric"),
        ("month", "short"),
        ("year", "numeric"),
        ("hour", "2-digit"),
        ("minute", "2-digit"),
        ("timeZoneName", "short"),
    ]);
    date(at).to_locale_string(LOCALE, &options).into()
}

/// Day: `14 Apr 2026`.
pub fn day(at: Timestamp) -> String {
    let options = options(&[("day", "numeric"), ("month", "short"), ("year", "numeric")]);
    date(at).to_locale_date_string(LOCALE, &options).into()
}

/// RFC 3339, for `datetime` attributes.
pub fn machine(at: Timestamp) -> String {
    date(at).to_iso_string().into()
}

fn date(at: Timestamp) -> Date {
    Date::new(&JsValue::from_f64(at.unix_ms() as f64))
}

fn options(pairs: &[(&str, &str)]) -> JsValue {
    let options = Object::new();
    for (name, value) in pairs {
        // Setting a property of a fresh object cannot fail.
        let _ = Reflect::set(&options, &(*name).into(), &(*value).into());
    }
    options.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([exact(0), exact(999), exact(4_000), exact(1_234_567)], ["0", "999", "4,000", "1,234,567"]);
        assert_eq!(
            [compact(999), compact(1_000), compact(12_400), compact(999_900), compact(48_200_000)],
            ["999", "1 k", "12.4 k", "1 M", "48.2 M"]
        );
        assert_eq!([share(402, 4_000), share(1, 3), share(0, 0)], ["10.05 %", "33.33 %", "0 %"]);
        assert_eq!([duration(14), duration(12_300), duration(90_000)], ["14 ms", "12 s", "1 min"]);
        assert_eq!(list(&["a".into(), "b".into(), "c".into()]), "a, b and c");
    }
}

//! How numbers stand in sentences.

/// `4,210`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// `48.2 M`; below 10,000 as [`count`].
pub fn about(number: u64) -> String {
    let scaled = |unit: f64, letter: char| format!("{} {letter}", significant(number as f64 / unit));
    match number {
        0..10_000 => count(number),
        10_000..1_000_000 => scaled(1e3, 'k'),
        1_000_000..1_000_000_000 => scaled(1e6, 'M'),
        _ => scaled(1e9, 'G'),
    }
}

/// A share of 1 as `12.1 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", significant(share * 100.0))
}

/// Three significant digits, without zeros at the end; `−` before what is negative.
pub fn significant(number: f64) -> String {
    let decimals = if number == 0.0 { 0 } else { 2 - number.abs().log10().floor().clamp(-9.0, 2.0) as i32 };
    trimmed(number, decimals)
}

/// Both ends of a range with as many decimals as its width deserves, and a sign: `−0.4`, `+1.8`.
pub fn ends(low: f64, high: f64) -> (String, String) {
    let width = high - low;
    let mut decimals = if width > 0.0 { (1.0 - width.log10().floor()).clamp(0.0, 9.0) as i32 } else { 2 };
    // An end beside 0 decides the verdict, so it is never shown as 0.
    while decimals < 9 && [low, high].into_iter().any(|end| end != 0.0 && trimmed(end, decimals) == "0") {
        decimals += 1;
    }
    let signed = |end: f64| {
        let shown = trimmed(end, decimals);
        if end > 0.0 && shown != "0" { format!("+{shown}") } else { shown }
    };
    (signed(low), signed(high))
}

fn trimmed(number: f64, decimals: i32) -> String {
    let decimals = usize::try_from(decimals).unwrap_or(0);
    let text = format!("{:.decimals$}", number.abs());
    let (whole, part) = text.split_once('.').unwrap_or((text.as_str(), ""));
    // What is too large for thousands between commas stays as it is.
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), count);
    let part = part.trim_end_matches('0');
    let shown = if part.is_empty() { whole } else { format!("{whole}.{part}") };
    if number < 0.0 && shown != "0" { format!("−{shown}") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_never_wrong_by_more_than_they_show() {
        assert_eq!([0, 999, 4_210, 1_234_567].map(count), ["0", "999", "4,210", "1,234,567"]);
        assert_eq!([9_999, 48_200_000, 12_345].map(about), ["9,999", "48.2 M", "12.3 k"]);
        assert_eq!([0.0, 1.0, 0.1209, 0.05, 0.000_123_4].map(percent), ["0 %", "100 %", "12.1 %", "5 %", "0.0123 %"]);
        assert_eq!([-12.345, 1e12, -0.0].map(significant), ["−12.3", "1,000,000,000,000", "0"]);
        assert_eq!(significant(1e300).len(), 301);
    }

    #[test]
    fn the_ends_of_a_range_have_signs_and_its_precision() {
        assert_eq!(ends(-0.41, 1.79), ("−0.4".into(), "+1.8".into()));
        assert_eq!(ends(0.0, 0.000_3), ("0".into(), "+0.0003".into()));
        assert_eq!(ends(0.024, 9.7), ("+0.02".into(), "+9.7".into()), "what decides is not rounded away");
        assert_eq!(ends(-21_761_207.7, 1_761_207.7), ("−21,761,208".into(), "+1,761,208".into()));
    }
}

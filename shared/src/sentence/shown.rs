//! How what people typed stands in a sentence: in one line, cut, and in quotes where it could be misread.

use std::collections::HashSet;

/// The longest sentence, in characters.
pub const SENTENCE_CHARS_MAX: usize = 2_000;
/// The longest part of a value that a sentence repeats, in characters.
pub const VALUE_CHARS_MAX: usize = 60;
/// So many names are listed, the others are counted.
const NAMES_MAX: usize = 3;

/// A value as a sentence repeats it: in quotes when it is empty, begins or ends with a blank, or holds something that
/// reads like the sentence around it.
pub fn value(text: &str) -> String {
    let shown = cut(text, VALUE_CHARS_MAX);
    let is_edge_blank = shown.starts_with(char::is_whitespace) || shown.ends_with(char::is_whitespace);
    let is_confusing = |c: char| matches!(c, ',' | ';' | '(' | ')' | '“' | '”' | '→');
    let has_joint = [" or ", " and "].iter().any(|joint| shown.contains(joint));
    if shown.is_empty() || is_edge_blank || has_joint || shown.contains(is_confusing) {
        format!("“{shown}”")
    } else {
        shown
    }
}

/// A name in one line.
pub(super) fn name(text: &str) -> String {
    cut(text, 2 * VALUE_CHARS_MAX)
}

/// Any of some values: `pro`, `pro or team`, `DE, FR or 18 others`.
pub(super) fn any_of(values: &[String]) -> String {
    let shown = |values: &[String]| values.iter().map(|text| value(text)).collect::<Vec<_>>().join(", ");
    match values {
        [] => "nothing".into(),
        [one] => value(one),
        [first @ .., last] if !is_folded(values) => format!("{} or {}", shown(first), value(last)),
        [first, second, ..] => format!("{}, {} or {} others", value(first), value(second), values.len() - 2),
    }
}

/// Whether [`any_of`] counts some of the values.
pub(super) fn is_folded(values: &[String]) -> bool {
    values.len() > 4
}

/// All of some names, most of them counted: `a`, `a, b and c`, `a, b, c and 9 others`.
pub(crate) fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let shown: Vec<String> = names.iter().take(NAMES_MAX).map(|name| value(name.as_ref())).collect();
    match (shown.as_slice(), names.len().saturating_sub(NAMES_MAX)) {
        ([], _) => "none".into(),
        ([one], 0) => one.clone(),
        ([first @ .., last], 0) => format!("{} and {last}", first.join(", ")),
        (_, 1) => format!("{} and 1 other", shown.join(", ")),
        (_, others) => format!("{} and {others} others", shown.join(", ")),
    }
}

/// What a list has and another has not, each once and in its order.
pub(super) fn only_in<'t>(list: &'t [String], other: &[String]) -> Vec<&'t str> {
    let mut known: HashSet<&str> = other.iter().map(String::as_str).collect();
    list.iter().map(String::as_str).filter(|text| known.insert(text)).collect()
}

/// A number of things: `1 rule`, `2 rules`.
pub(super) fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// The sentence with a first letter that is large.
pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// The sentence, cut where it is too long for anybody.
pub(super) fn bounded(sentence: String) -> String {
    if sentence.len() <= SENTENCE_CHARS_MAX { sentence } else { cut(&sentence, SENTENCE_CHARS_MAX) }
}

/// The first characters of a text, each of them visible, in one line.
fn cut(text: &str, chars_max: usize) -> String {
    let mut shown: String = text.chars().take(chars_max).map(visible).collect();
    if text.chars().nth(chars_max).is_some() {
        shown.pop();
        shown.push('…');
    }
    shown
}

/// Control characters have pictures of their own; what else would hide, or turn the text around, is a mark.
fn visible(c: char) -> char {
    match c {
        '\0'..='\u{1f}' => char::from_u32(u32::from(c) + 0x2400).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        '\u{80}'..='\u{9f}' | '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' => '\u{fffd}',
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => '\u{fffd}',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_quoted_where_it_could_be_misread() {
        let cases = [
            ("pro", "pro"),
            ("New York", "New York"),
            (">=1 <2", ">=1 <2"),
            ("", "“”"),
            (" pro", "“ pro”"),
            ("pro\u{a0}", "“pro\u{a0}”"),
            ("a,b", "“a,b”"),
            ("pro or team", "“pro or team”"),
            ("orchid", "orchid"),
            ("(a|b)", "“(a|b)”"),
            ("on → off", "“on → off”"),
        ];
        for (text, shown) in cases {
            assert_eq!(value(text), shown, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_seen_is_made_visible() {
        assert_eq!(value("a\r\nb"), "a␍␊b");
        assert_eq!(value("\t"), "␉");
        assert_eq!(value("a\u{202e}b\u{2028}c\u{85}d\u{200b}"), "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}");
        assert_eq!(value("👩\u{200d}💻"), "👩\u{200d}💻");
    }

    #[test]
    fn a_long_value_is_cut() {
        let whole = "ä".repeat(VALUE_CHARS_MAX);
        assert_eq!(value(&whole), whole);
        assert_eq!(value(&"ä".repeat(64 * 1024)), format!("{}…", "ä".repeat(VALUE_CHARS_MAX - 1)));
    }

    #[test]
    fn long_lists_are_counted() {
        let values = |count: usize| (1..=count).map(|n| format!("v{n}")).collect::<Vec<_>>();
        let cases = [
            (0, "nothing", "none"),
            (1, "v1", "v1"),
            (2, "v1 or v2", "v1 and v2"),
            (3, "v1, v2 or v3", "v1, v2 and v3"),
            (4, "v1, v2, v3 or v4", "v1, v2, v3 and 1 other"),
            (5, "v1, v2 or 3 others", "v1, v2, v3 and 2 others"),
            (10_000, "v1, v2 or 9998 others", "v1, v2, v3 and 9997 others"),
        ];
        for (count, any, all) in cases {
            assert_eq!(any_of(&values(count)), any);
            assert_eq!(listed(&values(count)), all);
        }
    }

    #[test]
    fn a_doubled_entry_is_told_once() {
        let list = ["a", "b", "a", "c"].map(String::from);
        assert_eq!(only_in(&list, &["b".into()]), ["a", "c"]);
    }
}

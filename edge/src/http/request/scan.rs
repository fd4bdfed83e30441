//! Reads the usual body in one pass: a flag's key and a flat context of plain texts, whole numbers, booleans and nulls.
//!
//! Anything else (escapes, fractions, nesting, other members, mistakes) is left to serde_json, which decides what is well
//! formed and words the error. What is read here is read there alike; a test holds the two against each other.

use std::borrow::Cow;

use shared::compare::number::Number;
use shared::evaluation::{Context, Value};

use crate::http::request::Request;

/// Room for the attributes of a usual context.
const FIELDS: usize = 16;
/// So many digits fit into 64 bits whatever they are.
const DIGITS_MAX: usize = 18;

/// The request, when the body is a usual one.
pub(super) fn scan(text: &str) -> Option<Request<'_>> {
    let mut scanner = Scanner { text, at: 0 };
    let request = scanner.request()?;
    scanner.space();
    (scanner.at == text.len()).then_some(request)
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn request(&mut self) -> Option<Request<'a>> {
        let mut request = Request { flag_key: None, context: Some(Context::default()) };
        self.members(|scanner, name| {
            match name {
                "flagKey" => request.flag_key = Some(Cow::Borrowed(scanner.string()?)),
                "context" => request.context = Some(scanner.context()?),
                _ => return None,
            }
            Some(())
        })?;
        Some(request)
    }

    fn context(&mut self) -> Option<Context<'a>> {
        let mut fields = Vec::with_capacity(FIELDS);
        self.members(|scanner, name| {
            fields.push((Cow::Borrowed(name), scanner.value()?));
            Some(())
        })?;
        Some(Context::new(fields))
    }

    /// Reads an object; `value` reads what follows a name.
    fn members(&mut self, mut value: impl FnMut(&mut Self, &'a str) -> Option<()>) -> Option<()> {
        self.take(b'{')?;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Some(());
        }
        loop {
            let name = self.string()?;
            self.take(b':')?;
            value(self, name)?;
            self.space();
            let next = self.peek()?;
            self.at += 1;
            match next {
                b',' => {}
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }

    fn value(&mut self) -> Option<Value<'a>> {
        self.space();
        match self.peek()? {
            b'"' => self.string().map(|text| Value::Text(Cow::Borrowed(text))),
            b't' => self.word("true", Value::Boolean(true)),
            b'f' => self.word("false", Value::Boolean(false)),
            b'n' => self.word("null", Value::Null),
            b'-' | b'0'..=b'9' => self.integer(),
            _ => None,
        }
    }

    fn string(&mut self) -> Option<&'a str> {
        self.take(b'"')?;
        let length = plain_text(&self.text.as_bytes()[self.at..]);
        let string = self.text.get(self.at..self.at + length)?;
        self.at += length + 1;
        (self.text.as_bytes().get(self.at - 1) == Some(&b'"')).then_some(string)
    }

    fn integer(&mut self) -> Option<Value<'a>> {
        let is_negative = self.peek() == Some(b'-');
        let digits = self.text.as_bytes()[self.at + usize::from(is_negative)..].iter();
        let (mut value, mut length) = (0_i64, 0);
        for digit in digits.take_while(|byte| byte.is_ascii_digit()) {
            length += 1;
            if length > DIGITS_MAX {
                return None;
            }
            value = value * 10 + i64::from(digit - b'0');
        }
        let first = self.at + usize::from(is_negative);
        self.at = first + length;
        let is_plain = !matches!(self.peek(), Some(b'.' | b'e' | b'E'));
        // A zero stands alone, and minus zero is no whole number.
        let is_zero = self.text.as_bytes().get(first) == Some(&b'0');
        let is_usual = length > 0 && is_plain && (!is_zero || (length == 1 && !is_negative));
        is_usual.then_some(Value::Number(Number::Integer(if is_negative { -value } else { value }.into())))
    }

    fn word(&mut self, word: &str, value: Value<'a>) -> Option<Value<'a>> {
        self.text[self.at..].starts_with(word).then(|| {
            self.at += word.len();
            value
        })
    }

    /// Steps over white space and one byte, which must be this one.
    fn take(&mut self, byte: u8) -> Option<()> {
        self.space();
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

/// How many bytes come before a quotation mark, a backslash or a control character; eight are looked at together.
fn plain_text(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    // The highest bit of each byte that is below the bound, right for the first such byte at least.
    let below = |word: u64, bound: u64| word.wrapping_sub(ONES * bound) & !word & (ONES << 7);
    let mut length = 0;
    while let Some(chunk) = bytes[length..].first_chunk() {
        let word = u64::from_le_bytes(*chunk);
        let is_quote = below(word ^ (ONES * u64::from(b'"')), 1);
        let is_backslash = below(word ^ (ONES * u64::from(b'\\')), 1);
        let found = is_quote | is_backslash | below(word, 0x20);
        if found != 0 {
            return length + found.trailing_zeros() as usize / 8;
        }
        length += chunk.len();
    }
    let rest = bytes[length..].iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
    rest.map_or(bytes.len(), |at| length + at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Option<Request<'_>> {
        serde_json::from_str(text).ok()
    }

    #[test]
    fn a_usual_body_is_read_here() {
        let text = r#" { "flagKey" : "a/b" , "context":{"targetingKey":"ü😀","n":-12,"z":0,"t":true,"f":false,
            "x":null,"big":999999999999999999,"targetingKey":"again"} } "#;
        let request = scan(text).expect("a usual body");
        assert_eq!(Some(request), read(text));
        for text in ["{}", "{\"context\":{}}", "{\"flagKey\":\"\"}", "{\"flagKey\":\"a\",\"flagKey\":\"b\"}"] {
            assert_eq!(scan(text).expect("a usual body"), read(text).expect("a body"), "{text}");
        }
    }

    #[test]
    fn what_is_not_usual_is_left_to_the_whole_reader() {
        for text in [
            "",
            " ",
            "{",
            "{}x",
            "[]",
            "null",
            "{\"flagKey\":null}",
            "{\"flagKey\":1}",
            "{\"context\":null}",
            "{,}",
            "{\"context\":{\"a\":1.5}}",
            "{\"context\":{\"a\":1e2}}",
            "{\"context\":{\"a\":01}}",
            "{\"context\":{\"a\":-0}}",
            "{\"context\":{\"a\":-}}",
            "{\"context\":{\"a\":1234567890123456789}}",
            "{\"context\":{\"a\":[]}}",
            "{\"context\":{\"a\":{}}}",
            "{\"context\":{\"a\":\"\\n\"}}",
            "{\"a\":1}",
            "{\"context\":{\"a\":\"\n\"}}",
            "{\"context\":{\"a\":tru}}",
            "{\"context\":{\"a\":1,}}",
            "{\"flagKey\":\"a",
            "{\"flagKey\"}",
            "{\"flagKey\":\"a\"]",
            "{\"context\":{\"a\":+1}}",
            "{\"context\":{\"a\":\u{fffd}}}",
        ] {
            assert_eq!(scan(text), None, "{text}");
        }
    }

    /// JSON and near-JSON: pieces that occur in bodies, in any order.
    fn pieces() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "{",
            "}",
            "\"",
            ":",
            ",",
            "[",
            "]",
            " ",
            "\n",
            "\"flagKey\":\"k\"",
            "\"context\":{",
            "\"a\":",
            "\"a\":1",
            "0",
            "-",
            "-1",
            "00",
            "1.0",
            "1e5",
            "true",
            "false",
            "null",
            "tru",
            "\"ü\"",
            "\\",
            "\\u0041",
            "\u{1}",
            "\u{a0}",
            "\"targetingKey\":\"u\"",
            "12345678901234567890",
            "\"x\":null",
            "\"b\":\"\"",
        ]);
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    fn whole() -> impl Strategy<Value = String> {
        let value = prop_oneof![
            "-?[0-9]{1,20}",
            "\"[a-zü \\\\\"]{0,6}\"",
            "true|false|null",
            "-?[0-9]\\.[0-9]|[0-9]e[0-9]|\\[\\]|\\{\\}"
        ];
        let member = ("[a-c]{1,2}", value).prop_map(|(name, value)| format!("\"{name}\":{value}"));
        let members = prop::collection::vec(member, 0..20).prop_map(|members| members.join(","));
        (members, "[ \n]?").prop_map(|(members, space)| {
            format!("{space}{{\"flagKey\":\"k\",{space}\"context\":{{{members}}}}}{space}")
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn what_is_read_here_is_read_alike_by_the_whole_reader(text in prop_oneof![pieces(), whole()]) {
            if let Some(request) = scan(&text) {
                prop_assert_eq!(Some(request), read(&text));
            }
        }
    }
}

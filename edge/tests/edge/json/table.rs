//! Texts that are JSON, that are not, and that a reader may take either way.

use super::invalid;

/// What a reader has to make of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Valid,
    Invalid,
    /// RFC 8259 leaves it to the reader.
    Either,
}

type Table = &'static [(Kind, &'static [&'static [u8]])];

/// Values, to be put into a body.
pub(super) const VALUES: Table = &[
    (Kind::Valid, WORDS_AND_NUMBERS),
    (Kind::Valid, STRINGS),
    (Kind::Valid, LISTS_AND_OBJECTS),
    (Kind::Either, EXTREME_NUMBERS),
    (Kind::Either, HALF_CHARACTERS),
    (Kind::Invalid, invalid::NO_WORDS),
    (Kind::Invalid, invalid::NO_NUMBERS),
    (Kind::Invalid, invalid::NO_STRINGS),
    (Kind::Invalid, invalid::NO_LISTS),
    (Kind::Invalid, invalid::NO_OBJECTS),
    (Kind::Invalid, invalid::NO_SPACES),
];

const WORDS_AND_NUMBERS: &[&[u8]] = &[
    b"null",
    b"true",
    b"false",
    b"0",
    b"-0",
    b"1",
    b"-1",
    b"10",
    b"0.5",
    b"-0.5",
    b"0.0",
    b"1.50",
    b"1e1",
    b"1E1",
    b"1e+1",
    b"1e-1",
    b"0e1",
    b"0E+1",
    b"-1.5e3",
    b"123456789",
    b"9007199254740993",
    b"18446744073709551615",
    b"-9223372036854775808",
    b"1e300",
    b"5e-324",
    b"2.2250738585072014e-308",
    b"0.1000000000000000055511151231257827",
];

const STRINGS: &[&[u8]] = &[
    b"\"\"",
    b"\" \"",
    b"\"a\"",
    b"\"\\\"\"",
    b"\"\\\\\"",
    b"\"\\/\"",
    b"\"/\"",
    b"\"\\b\\f\\n\\r\\t\"",
    b"\"\\u0000\"",
    b"\"\\u001f\"",
    b"\"\\u007F\"",
    b"\"\x7f\"",
    b"\"\\u00e9\"",
    b"\"\xc3\xa9\"",
    b"\"\\u20AC\"",
    b"\"\xe2\x82\xac\"",
    b"\"\\uD83D\\uDE00\"",
    b"\"\\ud83d\\ude00\"",
    b"\"\xf0\x9f\x98\x80\"",
    b"\"\\uFFFF\"",
    b"\"\xef\xbf\xbf\"",
    b"\"\xf4\x8f\xbf\xbf\"",
    b"\"\\\\u0041\"",
    b"\"\xe2\x80\xa8\xe2\x80\xa9\"",
    b"\"\xef\xbb\xbf\"",
    b"\"/*no comment*/\"",
    b"\"[{}]\"",
    b"\"null\"",
];

const LISTS_AND_OBJECTS: &[&[u8]] = &[
    b"[]",
    b"[ ]",
    b"[\t\n\r ]",
    b"[[],[]]",
    b"[1,\"a\",null,true]",
    b"[1 , 2]",
    b"[[[[[[1]]]]]]",
    b"{}",
    b"{ }",
    b"{\"\":0}",
    b"{\"a\":1,\"b\":2}",
    b"{\"a\":1,\"a\":2}",
    b"{\"a\":1,\"\\u0061\":2}",
    b"{\"a\":{\"b\":[{}]}}",
    b"{\"\\u0000\":1}",
    b"{ \"a\" : 1 }",
    b"{\"a\\\"b\":1}",
    b"{\"\xf0\x9f\x98\x80\":1}",
    b"{\"__proto__\":{\"a\":1}}",
    b"{\"$now\":1}",
    b" 1",
    b"1 ",
    b"\t\r\n1\n",
];

const EXTREME_NUMBERS: &[&[u8]] = &[
    b"1e9999",
    b"-1e9999",
    b"1e-9999",
    b"-1e-9999",
    b"0e99999999999999999999",
    b"1e99999999999999999999",
    b"1e-99999999999999999999",
    b"123456789012345678901234567890123456789012345678901234567890",
    b"-123456789012345678901234567890",
    b"0.00000000000000000000000000000000000000000000000000000000001",
    b"1.7976931348623159e308",
];

const HALF_CHARACTERS: &[&[u8]] = &[
    b"\"\\uD800\"",
    b"\"\\uDC00\"",
    b"\"\\uDFFFx\"",
    b"\"\\uD800x\"",
    b"\"\\uD800\\u0041\"",
    b"\"\\uD800\\uD800\"",
    b"\"\\uDC00\\uD800\"",
    b"\"\\uD83D\\uD83D\\uDE00\"",
    b"\"\\uD800\\n\"",
    b"\"\xff\"",
    b"\"\xfe\xff\"",
    b"\"\x80\"",
    b"\"\xc3\"",
    b"\"\xe2\x82\"",
    b"\"\xc0\xaf\"",
    b"\"\xe0\x80\xaf\"",
    b"\"\xed\xa0\x80\"",
    b"\"\xed\xa0\xbd\xed\xb8\x80\"",
    b"\"\xf4\x90\x80\x80\"",
    b"\"\xf8\x88\x80\x80\x80\"",
    b"\"\xe9\"",
];

/// Whole bodies.
pub(super) const DOCUMENTS: Table =
    &[(Kind::Valid, REQUESTS), (Kind::Either, OTHER_ENCODINGS), (Kind::Invalid, invalid::NO_REQUESTS)];

const REQUESTS: &[&[u8]] = &[
    b"{\"flagKey\":\"checkout\"}",
    b" \t\r\n{ \"flagKey\" : \"checkout\" } \n",
    b"{\"flagKey\":\"checkout\",\"context\":null}",
    b"{\"flagKey\":\"checkout\",\"context\":{}}",
    b"{\"\\u0066lagKey\":\"check\\u006fut\"}",
    b"{\"context\":{\"targetingKey\":\"u1\"},\"flagKey\":\"checkout\"}",
    b"{\"flagKey\":\"x\",\"flagKey\":\"checkout\"}",
    b"{\"flagKey\":\"checkout\",\"flagkey\":1,\"FlagKey\":[]}",
    b"{\"flagKey\":\"checkout\",\"\":\"\",\"context\":{\"\":{\"\":[]}}}",
    b"{\"flagKey\":\"checkout\",\"context\":{\"targetingKey\":null}}",
    b"{\"flagKey\":\"checkout\",\"context\":{\"targetingKey\":[1,{}],\"bucketingKey\":1.5}}",
];

const OTHER_ENCODINGS: &[&[u8]] = &[
    b"\xef\xbb\xbf{\"flagKey\":\"checkout\"}",
    b"\xff\xfe{\0\"\0f\0l\0a\0g\0K\0e\0y\0\"\0:\0\"\0c\0\"\0}\0",
    b"\xfe\xff\0{\0\"\0f\0l\0a\0g\0K\0e\0y\0\"\0:\0\"\0c\0\"\0}",
    b"{\0\"\0f\0l\0a\0g\0K\0e\0y\0\"\0:\0\"\0c\0\"\0}\0",
    b"\0{\0\"\0f\0l\0a\0g\0K\0e\0y\0\"\0:\0\"\0c\0\"\0}",
    b"{\"flagKey\":\"checkout\",\"\xff\":1}",
];

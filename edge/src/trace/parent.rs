//! W3C Trace Context: what a request says of the call it is part of.

use std::fmt;

use hyper::HeaderMap;

/// Header of the caller's span.
const TRACEPARENT: &str = "traceparent";
/// Length of version 00; later versions may go on after another dash.
const LENGTH: usize = 55;

/// Names a trace.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TraceId(pub [u8; 16]);

/// The caller's span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The trace that the call is part of.
    pub trace: TraceId,
    /// The caller's span in it.
    pub span: [u8; 8],
    /// The caller's is recorded.
    pub is_sampled: bool,
}

impl Parent {
    /// Reads the header. What is not exactly as the standard writes it counts as absent, and so do two of them.
    #[inline]
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let value = headers.get(TRACEPARENT)?;
        let is_only = headers.get_all(TRACEPARENT).iter().nth(1).is_none();
        Self::parse(value.as_bytes()).filter(|_| is_only)
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let (fixed, rest) = text.split_at_checked(LENGTH)?;
        let [version] = hex(&fixed[..2])?;
        let goes_on = match version {
            0 => rest.is_empty(),
            255 => false,
            _ => rest.first().is_none_or(|next| *next == b'-'),
        };
        let has_dashes = [2, 35, 52].iter().all(|at| fixed[*at] == b'-');
        let trace = TraceId(hex(&fixed[3..35])?);
        let span = hex(&fixed[36..52])?;
        let [flags] = hex(&fixed[53..])?;
        let is_valid = goes_on && has_dashes && trace.0 != [0; 16] && span != [0; 8];
        is_valid.then_some(Self { trace, span, is_sampled: flags & 1 == 1 })
    }
}

/// Reads digits in lower case, two to a byte.
fn hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_parent_is_read_as_the_standard_writes_it() {
        let parent = Parent::parse(GOOD.as_bytes()).expect("a parent");
        assert_eq!(parent.trace.to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(parent.span, [0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7]);
        assert!(parent.is_sampled);
        let flags = |flags: &str| Parent::parse(format!("{}{flags}", &GOOD[..53]).as_bytes());
        assert!(flags("03").expect("a parent").is_sampled, "other flags are not ours to judge");
        assert!(!flags("02").expect("a parent").is_sampled);
        for later in [GOOD.replacen("00", "01", 1), format!("{}-more", GOOD.replacen("00", "cc", 1))] {
            assert!(Parent::parse(later.as_bytes()).is_some(), "{later}");
        }
    }

    #[test]
    fn anything_else_counts_as_absent() {
        for bad in [
            String::new(),
            "00".into(),
            GOOD[..54].into(),
            format!("{GOOD}0"),
            format!("{GOOD}-more"),
            format!("{}.more", GOOD.replacen("00", "01", 1)),
            GOOD.to_uppercase(),
            GOOD.replacen("00", "ff", 1),
            GOOD.replacen("00", "0x", 1),
            GOOD.replace('-', "_"),
            GOOD.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            GOOD.replace("00f067aa0ba902b7", &"0".repeat(16)),
            GOOD.replace("4bf9", "4bg9"),
            format!(" {}", &GOOD[..54]),
        ] {
            assert_eq!(Parent::parse(bad.as_bytes()), None, "{bad}");
        }
        let mut headers = HeaderMap::new();
        headers.append(TRACEPARENT, HeaderValue::from_static(GOOD));
        assert!(Parent::of(&headers).is_some());
        headers.append(TRACEPARENT, HeaderValue::from_static(GOOD));
        assert_eq!(Parent::of(&headers), None, "nobody can tell which of two is meant");
    }
}

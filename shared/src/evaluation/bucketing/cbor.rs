//! Keys in the deterministic encoding of CBOR (RFC 8949 §4.2.1): shortest heads, shortest floats that lose nothing.

const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const SIMPLE: u8 = 7;

/// An item, written piece by piece: no buffer of its own, so nothing is allocated.
pub(super) struct Encoder<W>(pub(super) W);

impl<W: FnMut(&[u8])> Encoder<W> {
    pub(super) fn boolean(&mut self, value: bool) {
        self.head(SIMPLE, 20 + u64::from(value));
    }

    /// A text, given in parts.
    pub(super) fn text(&mut self, parts: &[&str]) {
        self.head(TEXT, parts.iter().map(|part| part.len() as u64).sum());
        parts.iter().for_each(|part| (self.0)(part.as_bytes()));
    }

    /// The head of an array of that many items.
    pub(super) fn array_head(&mut self, items: usize) {
        self.head(ARRAY, items as u64);
    }

    /// A whole number, as flagd normalises it: within the 64 bits of signed and unsigned numbers an integer, else the
    /// float that it was.
    pub(super) fn integer(&mut self, integer: i128) {
        match (u64::try_from(integer), i64::try_from(integer)) {
            (Ok(value), _) => self.head(UNSIGNED, value),
            (_, Ok(value)) => self.head(NEGATIVE, value.unsigned_abs() - 1),
            _ => self.float(integer as f64),
        }
    }

    /// A finite float that is not whole, or too large for an integer.
    pub(super) fn float(&mut self, value: f64) {
        let single = value as f32;
        if f64::from(single) != value {
            self.fixed(27, &value.to_be_bytes());
        } else if let Some(half) = half(single) {
            self.fixed(25, &half.to_be_bytes());
        } else {
            self.fixed(26, &single.to_be_bytes());
        }
    }

    fn head(&mut self, major: u8, value: u64) {
        let bytes = value.to_be_bytes();
        match value {
            0..24 => (self.0)(&[major << 5 | bytes[7]]),
            24..0x100 => self.sized(major, 24, &bytes[7..]),
            0x100..0x1_0000 => self.sized(major, 25, &bytes[6..]),
            0x1_0000..0x1_0000_0000 => self.sized(major, 26, &bytes[4..]),
            _ => self.sized(major, 27, &bytes),
        }
    }

    fn fixed(&mut self, size: u8, bytes: &[u8]) {
        self.sized(SIMPLE, size, bytes);
    }

    fn sized(&mut self, major: u8, size: u8, bytes: &[u8]) {
        (self.0)(&[major << 5 | size]);
        (self.0)(bytes);
    }
}

/// The same value in 16 bits, if it has one: 5 bits of exponent and 10 of fraction.
fn half(value: f32) -> Option<u16> {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let (exponent, fraction) = ((bits >> 23 & 0xff) as i32 - 127, bits & 0x7f_ffff);
    if bits << 1 == 0 {
        return Some(sign);
    }
    if (-14..=15).contains(&exponent) && fraction.trailing_zeros() >= 13 {
        return Some(sign | ((exponent + 15) as u16) << 10 | (fraction >> 13) as u16);
    }
    // Small halves count in 2^-24, without the leading one that is otherwise implied.
    let fraction = fraction | 0x80_0000;
    let shift = -1 - exponent;
    let is_small = (-24..-14).contains(&exponent) && fraction.trailing_zeros() as i32 >= shift;
    is_small.then(|| sign | (fraction >> shift) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(write: impl FnOnce(&mut Encoder<&mut dyn FnMut(&[u8])>)) -> String {
        let mut text = String::new();
        let mut push = |bytes: &[u8]| bytes.iter().for_each(|byte| text.push_str(&format!("{byte:02x}")));
        write(&mut Encoder(&mut push));
        text
    }

    #[test]
    fn integers_take_the_fewest_bytes() {
        let cases: [(i128, &str); 16] = [
            (0, "00"),
            (23, "17"),
            (24, "1818"),
            (255, "18ff"),
            (256, "190100"),
            (65_535, "19ffff"),
            (65_536, "1a00010000"),
            (4_294_967_296, "1b0000000100000000"),
            (u64::MAX.into(), "1bffffffffffffffff"),
            (-1, "20"),
            (-24, "37"),
            (-25, "3818"),
            (-256, "38ff"),
            (-257, "390100"),
            (i64::MIN.into(), "3b7fffffffffffffff"),
            // Below the signed numbers it is the float that JSON had.
            (-10_000_000_000_000_000_000, "fbc3e158e460913d00"),
        ];
        for (integer, expected) in cases {
            assert_eq!(hex(|cbor| cbor.integer(integer)), expected, "{integer}");
        }
    }

    #[test]
    fn floats_take_the_fewest_bytes_that_lose_nothing() {
        let cases = [
            (1.5, "f93e00"),
            (-4.1, "fbc010666666666666"),
            (65_504.5, "fa477fe080"),
            (0.5, "f93800"),
            (100_000.5, "fa47c35040"),
            (1.1, "fb3ff199999999999a"),
            // One bit more than 16 bits have.
            (1.000_488_281_25, "fa3f801000"),
            (1.0e300, "fb7e37e43c8800759c"),
            // The smallest of the 16 bits, half of it, and the largest of the small ones.
            (5.960_464_477_539_063e-8, "f90001"),
            (2.980_232_238_769_531_3e-8, "fa33000000"),
            (6.097_555_160_522_461e-5, "f903ff"),
            (6.103_515_625e-5, "f90400"),
        ];
        for (float, expected) in cases {
            assert_eq!(hex(|cbor| cbor.float(float)), expected, "{float}");
        }
    }

    #[test]
    fn texts_arrays_and_booleans_are_encoded_as_published() {
        assert_eq!(hex(|cbor| cbor.text(&["IE", "TF"])), "6449455446");
        assert_eq!(hex(|cbor| cbor.text(&["水"])), "63e6b0b4");
        assert!(hex(|cbor| cbor.text(&[&"a".repeat(300)])).starts_with("79012c61"));
        assert_eq!(hex(|cbor| cbor.boolean(true)), "f5");
        assert_eq!(hex(|cbor| cbor.boolean(false)), "f4");
        let pair = hex(|cbor| {
            cbor.array_head(2);
            cbor.text(&["a"]);
            cbor.text(&["b"]);
        });
        assert_eq!(pair, "8261616162");
    }
}

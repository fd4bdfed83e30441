//! FNV-1a of 32 bits, in parts.

const START: u32 = 0x811c_9dc5;
const PRIME: u32 = 0x0100_0193;

/// A hash under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fnv(u32);

impl Fnv {
    pub(super) fn new() -> Self {
        Self(START)
    }

    pub(super) fn write(self, bytes: &[u8]) -> Self {
        Self(bytes.iter().fold(self.0, |hash, byte| step(hash, u32::from(*byte))))
    }

    /// GrowthBook's reading: the units of JavaScript's texts, 16 bits at a time.
    pub(super) fn write_utf16(self, text: &str) -> Self {
        Self(text.encode_utf16().fold(self.0, |hash, unit| step(hash, u32::from(unit))))
    }

    pub(super) fn finish(self) -> u32 {
        self.0
    }
}

fn step(hash: u32, unit: u32) -> u32 {
    (hash ^ unit).wrapping_mul(PRIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_vectors_hold() {
        for (text, expected) in [("", 0x811c_9dc5), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)] {
            assert_eq!(Fnv::new().write(text.as_bytes()).finish(), expected, "{text}");
            assert_eq!(Fnv::new().write_utf16(text).finish(), expected, "{text}");
        }
        assert_eq!(Fnv::new().write(b"flagName").write(b"UserKey").finish(), 3_946_001_934);
    }

    #[test]
    fn units_beyond_8_bits_are_hashed_whole() {
        let bytes = Fnv::new().write("用户".as_bytes()).finish();
        let units = Fnv::new().write_utf16("用").write_utf16("户").finish();
        assert_ne!(units, bytes);
        assert_eq!(units, Fnv::new().write_utf16("用户").finish());
    }
}

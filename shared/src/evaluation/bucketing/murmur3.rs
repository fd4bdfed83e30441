//! MurmurHash3 x86 32, in parts.

/// A hash under way. Kept paused after a prefix, so that only the key is hashed per evaluation.
#[derive(Clone, Debug)]
pub(super) struct Murmur3 {
    hash: u32,
    tail: u32,
    len: u32,
}

impl Murmur3 {
    pub(super) fn new(seed: u32) -> Self {
        Self { hash: seed, tail: 0, len: 0 }
    }

    pub(super) fn with_prefix(seed: u32, prefix: &str) -> Self {
        let mut state = Self::new(seed);
        state.write(prefix.as_bytes());
        state
    }

    /// The hash of what came before and these last bytes.
    #[inline]
    pub(super) fn hash(&self, last: &[u8]) -> u32 {
        let mut state = self.clone();
        state.write(last);
        state.finish()
    }

    pub(super) fn write(&mut self, mut bytes: &[u8]) {
        while !self.len.is_multiple_of(4) {
            let Some((first, rest)) = bytes.split_first() else { return };
            self.write_byte(*first);
            bytes = rest;
        }
        let (blocks, rest) = bytes.as_chunks::<4>();
        for block in blocks {
            self.mix(u32::from_le_bytes(*block));
        }
        self.len = self.len.wrapping_add(4 * blocks.len() as u32);
        rest.iter().for_each(|byte| self.write_byte(*byte));
    }

    pub(super) fn finish(&self) -> u32 {
        let mut hash = self.hash ^ scramble(self.tail) ^ self.len;
        hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
        hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
        hash ^ (hash >> 16)
    }

    fn write_byte(&mut self, byte: u8) {
        self.tail |= u32::from(byte) << (8 * (self.len % 4));
        self.len = self.len.wrapping_add(1);
        if self.len.is_multiple_of(4) {
            let block = std::mem::take(&mut self.tail);
            self.mix(block);
        }
    }

    fn mix(&mut self, block: u32) {
        self.hash = (self.hash ^ scramble(block)).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
}

fn scramble(block: u32) -> u32 {
    block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn published_vectors_hold() {
        let vectors = [
            ("", 0),
            ("hello", 0x248b_fa47),
            ("hello, world", 0x149b_bb7f),
            ("ejOoVL", 0),
            ("bY9fO-", 1),
            ("SI7p-", 0x7fff_ffff),
            ("6LvT0", 0x8000_0000),
            ("ceQdGm", 0xffff_ffff),
        ];
        for (text, expected) in vectors {
            assert_eq!(Murmur3::new(0).hash(text.as_bytes()), expected, "{text}");
        }
        // {"b": 1, "aa": 2} in deterministic CBOR: bytes that are no text.
        let object = [0xa2, 0x61, 0x62, 0x01, 0x62, 0x61, 0x61, 0x02];
        assert_eq!(Murmur3::new(0).hash(&object), 279_017_145);
    }

    proptest! {
        #[test]
        fn hashing_in_parts_equals_the_reference(
            seed in any::<u32>(),
            parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..20), 1..5),
        ) {
            let mut state = Murmur3::new(seed);
            parts.iter().for_each(|part| state.write(part));
            let whole = parts.concat();
            let reference = murmur3::murmur3_32(&mut whole.as_slice(), seed).expect("a slice never fails to read");
            prop_assert_eq!(state.finish(), reference);
        }

        #[test]
        fn a_paused_hash_can_be_continued_again_and_again(prefix in ".{0,40}", keys in [".{0,40}", ".{0,40}"]) {
            let paused = Murmur3::with_prefix(0, &prefix);
            for key in keys {
                let whole = format!("{prefix}{key}");
                let reference = murmur3::murmur3_32(&mut whole.as_bytes(), 0).expect("a slice never fails to read");
                prop_assert_eq!(paused.hash(key.as_bytes()), reference);
            }
        }
    }
}

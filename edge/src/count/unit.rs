//! The hashes that stand for users in exposures and events.

use std::hash::Hasher;

use siphasher::sip::SipHasher24;
use uuid::Uuid;

/// The hash of a unit: what a split goes by, and the key in it, as `shared::wire::count::Exposures` says.
pub fn unit(unit_key: &Uuid, attribute: &str, key: &str) -> u64 {
    let mut hasher = SipHasher24::new_with_key(unit_key.as_bytes());
    hasher.write(attribute.as_bytes());
    hasher.write(&[0]);
    hasher.write(key.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_siphash_2_4_of_name_zero_and_key() {
        // The vectors of the paper: key 00 01 … 0f, and the texts 00 and 00 01 … 0e.
        let key = Uuid::from_bytes(std::array::from_fn(|at| at as u8));
        let rest: String = (1..15).map(char::from).collect();
        assert_eq!(unit(&key, "", &rest), 0xa129_ca61_49be_45e5);
        assert_eq!(unit(&key, "", ""), 0x74f8_39c5_93dc_67fd);
        // Where a name ends and a key begins is told apart.
        assert_ne!(unit(&key, "ab", "c"), unit(&key, "a", "bc"));
        assert_ne!(unit(&key, "a", "b"), unit(&Uuid::nil(), "a", "b"));
    }
}

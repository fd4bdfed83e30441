//! Flags by key, where a changed copy shares all that did not change.

use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// A copy clones this many pointers, and a change one part in so many of the flags.
const SHARDS: usize = 64;
/// Fixed, so that copies agree: what is stored comes from people who may edit flags, not from those who ask.
const HASHER: FixedState = FixedState::with_seed(0x9e37_79b9_7f4a_7c15);

/// What can be found by the key of its flag.
pub trait Keyed: Clone {
    /// The flag's key.
    fn key(&self) -> &str;
}

/// Flags by key. A clone costs the same whatever it holds, and changing it leaves the original as it was.
#[derive(Clone, Debug)]
pub struct FlagMap<V> {
    shards: Box<[Arc<HashTable<V>>]>,
    len: usize,
}

impl<V> Default for FlagMap<V> {
    fn default() -> Self {
        Self { shards: std::iter::repeat_with(Arc::default).take(SHARDS).collect(), len: 0 }
    }
}

impl<V: Keyed> FlagMap<V> {
    /// How many flags there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The flag of a key.
    #[inline]
    pub fn get(&self, key: &str) -> Option<&V> {
        let hash = HASHER.hash_one(key);
        self.shards[shard(hash)].find(hash, |value| value.key() == key)
    }

    /// All flags, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &V> {
        self.shards.iter().flat_map(|shard| shard.iter())
    }

    /// Adds a flag; returns the one of the same key that it replaces.
    pub fn insert(&mut self, value: V) -> Option<V> {
        let hash = HASHER.hash_one(value.key());
        let table = Arc::make_mut(&mut self.shards[shard(hash)]);
        if let Some(known) = table.find_mut(hash, |known| known.key() == value.key()) {
            return Some(std::mem::replace(known, value));
        }
        table.insert_unique(hash, value, |value| HASHER.hash_one(value.key()));
        self.len += 1;
        None
    }

    /// Takes a flag away and returns it.
    pub fn remove(&mut self, key: &str) -> Option<V> {
        let hash = HASHER.hash_one(key);
        let at = shard(hash);
        self.shards[at].find(hash, |value| value.key() == key)?;
        let entry = Arc::make_mut(&mut self.shards[at]).find_entry(hash, |value| value.key() == key).ok()?;
        self.len -= 1;
        Some(entry.remove().0)
    }
}

impl<V: Keyed> FromIterator<V> for FlagMap<V> {
    fn from_iter<I: IntoIterator<Item = V>>(values: I) -> Self {
        let mut map = Self::default();
        values.into_iter().for_each(|value| drop(map.insert(value)));
        map
    }
}

/// Taken from the upper half: the table itself looks at the lower bits and at the highest seven.
fn shard(hash: u64) -> usize {
    (hash >> 40) as usize % SHARDS
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    impl Keyed for (String, u32) {
        fn key(&self) -> &str {
            &self.0
        }
    }

    proptest! {
        #[test]
        fn it_holds_what_a_plain_map_holds_and_leaves_older_copies_alone(
            steps in proptest::collection::vec((0..40_u32, any::<u32>(), any::<bool>()), 0..200),
        ) {
            let mut plain = BTreeMap::new();
            let mut map = FlagMap::default();
            let mut older = Vec::new();
            for (key, value, is_insert) in steps {
                let key = format!("flag-{key}");
                if is_insert {
                    let before = map.insert((key.clone(), value)).map(|(_, value)| value);
                    prop_assert_eq!(before, plain.insert(key, value));
                } else {
                    prop_assert_eq!(map.remove(&key).map(|(_, value)| value), plain.remove(&key));
                }
                older.push((map.clone(), plain.clone()));
            }
            for (map, plain) in older {
                prop_assert_eq!(map.len(), plain.len());
                let listed: BTreeMap<_, _> = map.iter().cloned().collect();
                prop_assert_eq!(&listed, &plain);
                for (key, value) in &plain {
                    prop_assert_eq!(map.get(key).map(|(_, value)| value), Some(value));
                }
                prop_assert!(map.get("flag-x").is_none());
            }
        }
    }
}

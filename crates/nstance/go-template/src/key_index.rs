//! Where the keys of a large map are: a hash table beside the sorted entries.

/// A table of places, each one more than the entry's; 0 is none. It is empty for small maps, and where keys collide too
/// often, by chance or by intent: then halving finds them.
#[derive(Default)]
pub(crate) struct KeyIndex(Box<[u32]>);

/// A key lies at most so far from where it belongs.
const FARTHEST: usize = 16;

impl KeyIndex {
    /// Up to this many entries, looking at one after the other is faster.
    pub(crate) const FEW: usize = 8;

    pub(crate) fn of<V>(entries: &[(Box<[u8]>, V)]) -> KeyIndex {
        if entries.len() <= KeyIndex::FEW || entries.len() >= u32::MAX as usize / 4 {
            return KeyIndex::default();
        }
        let mut table = vec![0u32; (2 * entries.len()).next_power_of_two()].into_boxed_slice();
        let mask = table.len() - 1;
        for (number, (key, _)) in (1..).zip(entries) {
            let start = hash(key) as usize;
            let Some(free) = (0..FARTHEST).map(|step| (start + step) & mask).find(|place| table[*place] == 0) else {
                return KeyIndex::default();
            };
            table[free] = number;
        }
        KeyIndex(table)
    }

    /// The place of a key among the entries, `Some(None)` if it is not there; `None` if there is no table.
    #[inline]
    pub(crate) fn find<V>(&self, key: &[u8], entries: &[(Box<[u8]>, V)]) -> Option<Option<usize>> {
        let mask = self.0.len().checked_sub(1)?;
        let start = hash(key) as usize;
        for step in 0..FARTHEST {
            match self.0[(start + step) & mask] {
                0 => return Some(None),
                number if *entries[number as usize - 1].0 == *key => return Some(Some(number as usize - 1)),
                _ => {}
            }
        }
        Some(None)
    }
}

/// A number that two keys seldom share. It need not withstand an attacker: see [`KeyIndex`].
fn hash(key: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut state = key.len() as u64;
    let (chunks, rest) = key.as_chunks::<8>();
    for chunk in chunks {
        state = (state ^ u64::from_le_bytes(*chunk)).wrapping_mul(FACTOR).rotate_left(29);
    }
    let last = rest.iter().fold(0, |last, byte| last << 8 | u64::from(*byte));
    let mixed = (state ^ last).wrapping_mul(FACTOR);
    mixed ^ mixed >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(keys: impl Iterator<Item = String>) -> Vec<(Box<[u8]>, ())> {
        keys.map(|key| (key.into_bytes().into_boxed_slice(), ())).collect()
    }

    #[test]
    fn finds_each_key_and_no_other() {
        let entries = entries((0..5000).map(|n| format!("SOME_LONGER_PREFIX_{n}")));
        let index = KeyIndex::of(&entries);
        for (place, (key, _)) in entries.iter().enumerate() {
            assert_eq!(index.find(key, &entries), Some(Some(place)));
        }
        assert_eq!(index.find(b"SOME_LONGER_PREFIX_", &entries), Some(None));
    }

    #[test]
    fn without_a_table_it_does_not_know() {
        let few = entries((0..8).map(|n| n.to_string()));
        assert_eq!(KeyIndex::of(&few).find(b"1", &few), None);
        let same = entries((0..40).map(|_| "same".to_owned()));
        assert_eq!(KeyIndex::of(&same).find(b"same", &same), None, "more collisions than the table takes");
    }
}

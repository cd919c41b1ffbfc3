//! The dictionary of a column: each value once, in the order in which they come.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;

use super::values::Kind;

/// Slots of an empty table.
const LEAST_SLOTS: usize = 256;
/// Values that are looked up together: while memory is awaited for one of them, it is for the others, too.
const AT_ONCE: usize = 32;

/// Bits of a slot that are a place, and one more; the others are those of the hash that did not choose the slot.
const PLACE_BITS: u32 = 20;
const PLACE: u32 = (1 << PLACE_BITS) - 1;

/// Bytes from which on a dictionary is full: a page then ends at the next row at which one may.
const FULL_BYTES: usize = 1 << 20;
/// Bytes and values beyond which it takes none in any case: one row can have any number.
const MOST_BYTES: usize = 4 << 20;
const MOST_VALUES: usize = PLACE as usize;

/// Finds the place of values, by open addressing. A slot is 0 while nothing is in it.
#[derive(Debug)]
pub struct Dictionary {
    slots: Vec<u32>,
    count: usize,
    /// Where the value of each place begins, if they take different numbers of bytes.
    begins: Vec<u32>,
    /// Values in the plain encoding.
    pub bytes: Vec<u8>,
    /// Unknown to producers, so that nobody can choose values whose hashes collide. Places do not depend on it.
    seed: u64,
}

impl Dictionary {
    pub fn new() -> Self {
        let seed = RandomState::new().build_hasher().finish();
        Self { slots: Vec::new(), count: 0, begins: Vec::new(), bytes: Vec::new(), seed }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_full(&self) -> bool {
        self.bytes.len() >= FULL_BYTES
    }

    /// Appends the places of values, where new ones have the next one each. Returns the first value for which there is none.
    pub fn look_up<K: Kind>(
        &mut self,
        kind: &K,
        column: &K::Column,
        range: Range<usize>,
        places: &mut Vec<u32>,
    ) -> Option<usize> {
        places.reserve(range.len());
        for begin in range.clone().step_by(AT_ONCE) {
            let end = range.end.min(begin + AT_ONCE);
            while (self.count + AT_ONCE) * 2 > self.slots.len() {
                self.grow(kind);
            }
            let mask = self.slots.len() - 1;
            let (mut hashes, mut found) = ([0; AT_ONCE], [0; AT_ONCE]);
            for (hash, at) in hashes.iter_mut().zip(begin..end) {
                *hash = kind.hash(kind.item(column, at), self.seed);
            }
            for (slot, hash) in found.iter_mut().zip(hashes) {
                *slot = self.slots[hash as usize & mask];
            }
            for ((slot, hash), at) in found.iter_mut().zip(hashes).zip(begin..end) {
                let is_known = *slot != 0 && *slot & !PLACE == tag(hash);
                let is_same = is_known && kind.is_same(self.value(kind, (*slot & PLACE) - 1), kind.item(column, at));
                *slot = if is_same { *slot & PLACE } else { 0 };
            }
            for ((place, hash), at) in found.into_iter().zip(hashes).zip(begin..end) {
                let place = match place {
                    0 => self.find(kind, kind.item(column, at), hash),
                    place => Some(place - 1),
                };
                let Some(place) = place else { return Some(at) };
                places.push(place);
            }
        }
        None
    }

    /// The place of a value, which is the last one if it is new.
    #[inline(never)]
    fn find<K: Kind>(&mut self, kind: &K, item: K::Item<'_>, hash: u64) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let found = self.slots[slot];
            if found == 0 {
                let has_room = self.bytes.len() < MOST_BYTES && self.count < MOST_VALUES;
                return has_room.then(|| self.add(kind, item, slot, hash));
            }
            let place = (found & PLACE) - 1;
            if found & !PLACE == tag(hash) && kind.is_same(self.value(kind, place), item) {
                return Some(place);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// The value at a place.
    #[inline]
    pub fn value<K: Kind>(&self, kind: &K, place: u32) -> K::Item<'_> {
        let begin = match kind.width() {
            Some(width) => place as usize * width,
            None => self.begins[place as usize] as usize,
        };
        kind.read(&self.bytes[begin..])
    }

    /// All values, in their order.
    pub fn values<'a, K: Kind>(&'a self, kind: &'a K) -> impl Iterator<Item = K::Item<'a>> {
        (0..self.len() as u32).map(|place| self.value(kind, place))
    }

    /// Forgets all values, and keeps the memory.
    pub fn clear(&mut self) {
        self.slots.fill(0);
        self.count = 0;
        self.begins.clear();
        self.bytes.clear();
    }

    fn add<K: Kind>(&mut self, kind: &K, item: K::Item<'_>, slot: usize, hash: u64) -> u32 {
        let place = self.count as u32;
        self.slots[slot] = tag(hash) | (place + 1);
        self.count += 1;
        if kind.width().is_none() {
            self.begins.push(self.bytes.len() as u32);
        }
        kind.put(item, &mut self.bytes);
        place
    }

    #[cold]
    fn grow<K: Kind>(&mut self, kind: &K) {
        let slots = (self.slots.len() * 2).max(LEAST_SLOTS);
        let mut grown = vec![0; slots];
        for place in 0..self.len() as u32 {
            let hash = kind.hash(self.value(kind, place), self.seed);
            let mut slot = hash as usize & (slots - 1);
            while grown[slot] != 0 {
                slot = (slot + 1) & (slots - 1);
            }
            grown[slot] = tag(hash) | (place + 1);
        }
        self.slots = grown;
    }
}

fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32 & !PLACE
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array, Int32Array, Int64Array, StringArray};

    use super::*;
    use crate::parquet::values::{Numbers, Texts};

    fn places<K: Kind>(dictionary: &mut Dictionary, kind: &K, array: &dyn Array) -> Vec<u32> {
        let (column, mut places) = (kind.column(array).expect("it is of this kind"), Vec::new());
        assert_eq!(dictionary.look_up(kind, &column, 0..array.len(), &mut places), None);
        places
    }

    #[test]
    fn values_have_the_place_of_their_first_occurrence() {
        let mut dictionary = Dictionary::new();
        let numbers = Numbers::<i64>::default();
        let values: Vec<i64> = (0..50_000).map(|number| number * 7_919 % 3_001 - 1_500).collect();
        let found = places(&mut dictionary, &numbers, &Int64Array::from(values.clone()));
        assert_eq!(dictionary.len(), 3_001);
        for (value, place) in values.iter().zip(&found) {
            assert_eq!(dictionary.value(&numbers, *place), *value);
        }
        assert!(found.iter().take(3_001).copied().eq(0..3_001));
        dictionary.clear();
        assert_eq!((places(&mut dictionary, &numbers, &Int64Array::from(vec![9])), dictionary.len()), (vec![0], 1));
    }

    #[test]
    fn texts_are_told_apart() {
        let mut dictionary = Dictionary::new();
        let texts = StringArray::from(vec!["", "a", "", "ab", "a"]);
        assert_eq!(places(&mut dictionary, &Texts, &texts), [0, 1, 0, 2, 1]);
        assert_eq!(dictionary.bytes, b"\0\0\0\0\x01\0\0\0a\x02\0\0\0ab");
    }

    #[test]
    fn there_is_an_end_to_what_is_taken() {
        let (mut dictionary, mut places) = (Dictionary::new(), Vec::new());
        let numbers = Numbers::<i32>::default();
        let many = Int32Array::from_iter_values(0..1_100_000);
        let column = numbers.column(&many).expect("it is of this kind");
        let first = dictionary.look_up(&numbers, &column, 0..many.len(), &mut places);
        assert_eq!((first, places.len(), dictionary.len()), (Some(MOST_VALUES), MOST_VALUES, MOST_VALUES));
        assert!(places.iter().copied().eq(0..MOST_VALUES as u32));
    }
}

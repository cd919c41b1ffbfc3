//! Truth values.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray};

use super::Kind;

/// Truth values, a bit each.
#[derive(Debug, Default)]
pub struct Bits;

impl Kind for Bits {
    type Column = BooleanArray;
    type Item<'a> = bool;

    const HAS_DICTIONARY: bool = false;
    const IS_BITS: bool = true;

    fn width(&self) -> Option<usize> {
        Some(1)
    }

    fn column(&self, array: &dyn Array) -> Option<BooleanArray> {
        array.as_boolean_opt().cloned()
    }

    fn item(&self, column: &BooleanArray, at: usize) -> bool {
        column.value(at)
    }

    fn size(&self, _column: &BooleanArray, range: Range<usize>) -> usize {
        range.len()
    }

    fn put(&self, item: bool, bytes: &mut Vec<u8>) {
        bytes.push(item.into());
    }

    fn read(&self, bytes: &[u8]) -> bool {
        bytes.first() == Some(&1)
    }

    fn hash(&self, item: bool, seed: u64) -> u64 {
        u64::from(item) ^ seed
    }

    fn is_same(&self, one: bool, other: bool) -> bool {
        one == other
    }

    fn is_less(one: bool, other: bool) -> bool {
        !one & other
    }

    fn bound(&self, item: bool, _is_upper: bool) -> Vec<u8> {
        vec![item.into()]
    }

    fn bounding(&self, bound: &[u8]) -> bool {
        self.read(bound)
    }
}

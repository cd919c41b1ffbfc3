//! Decimals, in the bytes that their digits need.

use std::ops::Range;

use arrow_array::Array;
use arrow_array::types::Decimal128Type;
use arrow_buffer::ScalarBuffer;

use super::{Kind, MULTIPLIER, folded, values};

/// Decimals as so many bytes each, the highest first.
#[derive(Debug)]
pub struct Decimals {
    pub length: usize,
}

impl Kind for Decimals {
    type Column = ScalarBuffer<i128>;
    type Item<'a> = i128;

    fn column(&self, array: &dyn Array) -> Option<Self::Column> {
        values::<Decimal128Type>(array)
    }

    fn width(&self) -> Option<usize> {
        Some(self.length)
    }

    fn item(&self, column: &Self::Column, at: usize) -> i128 {
        column[at]
    }

    fn size(&self, _column: &Self::Column, range: Range<usize>) -> usize {
        range.len() * self.length
    }

    fn put(&self, item: i128, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&item.to_be_bytes()[size_of::<i128>() - self.length..]);
    }

    fn read(&self, bytes: &[u8]) -> i128 {
        self.bounding(&bytes[..self.length])
    }

    fn hash(&self, item: i128, seed: u64) -> u64 {
        folded(item as u64 ^ seed, (item >> 64) as u64 ^ MULTIPLIER)
    }

    fn is_same(&self, one: i128, other: i128) -> bool {
        one == other
    }

    fn is_less(one: i128, other: i128) -> bool {
        one < other
    }

    fn bound(&self, item: i128, _is_upper: bool) -> Vec<u8> {
        item.to_be_bytes()[size_of::<i128>() - self.length..].to_vec()
    }

    fn bounding(&self, bound: &[u8]) -> i128 {
        let sign = if bound.first().is_some_and(|byte| *byte >= 0x80) { -1 } else { 0 };
        bound.iter().fold(sign, |value, byte| value << 8 | i128::from(*byte))
    }
}

/// Bytes that a decimal of so many digits takes.
pub fn decimal_length(precision: u8) -> usize {
    let most = 10_i128.pow(precision.into()) - 1;
    // One bit more for the sign.
    (i128::BITS - most.leading_zeros() + 1).div_ceil(8) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_take_as_many_bytes_as_their_digits_need() {
        let found = [1, 2, 3, 4, 9, 10, 18, 19, 38].map(decimal_length);
        assert_eq!(found, [1, 1, 2, 2, 4, 5, 8, 9, 16]);
    }

    #[test]
    fn decimals_are_read_back() {
        for (length, value) in [(1, -99), (1, 99), (4, -1), (5, 9_999_999_999), (16, -(10_i128.pow(38) - 1)), (2, 0)] {
            let (kind, mut bytes) = (Decimals { length }, Vec::new());
            kind.put(value, &mut bytes);
            assert_eq!((bytes.len(), kind.read(&bytes)), (length, value));
        }
    }
}

//! Texts and bytes.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::ByteArrayType;
use arrow_array::{Array, GenericByteArray};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::DataType;

use super::super::bounds::MOST_BYTES;
use super::{Kind, MULTIPLIER, folded};

/// Texts and bytes, each behind its length.
#[derive(Debug, Default)]
pub struct Texts;

/// The bytes of values end to end, and where each of them ends.
#[derive(Debug)]
pub struct TextColumn {
    ends: ScalarBuffer<i32>,
    bytes: Buffer,
}

const LENGTH: usize = size_of::<u32>();

impl<T: ByteArrayType<Offset = i32>> From<&GenericByteArray<T>> for TextColumn {
    fn from(array: &GenericByteArray<T>) -> Self {
        Self { ends: array.offsets().inner().clone(), bytes: array.values().clone() }
    }
}

impl Kind for Texts {
    type Column = TextColumn;
    type Item<'a> = &'a [u8];

    fn width(&self) -> Option<usize> {
        None
    }

    fn column(&self, array: &dyn Array) -> Option<TextColumn> {
        match array.data_type() {
            DataType::Utf8 => array.as_string_opt::<i32>().map(TextColumn::from),
            DataType::Binary => array.as_binary_opt::<i32>().map(TextColumn::from),
            _ => None,
        }
    }

    #[inline(always)]
    fn item<'a>(&self, column: &'a TextColumn, at: usize) -> &'a [u8] {
        &column.bytes[column.ends[at] as usize..column.ends[at + 1] as usize]
    }

    fn size(&self, column: &TextColumn, range: Range<usize>) -> usize {
        range.len() * LENGTH + (column.ends[range.end] - column.ends[range.start]) as usize
    }

    #[inline(always)]
    fn put(&self, item: &[u8], bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&(item.len() as u32).to_le_bytes());
        bytes.extend_from_slice(item);
    }

    #[inline(always)]
    fn read<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let length = bytes.first_chunk().map_or(0, |chunk| u32::from_le_bytes(*chunk));
        bytes.get(LENGTH..LENGTH + length as usize).unwrap_or_default()
    }

    #[inline]
    fn hash(&self, item: &[u8], seed: u64) -> u64 {
        hash_bytes(item, seed)
    }

    #[inline(always)]
    fn is_same(&self, one: &[u8], other: &[u8]) -> bool {
        one == other
    }

    fn hashed<'a>(&self, plain: &'a [u8]) -> &'a [u8] {
        self.read(plain)
    }

    #[inline(always)]
    fn is_less(one: &[u8], other: &[u8]) -> bool {
        // Most values differ early.
        match (one.first_chunk().map(|chunk| u64::from_be_bytes(*chunk)), other.first_chunk()) {
            (Some(first), Some(chunk)) if first != u64::from_be_bytes(*chunk) => first < u64::from_be_bytes(*chunk),
            _ => one < other,
        }
    }

    fn bound(&self, item: &[u8], _is_upper: bool) -> Vec<u8> {
        // A bound that is too long stays too long by one byte more, and no page keeps its longest values for that.
        item[..item.len().min(MOST_BYTES + 1)].to_vec()
    }

    fn bounding<'a>(&self, bound: &'a [u8]) -> &'a [u8] {
        bound
    }
}

/// Hashes eight bytes at a time; the last ones may be hashed twice.
#[inline]
fn hash_bytes(bytes: &[u8], seed: u64) -> u64 {
    let word = |at: usize| bytes[at..].first_chunk().map_or(0, |chunk| u64::from_le_bytes(*chunk));
    let short = |at: usize| bytes[at..].first_chunk().map_or(0, |chunk| u64::from(u32::from_le_bytes(*chunk)));
    let length = bytes.len();
    let mut hash = seed ^ length as u64;
    match length {
        0 => {}
        1..4 => {
            let ends = u64::from(bytes[0]) | u64::from(bytes[length / 2]) << 8 | u64::from(bytes[length - 1]) << 16;
            hash = folded(hash ^ ends, MULTIPLIER);
        }
        4..8 => hash = folded(hash ^ (short(0) << 32 | short(length - 4)), MULTIPLIER),
        _ => {
            for at in (0..length - 8).step_by(8) {
                hash = folded(hash ^ word(at), MULTIPLIER);
            }
            hash = folded(hash ^ word(length - 8), MULTIPLIER);
        }
    }
    folded(hash, seed | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_each_length_have_hashes_of_their_own() {
        let text: Vec<u8> = (0..40).map(|byte| byte * 5).collect();
        let mut hashes: Vec<_> = (0..40).map(|length| Texts.hash(&text[..length], 7)).collect();
        hashes.extend((0..40).map(|place| {
            let mut other = text.clone();
            other[place] ^= 1;
            Texts.hash(&other, 7)
        }));
        let count = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), count);
    }
}

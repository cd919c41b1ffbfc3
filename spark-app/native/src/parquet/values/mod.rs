//! Values as Parquet has them: for each physical type how values are written, compared and hashed.
//!
//! Sources: `Encodings.md` ("Plain") and `parquet.thrift` (`ColumnOrder`, `Statistics`) of Apache Parquet.

mod bits;
mod decimals;
mod numbers;
mod texts;

use std::ops::Range;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::ArrowPrimitiveType;
use arrow_buffer::ScalarBuffer;

pub use bits::Bits;
pub use decimals::{Decimals, decimal_length};
pub use numbers::Numbers;
pub use texts::Texts;

/// The values of one physical type.
pub trait Kind {
    /// Values of an array.
    type Column;
    type Item<'a>: Copy;

    /// Whether a dictionary can be of use.
    const HAS_DICTIONARY: bool = true;
    /// Whether what [`Kind::put`] appends are bits, a byte each.
    const IS_BITS: bool = false;

    /// Bytes that each value takes; None: they differ.
    fn width(&self) -> Option<usize>;

    /// The values of an array; None: it has another type.
    fn column(&self, array: &dyn Array) -> Option<Self::Column>;

    fn item<'a>(&self, column: &'a Self::Column, at: usize) -> Self::Item<'a>;

    /// Bytes that [`Kind::put`] appends for values of a range.
    fn size(&self, column: &Self::Column, range: Range<usize>) -> usize;

    /// Appends a value in the plain encoding.
    fn put(&self, item: Self::Item<'_>, bytes: &mut Vec<u8>);

    /// Appends all of a range.
    fn put_all(&self, column: &Self::Column, range: Range<usize>, bytes: &mut Vec<u8>) {
        range.for_each(|at| self.put(self.item(column, at), bytes));
    }

    /// Reads back what [`Kind::put`] appended from here on.
    fn read<'a>(&self, bytes: &'a [u8]) -> Self::Item<'a>;

    fn hash(&self, item: Self::Item<'_>, seed: u64) -> u64;

    /// Whether two values are written alike.
    fn is_same(&self, one: Self::Item<'_>, other: Self::Item<'_>) -> bool;

    /// What a Bloom filter hashes of what [`Kind::put`] appends for one value.
    fn hashed<'a>(&self, plain: &'a [u8]) -> &'a [u8] {
        plain
    }

    /// Another value that readers take for the same.
    fn alias(_item: Self::Item<'_>) -> Option<Self::Item<'_>> {
        None
    }

    /// Whether a value has a place among the others: all but NaN.
    fn is_ordered(_item: Self::Item<'_>) -> bool {
        true
    }

    fn is_less(one: Self::Item<'_>, other: Self::Item<'_>) -> bool;

    /// A bound as statistics have it, or the begin of one that is longer than [`MOST_BYTES`].
    fn bound(&self, item: Self::Item<'_>, is_upper: bool) -> Vec<u8>;

    /// Reads back what [`Kind::bound`] returned.
    fn bounding<'a>(&self, bound: &'a [u8]) -> Self::Item<'a>;
}

fn values<T: ArrowPrimitiveType>(array: &dyn Array) -> Option<ScalarBuffer<T::Native>> {
    array.as_primitive_opt::<T>().map(|array| array.values().clone())
}

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Both halves of a product, mixed.
#[inline(always)]
fn folded(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}

//! Integers and floating-point numbers.

use std::ops::Range;

use arrow_array::Array;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, TimeUnit};

use super::{Kind, MULTIPLIER, folded, values};

/// Numbers, from the lowest byte on.
pub trait Number: Copy + PartialOrd + arrow_buffer::ArrowNativeType {
    const WIDTH: usize;

    fn put(self, bytes: &mut Vec<u8>);
    fn read(bytes: &[u8]) -> Self;
    fn bits(self) -> u64;

    /// Its bits as they bound values: minus zero is below zero.
    fn as_bound(self, _is_upper: bool) -> Self {
        self
    }

    /// Other bits that readers take for the same number.
    fn alias(self) -> Option<Self> {
        None
    }
}

macro_rules! number {
    ($type:ty, $bits:expr $(, $of_floats:item)*) => {
        impl Number for $type {
            const WIDTH: usize = size_of::<$type>();

            #[inline(always)]
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or_else(Default::default, |chunk| Self::from_le_bytes(*chunk))
            }

            #[inline(always)]
            fn bits(self) -> u64 {
                $bits(self)
            }

            $($of_floats)*
        }
    };
}

number!(i32, |value: i32| u64::from(value.cast_unsigned()));
number!(i64, i64::cast_unsigned);
macro_rules! float {
    ($type:ty, $bits:expr) => {
        number!(
            $type,
            $bits,
            fn as_bound(self, is_upper: bool) -> Self {
                match self {
                    0.0 if is_upper => 0.0,
                    0.0 => -0.0,
                    _ => self,
                }
            },
            fn alias(self) -> Option<Self> {
                if self.is_nan() { Some(Self::NAN) } else { (self == 0.0).then(|| -self) }
            }
        );
    };
}

float!(f32, |value: f32| u64::from(value.to_bits()));
float!(f64, f64::to_bits);

/// Integers and floating-point numbers.
#[derive(Debug, Default)]
pub struct Numbers<T>(std::marker::PhantomData<T>);

impl<T: Number> Kind for Numbers<T>
where
    ScalarBuffer<T>: FromArray,
{
    type Column = ScalarBuffer<T>;
    type Item<'a> = T;

    fn column(&self, array: &dyn Array) -> Option<Self::Column> {
        ScalarBuffer::<T>::from_array(array)
    }

    #[inline(always)]
    fn width(&self) -> Option<usize> {
        Some(T::WIDTH)
    }

    #[inline(always)]
    fn item(&self, column: &Self::Column, at: usize) -> T {
        column[at]
    }

    fn size(&self, _column: &Self::Column, range: Range<usize>) -> usize {
        range.len() * T::WIDTH
    }

    #[inline(always)]
    fn put(&self, item: T, bytes: &mut Vec<u8>) {
        item.put(bytes);
    }

    fn put_all(&self, column: &Self::Column, range: Range<usize>, bytes: &mut Vec<u8>) {
        if cfg!(target_endian = "little") {
            bytes.extend_from_slice(&column.inner()[range.start * T::WIDTH..range.end * T::WIDTH]);
        } else {
            range.for_each(|at| column[at].put(bytes));
        }
    }

    #[inline(always)]
    fn read(&self, bytes: &[u8]) -> T {
        T::read(bytes)
    }

    #[inline(always)]
    fn hash(&self, item: T, seed: u64) -> u64 {
        folded(item.bits() ^ seed, MULTIPLIER)
    }

    #[inline(always)]
    fn is_same(&self, one: T, other: T) -> bool {
        one.bits() == other.bits()
    }

    fn alias(item: Self::Item<'_>) -> Option<Self::Item<'_>> {
        item.alias()
    }

    #[inline(always)]
    #[expect(clippy::eq_op, reason = "a NaN, and nothing else, is not equal to itself")]
    fn is_ordered(item: T) -> bool {
        item == item
    }

    #[inline(always)]
    fn is_less(one: T, other: T) -> bool {
        one < other
    }

    fn bound(&self, item: T, is_upper: bool) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(T::WIDTH);
        item.as_bound(is_upper).put(&mut bytes);
        bytes
    }

    fn bounding(&self, bound: &[u8]) -> T {
        T::read(bound)
    }
}

/// Values of an array, converted where Parquet has another unit or width.
pub trait FromArray: Sized {
    fn from_array(array: &dyn Array) -> Option<Self>;
}

impl FromArray for ScalarBuffer<i32> {
    fn from_array(array: &dyn Array) -> Option<Self> {
        match array.data_type() {
            DataType::Int8 => Some(values::<Int8Type>(array)?.iter().map(|value| i32::from(*value)).collect()),
            DataType::Int16 => Some(values::<Int16Type>(array)?.iter().map(|value| i32::from(*value)).collect()),
            DataType::Int32 => values::<Int32Type>(array),
            DataType::Date32 => values::<Date32Type>(array),
            DataType::Time32(TimeUnit::Millisecond) => values::<Time32MillisecondType>(array),
            _ => None,
        }
    }
}

impl FromArray for ScalarBuffer<i64> {
    fn from_array(array: &dyn Array) -> Option<Self> {
        match array.data_type() {
            DataType::Int64 => values::<Int64Type>(array),
            DataType::Time64(TimeUnit::Microsecond) => values::<Time64MicrosecondType>(array),
            // Parquet has no seconds. They lie in the years 1 to 9999, where nothing wraps; behind nulls anything may stand.
            DataType::Timestamp(TimeUnit::Second, _) => {
                Some(values::<TimestampSecondType>(array)?.iter().map(|seconds| seconds.wrapping_mul(1_000)).collect())
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => values::<TimestampMillisecondType>(array),
            DataType::Timestamp(TimeUnit::Microsecond, _) => values::<TimestampMicrosecondType>(array),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => values::<TimestampNanosecondType>(array),
            _ => None,
        }
    }
}

impl FromArray for ScalarBuffer<f32> {
    fn from_array(array: &dyn Array) -> Option<Self> {
        values::<Float32Type>(array)
    }
}

impl FromArray for ScalarBuffer<f64> {
    fn from_array(array: &dyn Array) -> Option<Self> {
        values::<Float64Type>(array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_bound_each_other_and_nan_is_not_ordered() {
        let kind = Numbers::<f64>::default();
        assert_eq!(kind.bound(0.0, false), (-0.0_f64).to_le_bytes());
        assert_eq!(kind.bound(-0.0, true), 0.0_f64.to_le_bytes());
        assert!(!Numbers::<f64>::is_ordered(f64::NAN) && Numbers::<f32>::is_ordered(f32::INFINITY));
    }
}

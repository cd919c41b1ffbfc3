//! The values of a column that is not made of others, as writers of rows take them.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, StringArray};
use arrow_schema::{DataType, TimeUnit};

pub enum Leaf<'a> {
    Bool(&'a BooleanArray),
    Int8(&'a [i8]),
    Int16(&'a [i16]),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    Float32(&'a [f32]),
    Float64(&'a [f64]),
    /// Unscaled numbers, and digits behind the point.
    Decimal(&'a [i128], usize),
    Date(&'a [i32]),
    TimeMilliseconds(&'a [i32]),
    TimeMicroseconds(&'a [i64]),
    /// Units since 1970.
    Timestamp(&'a [i64], TimeUnit),
    Text(&'a StringArray),
    Bytes(&'a BinaryArray),
}

impl<'a> Leaf<'a> {
    /// None: it is made of others, or of no type that rows have.
    pub fn of(column: &'a ArrayRef) -> Option<Self> {
        Some(match column.data_type() {
            DataType::Boolean => Self::Bool(column.as_boolean()),
            DataType::Int8 => Self::Int8(values::<Int8Type>(column)),
            DataType::Int16 => Self::Int16(values::<Int16Type>(column)),
            DataType::Int32 => Self::Int32(values::<Int32Type>(column)),
            DataType::Int64 => Self::Int64(values::<Int64Type>(column)),
            DataType::Float32 => Self::Float32(values::<Float32Type>(column)),
            DataType::Float64 => Self::Float64(values::<Float64Type>(column)),
            DataType::Decimal128(_, scale @ 0..) => {
                Self::Decimal(values::<Decimal128Type>(column), scale.unsigned_abs().into())
            }
            DataType::Date32 => Self::Date(values::<Date32Type>(column)),
            DataType::Time32(TimeUnit::Millisecond) => Self::TimeMilliseconds(values::<Time32MillisecondType>(column)),
            DataType::Time64(TimeUnit::Microsecond) => Self::TimeMicroseconds(values::<Time64MicrosecondType>(column)),
            DataType::Timestamp(unit, Some(zone)) if &**zone == "UTC" => {
                let units = match unit {
                    TimeUnit::Second => values::<TimestampSecondType>(column),
                    TimeUnit::Millisecond => values::<TimestampMillisecondType>(column),
                    TimeUnit::Microsecond => values::<TimestampMicrosecondType>(column),
                    TimeUnit::Nanosecond => values::<TimestampNanosecondType>(column),
                };
                Self::Timestamp(units, *unit)
            }
            DataType::Utf8 => Self::Text(column.as_string()),
            DataType::Binary => Self::Bytes(column.as_binary()),
            _ => return None,
        })
    }
}

fn values<T: ArrowPrimitiveType>(column: &ArrayRef) -> &[T::Native] {
    column.as_primitive::<T>().values()
}

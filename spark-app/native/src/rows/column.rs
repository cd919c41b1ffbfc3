//! Arrow columns being filled, which can be cut back: a bad row costs nothing to the rows before and after it.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{ArrayRef, BinaryArray, BooleanArray, PrimitiveArray, StringArray};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, TimeUnit};

use super::kind::Clock;
use super::nested::{ListColumn, MapColumn, StructColumn};
use super::number::Decimal;
use crate::columns::fitted;

/// Values of one field. One that is being appended may be half done; what it left behind, [`Column::truncate`] removes.
pub struct Column {
    pub data: Data,
    pub nullable: bool,
    length: usize,
    nulls: NullBufferBuilder,
}

/// What is filled, and how a value is read.
pub enum Data {
    Bool(BooleanBufferBuilder),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Decimal(Vec<i128>, Decimal),
    Date(Vec<i32>),
    TimeMilliseconds(Vec<i32>),
    TimeMicroseconds(Vec<i64>),
    Timestamp(Vec<i64>, Clock),
    String(Bytes),
    Json(Bytes),
    Base64(Bytes),
    Struct(StructColumn),
    List(ListColumn),
    Map(MapColumn),
}

/// What all kinds of data can do.
pub trait Filled {
    /// Appends what stands where a value is null.
    fn push_default(&mut self);

    /// Cuts back to this many values, if there are more, also half done ones.
    fn truncate(&mut self, length: usize);
}

impl Column {
    pub fn new(data: Data, nullable: bool) -> Self {
        Self { data, nullable, length: 0, nulls: NullBufferBuilder::new(0) }
    }

    /// Whole values, nulls among them.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.length
    }

    /// The data has one more value than before.
    #[inline(always)]
    pub fn pushed(&mut self) {
        self.length += 1;
        self.nulls.append_non_null();
    }

    /// Appends a null, if the field may be null.
    pub fn push_null(&mut self) -> bool {
        if self.nullable {
            self.data.filled().push_default();
            self.length += 1;
            self.nulls.append_null();
        }
        self.nullable
    }

    /// Appends what stands in a struct that is null as a whole.
    pub fn push_absent(&mut self) {
        if !self.push_null() {
            self.push_zero();
        }
    }

    /// Appends zero, the empty text or the like.
    pub fn push_zero(&mut self) {
        self.data.filled().push_default();
        self.pushed();
    }

    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
        self.nulls.truncate(length);
        self.data.filled().truncate(length);
    }

    /// The array of the type that the column was made for.
    pub fn finish(mut self, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
        let nulls = self.nulls.finish();
        match self.data {
            Data::Bool(mut bits) => Ok(Arc::new(BooleanArray::new(bits.finish(), nulls))),
            Data::Int8(values) => primitive::<Int8Type>(values, nulls, data_type),
            Data::Int16(values) => primitive::<Int16Type>(values, nulls, data_type),
            Data::Int32(values) => primitive::<Int32Type>(values, nulls, data_type),
            Data::Int64(values) => primitive::<Int64Type>(values, nulls, data_type),
            Data::Float32(values) => primitive::<Float32Type>(values, nulls, data_type),
            Data::Float64(values) => primitive::<Float64Type>(values, nulls, data_type),
            Data::Decimal(values, _) => primitive::<Decimal128Type>(values, nulls, data_type),
            Data::Date(values) => primitive::<Date32Type>(values, nulls, data_type),
            Data::TimeMilliseconds(values) => primitive::<Time32MillisecondType>(values, nulls, data_type),
            Data::TimeMicroseconds(values) => primitive::<Time64MicrosecondType>(values, nulls, data_type),
            Data::Timestamp(values, clock) => match clock.unit {
                TimeUnit::Second => primitive::<TimestampSecondType>(values, nulls, data_type),
                TimeUnit::Millisecond => primitive::<TimestampMillisecondType>(values, nulls, data_type),
                TimeUnit::Microsecond => primitive::<TimestampMicrosecondType>(values, nulls, data_type),
                TimeUnit::Nanosecond => primitive::<TimestampNanosecondType>(values, nulls, data_type),
            },
            Data::String(bytes) | Data::Json(bytes) => Ok(Arc::new(bytes.strings(nulls)?)),
            Data::Base64(bytes) => Ok(Arc::new(bytes.binary(nulls)?)),
            Data::Struct(column) => column.finish(nulls, data_type),
            Data::List(column) => column.finish(nulls, data_type),
            Data::Map(column) => column.finish(nulls, data_type),
        }
    }
}

impl Data {
    fn filled(&mut self) -> &mut dyn Filled {
        match self {
            Self::Bool(bits) => bits,
            Self::Int8(values) => values,
            Self::Int16(values) => values,
            Self::Int32(values) | Self::Date(values) | Self::TimeMilliseconds(values) => values,
            Self::Int64(values) | Self::TimeMicroseconds(values) | Self::Timestamp(values, _) => values,
            Self::Float32(values) => values,
            Self::Float64(values) => values,
            Self::Decimal(values, _) => values,
            Self::String(bytes) | Self::Json(bytes) | Self::Base64(bytes) => bytes,
            Self::Struct(column) => column,
            Self::List(column) => column,
            Self::Map(column) => column,
        }
    }
}

fn primitive<T: ArrowPrimitiveType>(
    values: Vec<T::Native>,
    nulls: Option<NullBuffer>,
    data_type: &DataType,
) -> Result<ArrayRef, ArrowError> {
    let array = PrimitiveArray::<T>::try_new(ScalarBuffer::from(fitted(values)), nulls)?;
    // Adds the zone of timestamps, the digits of decimals.
    Ok(Arc::new(array.with_data_type(data_type.clone())))
}

impl<T: Default + Clone> Filled for Vec<T> {
    fn push_default(&mut self) {
        self.push(T::default());
    }

    fn truncate(&mut self, length: usize) {
        Vec::truncate(self, length);
    }
}

impl Filled for BooleanBufferBuilder {
    fn push_default(&mut self) {
        self.append(false);
    }

    fn truncate(&mut self, length: usize) {
        BooleanBufferBuilder::truncate(self, length);
    }
}

/// Where each of a row of things ends. The input has 32-bit offsets, and no text is shorter than what it stands for, so
/// every end fits.
#[derive(Debug)]
pub struct Ends(Vec<i32>);

impl Ends {
    pub fn with_capacity(length: usize) -> Self {
        let mut ends = Vec::with_capacity(length + 1);
        ends.push(0);
        Self(ends)
    }

    #[inline]
    pub fn last(&self) -> usize {
        self.0.last().copied().unwrap_or_default() as usize
    }

    #[inline]
    pub fn push(&mut self, end: usize) {
        self.0.push(end as i32);
    }

    /// Where a thing begins and ends.
    pub fn range(&self, index: usize) -> std::ops::Range<usize> {
        self.0[index] as usize..self.0[index + 1] as usize
    }

    pub fn len(&self) -> usize {
        self.0.len() - 1
    }

    pub fn truncate(&mut self, length: usize) {
        self.0.truncate(length + 1);
    }

    pub fn finish(self) -> OffsetBuffer<i32> {
        OffsetBuffer::new(ScalarBuffer::from(fitted(self.0)))
    }
}

/// Strings of bytes end to end.
#[derive(Debug)]
pub struct Bytes {
    pub data: Vec<u8>,
    ends: Ends,
}

impl Bytes {
    pub fn with_capacity(length: usize) -> Self {
        Self { data: Vec::new(), ends: Ends::with_capacity(length) }
    }

    /// What was appended to `data` since the last call is a value.
    #[inline]
    pub fn end(&mut self) {
        self.ends.push(self.data.len());
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn value(&self, index: usize) -> &[u8] {
        &self.data[self.ends.range(index)]
    }

    /// Checks once more that all is UTF-8, at a fraction of the costs of reading it.
    pub fn strings(self, nulls: Option<NullBuffer>) -> Result<StringArray, ArrowError> {
        StringArray::try_new(self.ends.finish(), Buffer::from_vec(fitted(self.data)), nulls)
    }

    fn binary(self, nulls: Option<NullBuffer>) -> Result<BinaryArray, ArrowError> {
        BinaryArray::try_new(self.ends.finish(), Buffer::from_vec(fitted(self.data)), nulls)
    }
}

impl Filled for Bytes {
    fn push_default(&mut self) {
        self.end();
    }

    fn truncate(&mut self, length: usize) {
        self.ends.truncate(length);
        self.data.truncate(self.ends.last());
    }
}

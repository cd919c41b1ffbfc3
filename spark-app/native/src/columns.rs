//! Arrow buffers being filled, a column each.

use std::slice::IterMut;
use std::sync::{Arc, LazyLock};

use arrow_array::{ArrayRef, BinaryArray, Int64Array, ListArray, RecordBatch, StructArray};
use arrow_buffer::{Buffer, NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};

use crate::error::Reason;
use crate::records::{Headers, Record};

static HEADER_FIELDS: LazyLock<Fields> = LazyLock::new(|| {
    Fields::from(vec![Field::new("key", DataType::Binary, false), Field::new("value", DataType::Binary, true)])
});

static HEADER_ITEM: LazyLock<Arc<Field>> =
    LazyLock::new(|| Arc::new(Field::new("item", DataType::Struct(HEADER_FIELDS.clone()), false)));

static RECORDS: LazyLock<SchemaRef> = LazyLock::new(|| Arc::new(Schema::new(record_fields())));

static RECORDS_WITH_HEADERS: LazyLock<SchemaRef> = LazyLock::new(|| {
    let mut fields = record_fields();
    fields.push(Field::new("headers", DataType::List(HEADER_ITEM.clone()), false));
    Arc::new(Schema::new(fields))
});

/// The same as `logpersister.records.schema.RECORDS`; a test compares them.
fn record_fields() -> Vec<Field> {
    vec![
        Field::new("offset", DataType::Int64, false),
        Field::new("timestamp", DataType::Int64, false),
        Field::new("key", DataType::Binary, true),
        Field::new("value", DataType::Binary, true),
    ]
}

/// The records decoded so far.
///
/// Its caller keeps all bytes together below 2 GiB, so that every position fits Arrow's 32-bit offsets.
#[derive(Debug)]
pub struct Columns {
    offsets: Vec<i64>,
    timestamps: Vec<i64>,
    wants_keys: bool,
    /// None while all keys are null.
    keys: Option<BinaryColumn>,
    values: BinaryColumn,
    headers: Option<HeaderColumn>,
}

impl Columns {
    /// Without `keys`, the column of keys is all null.
    pub fn new(keys: bool, headers: bool) -> Self {
        Self {
            offsets: Vec::new(),
            timestamps: Vec::new(),
            wants_keys: keys,
            keys: None,
            values: BinaryColumn::default(),
            headers: headers.then(HeaderColumn::default),
        }
    }

    pub fn rows(&self) -> usize {
        self.offsets.len()
    }

    /// Makes room for `rows` more rows with together `bytes` bytes of values, and, when there is none, at once for
    /// `growth` times as many as there are then: the share of the response that is still to come.
    pub fn reserve(&mut self, rows: usize, bytes: usize, growth: f64) {
        reserve(&mut self.offsets, rows, growth);
        reserve(&mut self.timestamps, rows, growth);
        reserve(&mut self.values.ends, rows, growth);
        reserve(&mut self.values.data, bytes, growth);
        if let Some(keys) = &mut self.keys {
            reserve(&mut keys.ends, rows, growth);
        }
        if let Some(headers) = &mut self.headers {
            reserve(&mut headers.ends, rows, growth);
        }
    }

    /// Appends up to `most` rows, which `write` fills in; those that it does not, do not come to be.
    ///
    /// After an error the columns are of no use any more.
    pub fn append<E>(&mut self, most: usize, write: impl FnOnce(&mut Rows<'_>) -> Result<(), E>) -> Result<(), E> {
        let before = self.rows();
        // Zeros cost less than asking for room at each record.
        self.offsets.resize(before + most, 0);
        self.timestamps.resize(before + most, 0);
        self.values.ends.resize(1 + before + most, 0);
        let mut rows = Rows {
            offsets: self.offsets[before..].iter_mut(),
            timestamps: self.timestamps[before..].iter_mut(),
            value_ends: self.values.ends[1 + before..].iter_mut(),
            value_data: &mut self.values.data,
            value_nulls: &mut self.values.nulls,
            wants_keys: self.wants_keys,
            keys: &mut self.keys,
            headers: &mut self.headers,
            total: before + most,
        };
        write(&mut rows)?;
        let total = rows.number();
        self.offsets.truncate(total);
        self.timestamps.truncate(total);
        self.values.ends.truncate(1 + total);
        Ok(())
    }

    /// Hands the buffers over, without copying them.
    pub fn finish(self) -> Result<RecordBatch, ArrowError> {
        let rows = self.rows();
        let keys = self.keys.map_or_else(|| Ok(BinaryArray::new_null(rows)), BinaryColumn::finish)?;
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(fitted(self.offsets))),
            Arc::new(Int64Array::from(fitted(self.timestamps))),
            Arc::new(keys),
            Arc::new(self.values.finish()?),
        ];
        let schema = match self.headers {
            None => RECORDS.clone(),
            Some(headers) => {
                columns.push(Arc::new(headers.finish()?));
                RECORDS_WITH_HEADERS.clone()
            }
        };
        RecordBatch::try_new(schema, columns)
    }
}

/// The rows being appended to [`Columns`].
pub struct Rows<'a> {
    offsets: IterMut<'a, i64>,
    timestamps: IterMut<'a, i64>,
    value_ends: IterMut<'a, i32>,
    value_data: &'a mut Vec<u8>,
    value_nulls: &'a mut Nulls,
    wants_keys: bool,
    keys: &'a mut Option<BinaryColumn>,
    headers: &'a mut Option<HeaderColumn>,
    /// Rows of the columns when all of these are written.
    total: usize,
}

impl Rows<'_> {
    /// Rows of the columns so far.
    #[inline(always)]
    fn number(&self) -> usize {
        self.total - self.offsets.len()
    }

    /// Writes the next row; fails when its headers are malformed, or there are more rows than were announced.
    #[inline(always)]
    pub fn push(&mut self, offset: i64, timestamp: i64, record: Record<'_>) -> Result<(), Reason> {
        let row = self.number();
        if self.wants_keys && (record.key.is_some() || self.keys.is_some()) {
            self.keys.get_or_insert_with(|| BinaryColumn::nulls(row)).push(record.key);
        }
        match record.value {
            Some(value) => {
                self.value_data.extend_from_slice(value);
                self.value_nulls.push_value();
            }
            None => self.value_nulls.push_null(row),
        }
        let (Some(offset_slot), Some(timestamp_slot), Some(end_slot)) =
            (self.offsets.next(), self.timestamps.next(), self.value_ends.next())
        else {
            return Err(Reason::new("more records than announced"));
        };
        *offset_slot = offset;
        *timestamp_slot = timestamp;
        *end_slot = self.value_data.len() as i32;
        match self.headers {
            None => record.headers.check(),
            Some(headers) => headers.push(record.headers),
        }
    }
}

fn reserve<T>(vector: &mut Vec<T>, more: usize, growth: f64) {
    if vector.capacity() - vector.len() < more {
        let expected = ((vector.len() + more) as f64 * growth) as usize;
        vector.reserve_exact(more.max(expected.saturating_sub(vector.len())));
    }
}

/// Gives back memory that was reserved and not needed. The allocator shrinks in place.
pub fn fitted<T>(mut vector: Vec<T>) -> Vec<T> {
    if vector.capacity() - vector.len() > vector.len() / 8 {
        vector.shrink_to_fit();
    }
    vector
}

/// Which values are null; costs next to nothing while none is.
#[derive(Debug, Default)]
struct Nulls(Option<NullBufferBuilder>);

impl Nulls {
    #[inline(always)]
    fn push_value(&mut self) {
        if let Some(builder) = &mut self.0 {
            builder.append_non_null();
        }
    }

    /// `before`: how many values precede this null.
    #[inline]
    fn push_null(&mut self, before: usize) {
        let builder = self.0.get_or_insert_with(|| {
            let mut builder = NullBufferBuilder::new(before + 1);
            builder.append_n_non_nulls(before);
            builder
        });
        builder.append_null();
    }

    fn finish(self) -> Option<NullBuffer> {
        self.0.and_then(|mut builder| builder.finish())
    }
}

/// Bytes end to end, and where each value ends.
#[derive(Debug)]
struct BinaryColumn {
    data: Vec<u8>,
    ends: Vec<i32>,
    nulls: Nulls,
}

impl Default for BinaryColumn {
    fn default() -> Self {
        Self { data: Vec::new(), ends: vec![0], nulls: Nulls::default() }
    }
}

impl BinaryColumn {
    fn nulls(number: usize) -> Self {
        let mut builder = NullBufferBuilder::new(number);
        builder.append_n_nulls(number);
        Self { data: Vec::new(), ends: vec![0; 1 + number], nulls: Nulls((number > 0).then_some(builder)) }
    }

    #[inline(always)]
    fn push(&mut self, value: Option<&[u8]>) {
        match value {
            Some(bytes) => {
                self.data.extend_from_slice(bytes);
                self.nulls.push_value();
            }
            None => self.nulls.push_null(self.ends.len() - 1),
        }
        self.ends.push(self.data.len() as i32);
    }

    fn finish(self) -> Result<BinaryArray, ArrowError> {
        BinaryArray::try_new(offset_buffer(self.ends), Buffer::from_vec(fitted(self.data)), self.nulls.finish())
    }
}

fn offset_buffer(ends: Vec<i32>) -> OffsetBuffer<i32> {
    OffsetBuffer::new(ScalarBuffer::from(fitted(ends)))
}

/// A list of (key, value) per record.
#[derive(Debug)]
struct HeaderColumn {
    keys: BinaryColumn,
    values: BinaryColumn,
    ends: Vec<i32>,
}

impl Default for HeaderColumn {
    fn default() -> Self {
        Self { keys: BinaryColumn::default(), values: BinaryColumn::default(), ends: vec![0] }
    }
}

impl HeaderColumn {
    fn push(&mut self, headers: Headers<'_>) -> Result<(), Reason> {
        headers.read(|key, value| {
            self.keys.push(Some(key));
            self.values.push(value);
        })?;
        self.ends.push(self.keys.ends.len() as i32 - 1);
        Ok(())
    }

    fn finish(self) -> Result<ListArray, ArrowError> {
        let arrays: Vec<ArrayRef> = vec![Arc::new(self.keys.finish()?), Arc::new(self.values.finish()?)];
        let items = StructArray::try_new(HEADER_FIELDS.clone(), arrays, None::<NullBuffer>)?;
        ListArray::try_new(HEADER_ITEM.clone(), offset_buffer(self.ends), Arc::new(items), None)
    }
}

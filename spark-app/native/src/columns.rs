//! Arrow buffers being filled, a column each.

use std::sync::{Arc, LazyLock};

use arrow_array::{ArrayRef, BinaryArray, Int64Array, ListArray, RecordBatch, StructArray};
use arrow_buffer::{Buffer, NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};

use crate::error::Reason;
use crate::records::Record;

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
            keys: keys.then(BinaryColumn::default),
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

    #[inline(always)]
    pub fn push(&mut self, offset: i64, timestamp: i64, record: &Record<'_>) -> Result<(), Reason> {
        self.offsets.push(offset);
        self.timestamps.push(timestamp);
        if let Some(keys) = &mut self.keys {
            keys.push(record.key);
        }
        self.values.push(record.value);
        match &mut self.headers {
            None => record.read_headers(|_, _| ()),
            Some(headers) => headers.push(record),
        }
    }

    /// Hands the buffers over, without copying them.
    pub fn finish(self) -> Result<RecordBatch, ArrowError> {
        let rows = self.rows();
        let keys = match self.keys {
            Some(keys) => keys.finish()?,
            None => BinaryArray::new_null(rows),
        };
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

fn reserve<T>(vector: &mut Vec<T>, more: usize, growth: f64) {
    if vector.capacity() - vector.len() < more {
        let expected = ((vector.len() + more) as f64 * growth) as usize;
        vector.reserve_exact(more.max(expected.saturating_sub(vector.len())));
    }
}

/// Gives back memory that was reserved and not needed. The allocator shrinks in place.
fn fitted<T>(mut vector: Vec<T>) -> Vec<T> {
    if vector.capacity() - vector.len() > vector.len() / 8 {
        vector.shrink_to_fit();
    }
    vector
}

/// Bytes end to end, and where each value ends.
#[derive(Debug)]
struct BinaryColumn {
    data: Vec<u8>,
    ends: Vec<i32>,
    nulls: NullBufferBuilder,
}

impl Default for BinaryColumn {
    fn default() -> Self {
        Self { data: Vec::new(), ends: vec![0], nulls: NullBufferBuilder::new(0) }
    }
}

impl BinaryColumn {
    #[inline(always)]
    fn push(&mut self, value: Option<&[u8]>) {
        match value {
            Some(bytes) => {
                self.data.extend_from_slice(bytes);
                self.nulls.append_non_null();
            }
            None => self.nulls.append_null(),
        }
        self.ends.push(self.data.len() as i32);
    }

    fn finish(mut self) -> Result<BinaryArray, ArrowError> {
        let nulls = self.nulls.finish();
        BinaryArray::try_new(offset_buffer(self.ends), Buffer::from_vec(fitted(self.data)), nulls)
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
    fn push(&mut self, record: &Record<'_>) -> Result<(), Reason> {
        record.read_headers(|key, value| {
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

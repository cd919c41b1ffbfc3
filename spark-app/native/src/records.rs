//! The records inside a batch of magic 2 (`DefaultRecord.java`):
//! length, attributes (one byte, unused), timestamp delta, offset delta, key, value, headers; integers are varints.

use std::ops::Range;

use crate::batch::BatchHeader;
use crate::columns::{Columns, Rows};
use crate::cursor::Cursor;
use crate::error::{Reason, bail};

/// The fewest bytes of a record: one for each of its seven fields.
pub const LEAST_RECORD_BYTES: usize = 7;

/// One record, still in the bytes of its batch.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    pub timestamp_delta: i64,
    pub offset_delta: i32,
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    pub headers: Headers<'a>,
}

impl<'a> Record<'a> {
    /// Takes one record off the cursor. The headers are not yet looked at.
    #[inline(always)]
    pub fn read(cursor: &mut Cursor<'a>) -> Result<Self, Reason> {
        let Some(body) = read_body(cursor) else { return Err(bad_length(cursor)) };
        let Some(record) = Self::read_fields(body) else { return Err(bad_fields()) };
        Ok(record)
    }

    #[inline(always)]
    fn read_fields(body: &'a [u8]) -> Option<Self> {
        let mut fields = Cursor::new(body);
        fields.byte()?;
        let timestamp_delta = fields.varlong()?;
        let offset_delta = fields.varint()?;
        let key = fields.nullable_bytes()?;
        let value = fields.nullable_bytes()?;
        let headers = Headers { count: fields.varint()?, bytes: fields.rest() };
        Some(Self { timestamp_delta, offset_delta, key, value, headers })
    }
}

/// The headers of a record, not yet looked at.
#[derive(Debug, Clone, Copy)]
pub struct Headers<'a> {
    count: i32,
    bytes: &'a [u8],
}

impl<'a> Headers<'a> {
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.count == 0 && self.bytes.is_empty()
    }

    /// Calls `each` with the headers, in order; fails unless they fill the record to its last byte.
    pub fn read(self, mut each: impl FnMut(&'a [u8], Option<&'a [u8]>)) -> Result<(), Reason> {
        let mut cursor = Cursor::new(self.bytes);
        if self.count < 0 || self.count as usize > self.bytes.len() {
            bail!("its number of headers is {}, with {} bytes for them", self.count, self.bytes.len());
        }
        for _ in 0..self.count {
            match (cursor.nullable_bytes(), cursor.nullable_bytes()) {
                (Some(Some(key)), Some(value)) => each(key, value),
                (Some(None), _) => bail!("the key of a header is null"),
                _ => bail!("a header reaches beyond its record"),
            }
        }
        if !cursor.is_empty() {
            bail!("{} bytes follow its last header", cursor.rest().len());
        }
        Ok(())
    }

    #[inline(always)]
    pub fn check(self) -> Result<(), Reason> {
        if self.is_empty() { Ok(()) } else { self.read(|_, _| ()) }
    }
}

#[inline(always)]
fn read_body<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let length = usize::try_from(cursor.varint()?).ok()?;
    cursor.take(length)
}

#[cold]
fn bad_length(cursor: &Cursor<'_>) -> Reason {
    Reason::new(format!("its length is malformed or more than the {} bytes left", cursor.rest().len()))
}

#[cold]
fn bad_fields() -> Reason {
    Reason::new("a field reaches beyond its record, or a varint is too long")
}

/// Appends the records of one batch with offsets in `wanted` to `columns`.
///
/// `records` are the decompressed records of the batch. On an error, `columns` are of no use any more.
pub fn append(header: &BatchHeader, records: &[u8], wanted: &Range<i64>, columns: &mut Columns) -> Result<(), Reason> {
    if header.records as usize > records.len() / LEAST_RECORD_BYTES {
        bail!("{} records do not fit into {} bytes", header.records, records.len());
    }
    columns.append(header.records as usize, |rows| {
        if wanted.start <= header.base_offset && header.last_offset < wanted.end {
            append_where(header, records, rows, |_| true)
        } else {
            append_where(header, records, rows, |offset| wanted.contains(&offset))
        }
    })
}

#[inline(always)]
fn append_where(
    header: &BatchHeader,
    records: &[u8],
    rows: &mut Rows<'_>,
    is_wanted: impl Fn(i64) -> bool,
) -> Result<(), Reason> {
    let append_time = header.is_log_append_time().then_some(header.max_timestamp);
    let mut cursor = Cursor::new(records);
    let mut previous_delta = -1;
    for index in 0..header.records {
        let record = match Record::read(&mut cursor) {
            Ok(record) => record,
            Err(reason) => return Err(in_record(index, header, &reason)),
        };
        if record.offset_delta <= previous_delta || record.offset_delta > header.last_offset_delta {
            return Err(bad_delta(index, header, record.offset_delta, previous_delta));
        }
        previous_delta = record.offset_delta;
        let offset = header.base_offset + i64::from(record.offset_delta);
        let checked = if is_wanted(offset) {
            // As in Java, a sum beyond 64 bits wraps: a producer's timestamps are what it says they are.
            let timestamp = append_time.unwrap_or(header.base_timestamp.wrapping_add(record.timestamp_delta));
            rows.push(offset, timestamp, record)
        } else {
            record.headers.check()
        };
        if let Err(reason) = checked {
            return Err(in_record(index, header, &reason));
        }
    }
    if !cursor.is_empty() {
        bail!("{} bytes follow the last of {} records", cursor.rest().len(), header.records);
    }
    Ok(())
}

#[cold]
fn in_record(index: u32, header: &BatchHeader, reason: &Reason) -> Reason {
    Reason::new(format!("record {index} of {}: {reason}", header.records))
}

#[cold]
fn bad_delta(index: u32, header: &BatchHeader, delta: i32, previous: i32) -> Reason {
    let text = format!("offset delta {delta} follows {previous} in a batch whose last is {}", header.last_offset_delta);
    in_record(index, header, &Reason::new(text))
}

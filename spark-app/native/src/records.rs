//! The records inside a batch of magic 2 (`DefaultRecord.java`):
//! length, attributes (one byte, unused), timestamp delta, offset delta, key, value, headers; integers are varints.

use std::ops::Range;

use crate::batch::BatchHeader;
use crate::columns::Columns;
use crate::cursor::Cursor;
use crate::error::{Reason, bail};

/// The fewest bytes of a record: one for each of its seven fields.
pub const LEAST_RECORD_BYTES: usize = 7;

/// One record, still in the bytes of its batch.
#[derive(Debug)]
pub struct Record<'a> {
    pub timestamp_delta: i64,
    pub offset_delta: i32,
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    /// Number of headers, and their bytes.
    pub headers: (i32, &'a [u8]),
}

impl<'a> Record<'a> {
    /// Takes one record off the cursor. The headers are not yet looked at.
    #[inline(always)]
    pub fn read(cursor: &mut Cursor<'a>) -> Result<Self, Reason> {
        let Some(body) = read_body(cursor) else { return Err(bad_length(cursor)) };
        Self::read_fields(body).ok_or_else(|| Reason::new("a field reaches beyond its record, or a varint is too long"))
    }

    #[inline(always)]
    fn read_fields(body: &'a [u8]) -> Option<Self> {
        let mut fields = Cursor::new(body);
        fields.byte()?;
        let timestamp_delta = fields.varlong()?;
        let offset_delta = fields.varint()?;
        let key = fields.nullable_bytes()?;
        let value = fields.nullable_bytes()?;
        let header_count = fields.varint()?;
        Some(Self { timestamp_delta, offset_delta, key, value, headers: (header_count, fields.rest()) })
    }

    /// Calls `each` with the headers, in order; fails unless they fill the record to its last byte.
    #[inline(always)]
    pub fn read_headers(&self, mut each: impl FnMut(&'a [u8], Option<&'a [u8]>)) -> Result<(), Reason> {
        let (count, bytes) = self.headers;
        if count == 0 && bytes.is_empty() {
            return Ok(());
        }
        let mut cursor = Cursor::new(bytes);
        if count < 0 || count as usize > bytes.len() {
            bail!("its number of headers is {count}, with {} bytes for them", bytes.len());
        }
        for _ in 0..count {
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

/// Appends the records of one batch with offsets in `wanted` to `columns`.
///
/// `records` are the decompressed records of the batch. On an error, `columns` may hold some of them.
pub fn append(header: &BatchHeader, records: &[u8], wanted: &Range<i64>, columns: &mut Columns) -> Result<(), Reason> {
    if header.records as usize > records.len() / LEAST_RECORD_BYTES {
        bail!("{} records do not fit into {} bytes", header.records, records.len());
    }
    if wanted.start <= header.base_offset && header.last_offset < wanted.end {
        append_where(header, records, columns, |_| true)
    } else {
        append_where(header, records, columns, |offset| wanted.contains(&offset))
    }
}

#[inline(always)]
fn append_where(
    header: &BatchHeader,
    records: &[u8],
    columns: &mut Columns,
    is_wanted: impl Fn(i64) -> bool,
) -> Result<(), Reason> {
    let append_time = header.is_log_append_time().then_some(header.max_timestamp);
    let mut cursor = Cursor::new(records);
    let mut previous_delta = -1;
    for index in 0..header.records {
        let in_record = |reason: Reason| Reason::new(format!("record {index} of {}: {reason}", header.records));
        let record = Record::read(&mut cursor).map_err(in_record)?;
        if record.offset_delta <= previous_delta || record.offset_delta > header.last_offset_delta {
            bail!(
                "record {index} of {}: offset delta {} follows {previous_delta} in a batch whose last is {}",
                header.records,
                record.offset_delta,
                header.last_offset_delta
            );
        }
        previous_delta = record.offset_delta;
        let offset = header.base_offset + i64::from(record.offset_delta);
        if is_wanted(offset) {
            // As in Java, a sum beyond 64 bits wraps: a producer's timestamps are what it says they are.
            let timestamp = append_time.unwrap_or_else(|| header.base_timestamp.wrapping_add(record.timestamp_delta));
            columns.push(offset, timestamp, &record).map_err(in_record)?;
        } else {
            record.read_headers(|_, _| ()).map_err(in_record)?;
        }
    }
    if !cursor.is_empty() {
        bail!("{} bytes follow the last of {} records", cursor.rest().len(), header.records);
    }
    Ok(())
}

//! From the records of a batch to rows of columns.

use std::ops::Range;

use crate::batch::BatchHeader;
use crate::columns::{Columns, Rows};
use crate::cursor::Cursor;
use crate::error::{Reason, bail};
use crate::records::{LEAST_RECORD_BYTES, Record};

/// Appends the records of one batch with offsets in `wanted` to `columns`.
///
/// `records` are the decompressed records of the batch. On an error, `columns` are of no use any more.
pub fn append_records(
    header: &BatchHeader,
    records: &[u8],
    wanted: &Range<i64>,
    columns: &mut Columns,
) -> Result<(), Reason> {
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

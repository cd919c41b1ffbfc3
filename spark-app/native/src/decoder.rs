//! The records of one partition of a fetch response, as columns.

use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use crate::append::append_records;
use crate::columns::Columns;
use crate::error::{CorruptBatch, Reason};
use crate::records::LEAST_RECORD_BYTES;
use crate::transactions::Aborted;
use crate::walk::{Found, Walk};

/// What to decode.
#[derive(Debug, Clone)]
pub struct Request {
    /// Offsets of the rows to return.
    pub wanted: Range<i64>,
    /// The aborted transactions of the response; empty for `read_uncommitted`.
    pub aborted: Vec<Aborted>,
    pub keys: bool,
    pub headers: bool,
    /// Decoding stops between two batches once they came, decompressed, to so many bytes.
    pub max_bytes: usize,
    /// A single batch that decompresses to more is refused.
    pub max_batch_bytes: usize,
}

impl Request {
    /// Positions in Arrow's binary columns are 32-bit, so all that one call may decode must stay below 2 GiB.
    pub fn check(&self) -> Result<(), String> {
        let Range { start, end } = self.wanted;
        if start < 0 || start >= end {
            return Err(format!("start {start}, end {end}: expected 0 <= start < end"));
        }
        if self.max_bytes.saturating_add(self.max_batch_bytes) > i32::MAX as usize {
            let (sum, most) = (self.max_bytes.saturating_add(self.max_batch_bytes), i32::MAX);
            return Err(format!("max_bytes and max_batch_bytes come to {sum}; together at most {most} is possible"));
        }
        Ok(())
    }
}

/// Batches of magic 0 or 1, one after the other, which are left to the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Legacy {
    /// Their records belong before this row of the result.
    pub row: usize,
    /// Where they stand in the data.
    pub bytes: Range<usize>,
}

/// What was decoded.
#[derive(Debug)]
pub struct Run {
    pub batch: RecordBatch,
    /// The first offset not yet seen; at least the first one wanted.
    pub next_offset: i64,
    /// Whole batches looked at.
    pub record_batches: usize,
    /// Bytes of those.
    pub bytes_used: usize,
    /// Size of the batch in which the data ended, 0 when it does not even tell that.
    pub cut_off_bytes: Option<usize>,
    pub legacy: Vec<Legacy>,
}

/// Decodes the run of batches in `data`, of which the first may begin before the wanted offsets and the last may be cut
/// off. Stops at the first batch that begins behind the wanted offsets.
pub fn decode(data: &[u8], request: Request) -> Result<Run, CorruptBatch> {
    let Request { wanted, aborted, keys, headers, max_bytes, max_batch_bytes } = request;
    let mut walk = Walk::new(data, wanted.clone(), aborted, max_batch_bytes);
    let mut columns = Columns::new(keys, headers);
    let mut legacy = Vec::new();
    let mut decoded_bytes = 0;
    while decoded_bytes < max_bytes
        && let Some(Found { at, batch }) = walk.advance()?
    {
        let Some((header, compressed)) = batch else {
            decoded_bytes += at.len();
            leave(&mut legacy, columns.rows(), at);
            continue;
        };
        let corrupt = |reason| CorruptBatch { offset: header.base_offset, reason };
        let records = walk.records(&header, compressed).map_err(corrupt)?;
        decoded_bytes += records.len();
        if header.records as usize <= records.len() / LEAST_RECORD_BYTES {
            // The rest of the response is expected to be like what was seen of it.
            let growth = data.len() as f64 / at.end as f64;
            let most = max_bytes as f64 / decoded_bytes.max(1) as f64;
            columns.reserve(header.records as usize, records.len(), growth.min(most).max(1.0));
        }
        append_records(&header, records, &wanted, &mut columns).map_err(corrupt)?;
    }
    let impossible = |error: ArrowError| CorruptBatch { offset: -1, reason: Reason::new(error.to_string()) };
    Ok(Run {
        batch: columns.finish().map_err(impossible)?,
        next_offset: walk.next_offset,
        record_batches: walk.record_batches,
        bytes_used: walk.position,
        cut_off_bytes: walk.cut_off_bytes,
        legacy,
    })
}

/// Notes a batch of magic 0 or 1 before a row, together with its neighbour.
fn leave(legacy: &mut Vec<Legacy>, row: usize, at: Range<usize>) {
    match legacy.last_mut() {
        Some(last) if last.row == row && last.bytes.end == at.start => last.bytes.end = at.end,
        _ => legacy.push(Legacy { row, bytes: at }),
    }
}

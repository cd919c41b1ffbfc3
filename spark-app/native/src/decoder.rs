//! The records of one partition of a fetch response, as columns.

use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use crate::append::append_records;
use crate::batch::{BatchHeader, Frame};
use crate::columns::Columns;
use crate::compression::Decompressor;
use crate::error::{CorruptBatch, Reason, bail};
use crate::records::LEAST_RECORD_BYTES;
use crate::transactions::{Aborted, AbortedTransactions};

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
    let mut decoder = Decoder::new(data, request);
    while decoder.step()? {}
    decoder.finish()
}

struct Decoder<'a> {
    data: &'a [u8],
    wanted: Range<i64>,
    max_bytes: usize,
    max_batch_bytes: usize,
    transactions: AbortedTransactions,
    decompressor: Decompressor,
    columns: Columns,
    legacy: Vec<Legacy>,
    record_batches: usize,
    position: usize,
    decoded_bytes: usize,
    next_offset: i64,
    /// The first offset that the next batch may hold.
    log_position: i64,
    cut_off_bytes: Option<usize>,
}

impl<'a> Decoder<'a> {
    fn new(data: &'a [u8], request: Request) -> Self {
        Self {
            data,
            max_bytes: request.max_bytes,
            max_batch_bytes: request.max_batch_bytes,
            transactions: AbortedTransactions::new(request.aborted),
            decompressor: Decompressor::default(),
            columns: Columns::new(request.keys, request.headers),
            legacy: Vec::new(),
            record_batches: 0,
            position: 0,
            decoded_bytes: 0,
            next_offset: request.wanted.start,
            log_position: 0,
            cut_off_bytes: None,
            wanted: request.wanted,
        }
    }

    /// Takes one batch; returns whether another one is to be taken.
    fn step(&mut self) -> Result<bool, CorruptBatch> {
        let rest = &self.data[self.position..];
        if rest.is_empty() || self.next_offset >= self.wanted.end || self.decoded_bytes >= self.max_bytes {
            return Ok(false);
        }
        let frame = Frame::read(rest).map_err(|(offset, reason)| CorruptBatch { offset, reason })?;
        let base_offset = match frame {
            Frame::Whole { magic: 2, offset, .. } => Some(offset),
            Frame::Whole { .. } => None,
            Frame::CutOff { base_offset, .. } => base_offset,
        };
        if let Some(base_offset) = base_offset.filter(|base_offset| *base_offset >= self.wanted.end) {
            // Nothing stands between the batch before and this one.
            self.next_offset = base_offset;
            return Ok(false);
        }
        match frame {
            Frame::CutOff { bytes, .. } => {
                self.cut_off_bytes = Some(bytes);
                Ok(false)
            }
            Frame::Whole { magic, offset, bytes } => {
                let batch = &rest[..bytes];
                let taken = if magic == 2 { self.take_batch(batch) } else { self.leave_legacy(offset, bytes) };
                taken.map_err(|reason| CorruptBatch { offset, reason })?;
                self.record_batches += 1;
                self.position += bytes;
                Ok(true)
            }
        }
    }

    fn take_batch(&mut self, batch: &[u8]) -> Result<(), Reason> {
        let (header, compressed) = BatchHeader::read(batch)?;
        self.pass(header.base_offset, header.last_offset)?;
        let codec = header.codec()?;
        self.transactions.reach(&header);
        if header.is_control() {
            if self.transactions.is_open(&header) {
                let records = self.decompressor.decompress(codec, compressed, self.max_batch_bytes)?;
                self.transactions.pass_marker(&header, records)?;
            }
            return Ok(());
        }
        if self.transactions.is_aborted(&header) || header.last_offset < self.wanted.start {
            return Ok(());
        }
        let records = self.decompressor.decompress(codec, compressed, self.max_batch_bytes)?;
        self.decoded_bytes += records.len();
        if header.records as usize <= records.len() / LEAST_RECORD_BYTES {
            // The rest of the response is expected to be like what was seen of it.
            let growth = self.data.len() as f64 / (self.position + batch.len()) as f64;
            let most = self.max_bytes as f64 / self.decoded_bytes.max(1) as f64;
            self.columns.reserve(header.records as usize, records.len(), growth.min(most).max(1.0));
        }
        append_records(&header, records, &self.wanted, &mut self.columns)
    }

    fn leave_legacy(&mut self, last_offset: i64, bytes: usize) -> Result<(), Reason> {
        if last_offset == i64::MAX {
            bail!("its last offset is beyond 64 bits");
        }
        self.pass(last_offset, last_offset)?;
        self.decoded_bytes += bytes;
        if last_offset < self.wanted.start {
            return Ok(());
        }
        let row = self.columns.rows();
        let end = self.position + bytes;
        match self.legacy.last_mut() {
            Some(last) if last.row == row && last.bytes.end == self.position => last.bytes.end = end,
            _ => self.legacy.push(Legacy { row, bytes: self.position..end }),
        }
        Ok(())
    }

    fn pass(&mut self, base_offset: i64, last_offset: i64) -> Result<(), Reason> {
        if base_offset < self.log_position {
            bail!("it follows a batch that ended at offset {}", self.log_position - 1);
        }
        self.log_position = last_offset + 1;
        self.next_offset = self.next_offset.max(self.log_position);
        Ok(())
    }

    fn finish(self) -> Result<Run, CorruptBatch> {
        let impossible = |error: ArrowError| CorruptBatch { offset: -1, reason: Reason::new(error.to_string()) };
        Ok(Run {
            batch: self.columns.finish().map_err(impossible)?,
            next_offset: self.next_offset,
            record_batches: self.record_batches,
            bytes_used: self.position,
            cut_off_bytes: self.cut_off_bytes,
            legacy: self.legacy,
        })
    }
}

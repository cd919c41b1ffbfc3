//! The record batches of one partition of a fetch response, one after the other: those that concern the wanted offsets.

use std::ops::Range;

use crate::batch::{BatchHeader, Frame};
use crate::compression::Decompressor;
use crate::error::{CorruptBatch, Reason, bail};
use crate::transactions::{Aborted, AbortedTransactions};

/// A batch with records that may be wanted.
pub struct Found<'a> {
    /// Where it stands in the data.
    pub at: Range<usize>,
    /// Its header and its compressed records; none with magic 0 or 1.
    pub batch: Option<(BatchHeader, &'a [u8])>,
}

/// Goes over a run of batches, of which the first may begin before the wanted offsets and the last may be cut off. Checks each
/// batch, and passes over control batches and those of aborted transactions.
pub struct Walk<'a> {
    data: &'a [u8],
    wanted: Range<i64>,
    max_batch_bytes: usize,
    transactions: AbortedTransactions,
    decompressor: Decompressor,
    /// Whole batches looked at.
    pub record_batches: usize,
    /// Bytes of those.
    pub position: usize,
    /// The first offset not yet seen; at least the first one wanted.
    pub next_offset: i64,
    /// The first offset that the next batch may hold.
    log_position: i64,
    /// Size of the batch in which the data ended, 0 when it does not even tell that.
    pub cut_off_bytes: Option<usize>,
}

impl<'a> Walk<'a> {
    pub fn new(data: &'a [u8], wanted: Range<i64>, aborted: Vec<Aborted>, max_batch_bytes: usize) -> Self {
        Self {
            data,
            max_batch_bytes,
            transactions: AbortedTransactions::new(aborted),
            decompressor: Decompressor::default(),
            record_batches: 0,
            position: 0,
            next_offset: wanted.start,
            log_position: 0,
            cut_off_bytes: None,
            wanted,
        }
    }

    /// Returns the next batch; none at the end of the data, or before a batch behind the wanted offsets.
    pub fn advance(&mut self) -> Result<Option<Found<'a>>, CorruptBatch> {
        loop {
            let rest = &self.data[self.position..];
            if rest.is_empty() || self.next_offset >= self.wanted.end {
                return Ok(None);
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
                return Ok(None);
            }
            let (magic, offset, bytes) = match frame {
                Frame::Whole { magic, offset, bytes } => (magic, offset, bytes),
                Frame::CutOff { bytes, .. } => {
                    self.cut_off_bytes = Some(bytes);
                    return Ok(None);
                }
            };
            let is_legacy = magic != 2;
            let taken = if is_legacy { self.pass_legacy(offset) } else { self.pass_batch(&rest[..bytes]) };
            let batch = taken.map_err(|reason| CorruptBatch { offset, reason })?;
            let at = self.position..self.position + bytes;
            self.record_batches += 1;
            self.position += bytes;
            if batch.is_some() || (is_legacy && offset >= self.wanted.start) {
                return Ok(Some(Found { at, batch }));
            }
        }
    }

    /// Returns the decompressed records of a batch.
    pub fn records(&mut self, header: &BatchHeader, compressed: &'a [u8]) -> Result<&[u8], Reason> {
        self.decompressor.decompress(header.codec()?, compressed, self.max_batch_bytes)
    }

    fn pass_batch(&mut self, batch: &'a [u8]) -> Result<Option<(BatchHeader, &'a [u8])>, Reason> {
        let (header, compressed) = BatchHeader::read(batch)?;
        self.pass(header.base_offset, header.last_offset)?;
        header.codec()?;
        self.transactions.reach(&header);
        if header.is_control() {
            if self.transactions.is_open(&header) {
                let records = self.decompressor.decompress(header.codec()?, compressed, self.max_batch_bytes)?;
                self.transactions.pass_marker(&header, records)?;
            }
            return Ok(None);
        }
        let is_wanted = !self.transactions.is_aborted(&header) && header.last_offset >= self.wanted.start;
        Ok(is_wanted.then_some((header, compressed)))
    }

    fn pass_legacy(&mut self, last_offset: i64) -> Result<Option<(BatchHeader, &'a [u8])>, Reason> {
        if last_offset == i64::MAX {
            bail!("its last offset is beyond 64 bits");
        }
        self.pass(last_offset, last_offset)?;
        Ok(None)
    }

    fn pass(&mut self, base_offset: i64, last_offset: i64) -> Result<(), Reason> {
        if base_offset < self.log_position {
            bail!("it follows a batch that ended at offset {}", self.log_position - 1);
        }
        self.log_position = last_offset + 1;
        self.next_offset = self.next_offset.max(self.log_position);
        Ok(())
    }
}

//! The headers of record batches.
//!
//! Layout, from Kafka's `DefaultRecordBatch.java` (magic 2, all integers big-endian):
//!
//! | at | field | | at | field |
//! | --- | --- | --- | --- | --- |
//! | 0 | base offset, i64 | | 27 | base timestamp, i64 |
//! | 8 | length of what follows, i32 | | 35 | max timestamp, i64 |
//! | 12 | partition leader epoch, i32 | | 43 | producer id, i64 |
//! | 16 | magic, i8 | | 51 | producer epoch, i16 |
//! | 17 | CRC-32C of all that follows, u32 | | 53 | base sequence, i32 |
//! | 21 | attributes, i16 | | 57 | number of records, i32 |
//! | 23 | last offset delta, i32 | | 61 | records, compressed as one |
//!
//! The formats before it (magic 0 and 1) share the first two fields and the place of the magic byte.

use crate::compression::Codec;
use crate::cursor::Cursor;
use crate::error::{Reason, bail};

/// Bytes of the base offset and the length, which the length does not count.
const LOG_OVERHEAD: usize = 12;
/// Bytes that must be there to know the magic.
const MAGIC_END: usize = 17;
/// Where the bytes begin that the CRC covers.
pub const CHECKED_BEGIN: usize = 21;
/// Bytes of a whole header of magic 2.
const HEADER_BYTES: usize = 61;

/// CRC-32C, which the iSCSI standard made known.
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// What stands at the front of the data.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// A whole batch. `offset` is its base offset with magic 2, the offset of its last record with magic 0 and 1.
    Whole { magic: u8, offset: i64, bytes: usize },
    /// The beginning of a batch. `bytes` is the size of the whole, `offset` its base offset; both unknown below 17 bytes.
    CutOff { bytes: usize, base_offset: Option<i64> },
}

impl Frame {
    /// Looks at the front of `data`, which is not empty. On an error, the offset found comes with it.
    pub fn read(data: &[u8]) -> Result<Self, (i64, Reason)> {
        let Some(front) = data.first_chunk::<MAGIC_END>() else {
            return Ok(Self::CutOff { bytes: announced_bytes(data), base_offset: None });
        };
        let offset = i64::from_be_bytes(front[..8].try_into().unwrap_or_default());
        let length = i32::from_be_bytes(front[8..12].try_into().unwrap_or_default());
        let magic = front[16];
        let least = match magic {
            0 => 14,
            1 => 22,
            2 => HEADER_BYTES - LOG_OVERHEAD,
            _ => return Err((offset, Reason::new(format!("magic {magic} is not 0, 1 or 2")))),
        };
        if offset < 0 {
            return Err((-1, Reason::new(format!("offset {offset} is negative"))));
        }
        let length = match usize::try_from(length) {
            Ok(length) if length >= least => length,
            _ => {
                let text = format!("length {length} is less than the {least} bytes of a header of magic {magic}");
                return Err((offset, Reason::new(text)));
            }
        };
        let bytes = LOG_OVERHEAD + length;
        if bytes > data.len() {
            return Ok(Self::CutOff { bytes, base_offset: (magic == 2).then_some(offset) });
        }
        Ok(Self::Whole { magic, offset, bytes })
    }
}

/// The size of the batch at the front of `data`, which is too short to tell more; 0 when unknown.
fn announced_bytes(data: &[u8]) -> usize {
    let mut cursor = Cursor::new(data);
    let length = cursor.take(8).and_then(|_| cursor.array()).map_or(0, i32::from_be_bytes);
    usize::try_from(length).map_or(0, |length| if length == 0 { 0 } else { LOG_OVERHEAD + length })
}

/// The header of a batch of magic 2.
#[derive(Debug, Clone)]
pub struct BatchHeader {
    pub base_offset: i64,
    pub last_offset: i64,
    pub last_offset_delta: i32,
    /// Deltas count from here also when the batch carries a delete horizon, which then *is* this timestamp.
    pub base_timestamp: i64,
    pub max_timestamp: i64,
    pub producer_id: i64,
    pub records: u32,
    attributes: i16,
}

impl BatchHeader {
    /// Reads and checks the header of a whole batch; returns it with the (compressed) records.
    pub fn read(batch: &[u8]) -> Result<(Self, &[u8]), Reason> {
        let short = || Reason::new(format!("{} bytes are less than a header", batch.len()));
        let mut cursor = Cursor::new(batch);
        let base_offset = i64::from_be_bytes(cursor.array().ok_or_else(short)?);
        cursor.take(MAGIC_END - 8).ok_or_else(short)?;
        let mut cursor = Cursor::new(batch.get(MAGIC_END..).ok_or_else(short)?);
        let stored = u32::from_be_bytes(cursor.array().ok_or_else(short)?);
        let computed = crc32c(batch.get(CHECKED_BEGIN..).ok_or_else(short)?);
        if stored != computed {
            bail!("its CRC-32C is {computed:08x}, its header says {stored:08x}");
        }
        let attributes = i16::from_be_bytes(cursor.array().ok_or_else(short)?);
        let last_offset_delta = i32::from_be_bytes(cursor.array().ok_or_else(short)?);
        let base_timestamp = i64::from_be_bytes(cursor.array().ok_or_else(short)?);
        let max_timestamp = i64::from_be_bytes(cursor.array().ok_or_else(short)?);
        let producer_id = i64::from_be_bytes(cursor.array().ok_or_else(short)?);
        cursor.take(2 + 4).ok_or_else(short)?;
        let records = i32::from_be_bytes(cursor.array().ok_or_else(short)?);
        let Ok(records) = u32::try_from(records) else { bail!("its number of records is {records}") };
        if last_offset_delta < 0 {
            bail!("its last offset delta is {last_offset_delta}");
        }
        // The offset after the last one must be a number too.
        let Some(last_offset) = base_offset.checked_add(i64::from(last_offset_delta)).filter(|last| *last < i64::MAX)
        else {
            bail!("its last offset is beyond 64 bits: delta {last_offset_delta}");
        };
        let header = Self {
            base_offset,
            last_offset,
            last_offset_delta,
            base_timestamp,
            max_timestamp,
            producer_id,
            records,
            attributes,
        };
        Ok((header, cursor.rest()))
    }

    /// Every offset from the first to the last has its record: none was removed by compaction.
    pub fn is_dense(&self) -> bool {
        i64::from(self.records) == i64::from(self.last_offset_delta) + 1
    }

    pub fn codec(&self) -> Result<Codec, Reason> {
        Codec::from_id((self.attributes & 0x07) as u8)
    }

    /// The broker's clock replaced the producer's: every record has the batch's max timestamp.
    pub fn is_log_append_time(&self) -> bool {
        self.attributes & 0x08 != 0
    }

    pub fn is_transactional(&self) -> bool {
        self.attributes & 0x10 != 0
    }

    /// The records are markers of the broker, never a user's data.
    pub fn is_control(&self) -> bool {
        self.attributes & 0x20 != 0
    }

    /// Written by an idempotent or transactional producer.
    pub fn has_producer_id(&self) -> bool {
        self.producer_id >= 0
    }
}

#[cfg(test)]
mod tests {
    use super::{Frame, crc32c};

    #[test]
    fn the_checksum_is_castagnoli() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    fn front(offset: i64, length: i32, magic: u8) -> Vec<u8> {
        [&offset.to_be_bytes()[..], &length.to_be_bytes(), &[0; 4], &[magic]].concat()
    }

    #[test]
    fn a_frame_is_whole_or_cut_off() {
        let mut data = front(7, 50, 2);
        assert_eq!(Frame::read(&data), Ok(Frame::CutOff { bytes: 62, base_offset: Some(7) }));
        data.resize(62, 0);
        assert_eq!(Frame::read(&data), Ok(Frame::Whole { magic: 2, offset: 7, bytes: 62 }));
        assert_eq!(Frame::read(&data[..16]), Ok(Frame::CutOff { bytes: 62, base_offset: None }));
        assert_eq!(Frame::read(&data[..11]), Ok(Frame::CutOff { bytes: 0, base_offset: None }));
    }

    #[test]
    fn impossible_frames_are_refused() {
        for (offset, length, magic) in
            [(0, 48, 2), (0, -1, 2), (0, i32::MIN, 1), (0, 13, 0), (0, 21, 1), (-1, 99, 2), (0, 99, 3)]
        {
            assert!(Frame::read(&front(offset, length, magic)).is_err(), "{offset} {length} {magic}");
        }
    }
}

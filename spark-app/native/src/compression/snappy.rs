//! Snappy as Kafka's clients write it: Java's in the framing of xerial's snappy-java, others as one raw block.
//!
//! Framing (`SnappyOutputStream.java`): 16 bytes of header, then blocks, each after its length as a big-endian i32.
//! Streams may follow each other, header included.

use super::{Output, malformed, too_large};
use crate::cursor::Cursor;
use crate::error::{Reason, bail};

const MAGIC: &[u8; 8] = b"\x82SNAPPY\0";
/// Magic, version, oldest compatible version. The versions are not checked: some clients write them little-endian.
const HEADER_BYTES: usize = 16;
/// A block cannot grow by more: three bytes copy 64 at most.
const MOST_GROWTH: usize = 22;

pub fn decompress(input: &[u8], output: &mut Output) -> Result<(), Reason> {
    if input.len() < HEADER_BYTES || !input.starts_with(MAGIC) {
        return decompress_block(input, output);
    }
    let mut cursor = Cursor::new(input);
    while !cursor.is_empty() {
        if cursor.rest().starts_with(MAGIC) {
            if cursor.take(HEADER_BYTES).is_none() {
                bail!("its snappy header is cut off");
            }
            continue;
        }
        let length = cursor.array().map(i32::from_be_bytes);
        let block = length.and_then(|length| usize::try_from(length).ok()).and_then(|length| cursor.take(length));
        let Some(block) = block else { bail!("a snappy block reaches beyond the batch") };
        decompress_block(block, output)?;
    }
    Ok(())
}

fn decompress_block(block: &[u8], output: &mut Output) -> Result<(), Reason> {
    let claimed = snap::raw::decompress_len(block).map_err(|error| malformed("snappy", &error))?;
    if claimed > block.len().saturating_mul(MOST_GROWTH) {
        bail!("a snappy block of {} bytes claims to hold {claimed}", block.len());
    }
    if claimed > output.left() {
        return Err(too_large(output.limit));
    }
    let room = output.room(claimed)?;
    let bytes = snap::raw::Decoder::new().decompress(block, room).map_err(|error| malformed("snappy", &error))?;
    output.advance(bytes)
}

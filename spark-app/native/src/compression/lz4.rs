//! LZ4 frames (`lz4_Frame_format.md`, version 1.6), blocks decoded straight into the output.
//!
//! Own framing because a frame decoder that reads as a stream allocates block buffers for each batch and copies once
//! more. Checksums are skipped (see the module above), which also reads the frames of old clients that computed the
//! header's wrongly. Unlike Java, linked blocks are read too.

use super::{Output, malformed};
use crate::cursor::Cursor;
use crate::error::{Reason, bail};

const MAGIC: u32 = 0x184d_2204;
/// Matches of linked blocks reach back so far.
const WINDOW_BYTES: usize = 64 << 10;
/// In a block's length: the block is stored as it is.
const STORED: u32 = 0x8000_0000;

struct FrameHeader {
    independent_blocks: bool,
    block_checksums: bool,
    content_checksum: bool,
    most_block_bytes: usize,
}

pub fn decompress(input: &[u8], output: &mut Output) -> Result<(), Reason> {
    let mut cursor = Cursor::new(input);
    loop {
        let header = FrameHeader::read(&mut cursor)?;
        decompress_frame(&header, &mut cursor, output)?;
        if cursor.is_empty() {
            return Ok(());
        }
    }
}

fn cut_off() -> Reason {
    Reason::new("its lz4 frame is cut off")
}

impl FrameHeader {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reason> {
        let magic = u32::from_le_bytes(cursor.array().ok_or_else(cut_off)?);
        if magic != MAGIC {
            bail!("its lz4 frame begins with {magic:08x}, not {MAGIC:08x}");
        }
        let [flags, block_descriptor] = cursor.array().ok_or_else(cut_off)?;
        if flags >> 6 != 1 || flags & 0x03 != 0 {
            bail!("its lz4 frame has flags {flags:02x}: version 1 without a dictionary is expected");
        }
        let most_block_bytes = match block_descriptor >> 4 {
            code @ 4..=7 => 1 << (8 + 2 * code),
            code => bail!("its lz4 frame has block size code {code}, 4 to 7 are known"),
        };
        let content_size = flags & 0x08 != 0;
        let header_checksum = 1;
        cursor.take(if content_size { 8 } else { 0 } + header_checksum).ok_or_else(cut_off)?;
        Ok(Self {
            independent_blocks: flags & 0x20 != 0,
            block_checksums: flags & 0x10 != 0,
            content_checksum: flags & 0x04 != 0,
            most_block_bytes,
        })
    }
}

fn decompress_frame(header: &FrameHeader, cursor: &mut Cursor<'_>, output: &mut Output) -> Result<(), Reason> {
    let frame_begin = output.used;
    loop {
        let length = u32::from_le_bytes(cursor.array().ok_or_else(cut_off)?);
        if length == 0 {
            cursor.take(if header.content_checksum { 4 } else { 0 }).ok_or_else(cut_off)?;
            return Ok(());
        }
        let block = cursor.take((length & !STORED) as usize).ok_or_else(cut_off)?;
        if block.len() > header.most_block_bytes {
            bail!("an lz4 block has {} bytes, its frame allows {}", block.len(), header.most_block_bytes);
        }
        let (done, room) = output.split_room(header.most_block_bytes)?;
        let room = &mut room[..header.most_block_bytes];
        let bytes = if length & STORED != 0 {
            room[..block.len()].copy_from_slice(block);
            block.len()
        } else if header.independent_blocks {
            lz4_flex::block::decompress_into(block, room).map_err(|error| malformed("lz4", &error))?
        } else {
            let window = &done[frame_begin.max(done.len().saturating_sub(WINDOW_BYTES))..];
            lz4_flex::block::decompress_into_with_dict(block, room, window).map_err(|error| malformed("lz4", &error))?
        };
        output.advance(bytes)?;
        cursor.take(if header.block_checksums { 4 } else { 0 }).ok_or_else(cut_off)?;
    }
}

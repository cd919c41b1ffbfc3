//! Decompression into one reused buffer.
//!
//! Sizes that compressed data claims are never believed: the buffer grows with what was really decompressed, by a
//! block or by doubling, and never beyond the limit. Checksums inside the compressed data (of lz4 frames, for example)
//! are checked only where the library does so anyway: the CRC-32C of the batch has covered every compressed byte.

mod lz4;
mod snappy;

use std::io::Read;

use crate::error::{Reason, bail};

/// How the records of a batch are compressed; the id is in its attributes (`CompressionType.java`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    None,
    Gzip,
    Snappy,
    Lz4,
    Zstd,
}

impl Codec {
    pub fn from_id(id: u8) -> Result<Self, Reason> {
        match id {
            0 => Ok(Self::None),
            1 => Ok(Self::Gzip),
            2 => Ok(Self::Snappy),
            3 => Ok(Self::Lz4),
            4 => Ok(Self::Zstd),
            _ => bail!("compression codec {id} is unknown; 0 (none) to 4 (zstd) are known"),
        }
    }
}

/// Keeps its buffers from batch to batch.
#[derive(Default)]
pub struct Decompressor {
    output: Output,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl Decompressor {
    /// Returns the decompressed bytes, at most `limit`.
    pub fn decompress<'a>(&'a mut self, codec: Codec, input: &'a [u8], limit: usize) -> Result<&'a [u8], Reason> {
        self.output.restart(limit);
        match codec {
            Codec::None if input.len() > limit => return Err(too_large(limit)),
            Codec::None => return Ok(input),
            Codec::Gzip => self.output.read_all(flate2::bufread::MultiGzDecoder::new(input))?,
            Codec::Snappy => snappy::decompress(input, &mut self.output)?,
            Codec::Lz4 => lz4::decompress(input, &mut self.output)?,
            Codec::Zstd => self.decompress_zstd(input)?,
        }
        Ok(self.output.bytes())
    }

    /// In one step when the buffer of earlier batches is large enough (no copy through zstd's window), else as a stream.
    fn decompress_zstd(&mut self, input: &[u8]) -> Result<(), Reason> {
        let context = match &mut self.zstd {
            Some(context) => context,
            none => none.insert(zstd::bulk::Decompressor::new().map_err(|error| malformed("zstd", &error))?),
        };
        let guess = input.len().saturating_mul(8).max(FIRST_BYTES).min(self.output.limit);
        if let Ok(bytes) = context.decompress_to_buffer(input, self.output.room(guess)?) {
            return self.output.advance(bytes);
        }
        let stream = zstd::stream::read::Decoder::with_buffer(input).map_err(|error| malformed("zstd", &error))?;
        self.output.read_all(stream)
    }
}

/// What the buffer begins with.
const FIRST_BYTES: usize = 64 << 10;

/// A buffer that is zeroed once, not for every batch: its length is its high-water mark.
#[derive(Default)]
struct Output {
    buffer: Vec<u8>,
    used: usize,
    limit: usize,
}

impl Output {
    fn restart(&mut self, limit: usize) {
        self.used = 0;
        self.limit = limit;
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[..self.used]
    }

    fn left(&self) -> usize {
        self.limit.saturating_sub(self.used)
    }

    /// All unused room, at least `more` bytes; it may reach beyond the limit, which [`Self::advance`] enforces.
    fn room(&mut self, more: usize) -> Result<&mut [u8], Reason> {
        Ok(self.split_room(more)?.1)
    }

    /// What is decompressed so far, and the room after it.
    fn split_room(&mut self, more: usize) -> Result<(&[u8], &mut [u8]), Reason> {
        if self.used > self.limit {
            return Err(too_large(self.limit));
        }
        let needed = self.used + more;
        if self.buffer.len() < needed {
            self.buffer.resize(needed.max(FIRST_BYTES).max((self.used * 2).min(self.limit + 1)), 0);
        }
        let (used, room) = self.buffer.split_at_mut(self.used);
        Ok((used, room))
    }

    /// Takes the first `bytes` of the room as decompressed.
    fn advance(&mut self, bytes: usize) -> Result<(), Reason> {
        self.used += bytes;
        if self.used > self.limit {
            return Err(too_large(self.limit));
        }
        Ok(())
    }

    fn read_all(&mut self, mut stream: impl Read) -> Result<(), Reason> {
        loop {
            let bytes = stream.read(self.room(1)?).map_err(|error| malformed("compressed", &error))?;
            if bytes == 0 {
                return Ok(());
            }
            self.advance(bytes)?;
        }
    }
}

#[cold]
fn too_large(limit: usize) -> Reason {
    Reason::new(format!("its records are more than {limit} bytes when decompressed, the limit for one batch"))
}

#[cold]
fn malformed(what: &str, error: &dyn std::fmt::Display) -> Reason {
    Reason::new(format!("its {what} records are malformed: {error}"))
}

#[cfg(test)]
mod tests;

//! Pages of a column: compressed, with their headers.
//!
//! Source: `parquet.thrift` of Apache Parquet (`PageHeader`), data pages of version 1.

use std::cell::RefCell;
use std::io::Write;

use zstd::zstd_safe::CParameter;

use super::thrift::{self, Fields};

const GZIP_LEVEL: u32 = 6;
/// Binary logarithm of the places in zstd's table, instead of level 1's 14: so it stays in the first-level cache, which is a
/// tenth faster, for files that are 1.5 % larger (docs/design/parquet.md).
const ZSTD_HASH_LOG: u32 = 12;

/// How pages are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    None,
    Snappy,
    Gzip,
    /// With this level.
    Zstd(i32),
}

impl Compression {
    /// Its number in Parquet.
    pub fn number(self) -> i32 {
        match self {
            Self::None => 0,
            Self::Snappy => 1,
            Self::Gzip => 2,
            Self::Zstd(_) => 6,
        }
    }
}

/// Encodings, by their numbers in Parquet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Plain = 0,
    Rle = 3,
    Dictionary = 8,
}

/// What a page has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// So many slots, whose values are encoded like that.
    Data { slots: usize, encoding: Encoding },
    /// So many values.
    Dictionary { values: usize },
}

/// A page as it stands in the file.
#[derive(Debug)]
pub struct Page {
    pub bytes: Vec<u8>,
    /// What they would be without compression, with the header.
    pub uncompressed: usize,
}

impl Content {
    fn write(self, fields: &mut Fields<'_>) {
        match self {
            Self::Data { slots, encoding } => fields.structure(5, |fields| {
                fields.count32(1, slots);
                fields.integer32(2, encoding as i32);
                fields.integer32(3, Encoding::Rle as i32);
                fields.integer32(4, Encoding::Rle as i32);
            }),
            Self::Dictionary { values } => fields.structure(7, |fields| {
                fields.count32(1, values);
                fields.integer32(2, Encoding::Plain as i32);
            }),
        }
    }

    fn count(self) -> usize {
        match self {
            Self::Data { slots: count, .. } | Self::Dictionary { values: count } => count,
        }
    }

    fn number(self) -> i32 {
        match self {
            Self::Data { .. } => 0,
            Self::Dictionary { .. } => 2,
        }
    }
}

/// Bytes or slots of a page at most: half of what readers can count, because bytes that do not compress grow.
const MOST: usize = 1 << 30;

/// Return a page of these bytes, with the CRC-32 of what is stored. An error says why there cannot be one.
pub fn page(content: Content, bytes: &[u8], compression: Compression) -> Result<Page, String> {
    if bytes.len().max(content.count()) > MOST {
        return Err(format!("a page of {} values and {} bytes is too large for Parquet", content.count(), bytes.len()));
    }
    BUFFERS.with_borrow_mut(|buffers| {
        let stored = buffers.compress(bytes, compression)?;
        let crc = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32IsoHdlc, stored) as u32;
        let mut page = Vec::with_capacity(MOST_HEADER + stored.len());
        thrift::structure(&mut page, |fields| {
            fields.integer32(1, content.number());
            fields.count32(2, bytes.len());
            fields.count32(3, stored.len());
            fields.integer32(4, crc.cast_signed());
            content.write(fields);
        });
        let uncompressed = page.len() + bytes.len();
        page.extend_from_slice(stored);
        Ok(Page { bytes: page, uncompressed })
    })
}

/// Bytes that no header exceeds.
const MOST_HEADER: usize = 64;

thread_local! {
    /// Kept from page to page and from file to file: many files have a few kB.
    static BUFFERS: RefCell<Buffers> = const { RefCell::new(Buffers { output: Vec::new(), zstd: None }) };
}

struct Buffers {
    output: Vec<u8>,
    /// With the level that it was made for.
    zstd: Option<(i32, zstd::bulk::Compressor<'static>)>,
}

impl Buffers {
    fn compress<'a>(&'a mut self, bytes: &'a [u8], compression: Compression) -> Result<&'a [u8], String> {
        self.output.clear();
        match compression {
            Compression::None => return Ok(bytes),
            Compression::Snappy => {
                self.output.resize(snap::raw::max_compress_len(bytes.len()), 0);
                let length = snap::raw::Encoder::new().compress(bytes, &mut self.output).map_err(told)?;
                self.output.truncate(length);
            }
            Compression::Gzip => {
                let level = flate2::Compression::new(GZIP_LEVEL);
                let mut encoder = flate2::write::GzEncoder::new(&mut self.output, level);
                encoder.write_all(bytes).and_then(|()| encoder.finish().map(drop)).map_err(told)?;
            }
            Compression::Zstd(level) => {
                let (_, context) = match self.zstd.take() {
                    Some(kept) if kept.0 == level => self.zstd.insert(kept),
                    _ => {
                        let mut made = zstd::bulk::Compressor::new(level).map_err(told)?;
                        made.set_parameter(CParameter::HashLog(ZSTD_HASH_LOG)).map_err(told)?;
                        self.zstd.insert((level, made))
                    }
                };
                self.output.reserve(zstd::zstd_safe::compress_bound(bytes.len()));
                context.compress_to_buffer(bytes, &mut self.output).map_err(told)?;
            }
        }
        Ok(&self.output)
    }
}

fn told(error: impl std::fmt::Display) -> String {
    format!("a page cannot be compressed: {error}")
}

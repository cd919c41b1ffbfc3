//! Which record batches of a fetch response are stored as they are.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use crate::append::append_records;
use crate::batch::{BatchHeader, CHECKED_BEGIN};
use crate::columns::Columns;
use crate::decoder::Request;
use crate::error::{CorruptBatch, Reason};
use crate::walk::{Found, Walk};

/// What was selected.
#[derive(Debug, Default)]
pub struct Selected {
    /// Where the batches stand in the data; neighbours are one.
    pub kept: Vec<Range<usize>>,
    /// Those of magic 0 and 1, each by itself: they are kept, but not checked, and their records are not counted.
    pub legacy: Vec<Range<usize>>,
    /// What stands before the checked bytes of each batch, and has their checksum.
    pub heads: Vec<u8>,
    /// Records with wanted offsets.
    pub records: u64,
    /// Offsets of the first and the last of them.
    pub offsets: Option<(i64, i64)>,
    /// The first offset not yet seen; at least the first one wanted.
    pub next_offset: i64,
}

/// Selects the whole batches that have a record with a wanted offset; of control batches and aborted transactions none.
///
/// Only batches that cross an end of the wanted offsets, or that compaction has taken records from, are decoded.
pub fn select(data: &[u8], request: Request) -> Result<Selected, CorruptBatch> {
    let wanted = request.wanted;
    let mut walk = Walk::new(data, wanted.clone(), request.aborted, request.max_batch_bytes);
    let mut selected = Selected::default();
    while let Some(Found { at, batch }) = walk.advance()? {
        if let Some((header, compressed)) = batch {
            let corrupt = |reason| CorruptBatch { offset: header.base_offset, reason };
            let Some((records, first, last)) = count(&mut walk, &header, compressed, &wanted).map_err(corrupt)? else {
                continue;
            };
            selected.records += records;
            selected.offsets = Some((selected.offsets.map_or(first, |before| before.0), last));
        } else {
            selected.legacy.push(at.clone());
        }
        selected.heads.extend_from_slice(&data[at.start..at.end.min(at.start + CHECKED_BEGIN)]);
        match selected.kept.last_mut() {
            Some(last) if last.end == at.start => last.end = at.end,
            _ => selected.kept.push(at),
        }
    }
    selected.next_offset = walk.next_offset;
    Ok(selected)
}

/// Returns how many records of a batch are wanted, with the first and the last offset of them.
fn count<'a>(
    walk: &mut Walk<'a>,
    header: &BatchHeader,
    compressed: &'a [u8],
    wanted: &Range<i64>,
) -> Result<Option<(u64, i64, i64)>, Reason> {
    if header.is_dense() && wanted.start <= header.base_offset && header.last_offset < wanted.end {
        return Ok(Some((u64::from(header.records), header.base_offset, header.last_offset)));
    }
    let mut columns = Columns::new(false, false);
    append_records(header, walk.records(header, compressed)?, wanted, &mut columns)?;
    let rows = columns.finish().map_err(|error| Reason::new(error.to_string()))?;
    let offsets = rows.column(0).as_primitive::<Int64Type>().values();
    Ok(offsets.first().zip(offsets.last()).map(|(first, last)| (offsets.len() as u64, *first, *last)))
}

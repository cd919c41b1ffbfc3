//! Rows to JSON lines: the inverse of `rows`, for format `jsonl` (docs/formats.md says how each type is written).
//!
//! When a value is written otherwise than before, `RULES` in `formats/jsonl/write.py` must be raised.

mod cell;
mod time;

use arrow_array::RecordBatch;

use cell::Members;
pub use time::timestamp;

/// Return the rows of a batch, each as a JSON object and a line feed. An error says which column cannot be written.
pub fn json_lines(batch: &RecordBatch) -> Result<Vec<u8>, String> {
    let members = Members::of(batch.schema().fields(), batch.columns())?;
    let mut lines = Vec::with_capacity(batch.get_array_memory_size());
    for row in 0..batch.num_rows() {
        members.write(row, &mut lines);
        lines.push(b'\n');
    }
    Ok(lines)
}

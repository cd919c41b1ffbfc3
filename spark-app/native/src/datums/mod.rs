//! Rows to Avro's binary encoding (specification 1.12), for format `avro`; docs/formats.md says what each type becomes.
//!
//! When a row is encoded otherwise than before, `RULES` in `formats/avro/write.py` must be raised.

mod cell;

use arrow_array::RecordBatch;

use cell::Members;

/// Rows, end to end, and where each of them ends.
#[derive(Debug)]
pub struct Datums {
    pub bytes: Vec<u8>,
    pub ends: Vec<i64>,
}

/// Return the rows of a batch, each as a datum of the record whose schema the columns are.
///
/// A column that may be null is a union of null and its type. An error says which column cannot be written.
pub fn avro_datums(batch: &RecordBatch) -> Result<Datums, String> {
    let schema = batch.schema();
    let members = Members::of(schema.fields(), batch.columns())?;
    let mut bytes = Vec::with_capacity(batch.get_array_memory_size());
    let mut ends = Vec::with_capacity(batch.num_rows());
    for row in 0..batch.num_rows() {
        members.write(row, &mut bytes)?;
        ends.push(i64::try_from(bytes.len()).expect("no vector is longer"));
    }
    Ok(Datums { bytes, ends })
}

//! A column of values, one after the other into the columns of a schema: what all parsers do alike.

use arrow_array::{Array, BinaryArray};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::{ArrowError, SchemaRef};

use super::adjusted::Adjustments;
use super::column::{Bytes, Filled};
use super::nested::StructColumn;
use super::reason::{Refusal, Step, path};
use super::{Rows, kind};

/// Where the first fault of a row is, the innermost field first.
pub type Steps = Vec<Step>;

/// Reads one value after the other.
pub trait ReadRow {
    /// Appends a value as row number `row`. After an error, the columns are cut back, and `steps` says where it is.
    fn read(&mut self, value: &[u8], row: usize, columns: &mut StructColumn, steps: &mut Steps) -> Result<(), Refusal>;

    /// What is wrong with a refused value as a whole; that goes before what is wrong with one field, wherever both are.
    /// None: nothing, or `read` has said it.
    fn judge_whole(&self, _: &[u8]) -> Option<Refusal> {
        None
    }

    /// Bytes that no column is longer than by the rows so far; 0 where no row is longer than its value.
    fn bytes(&self) -> usize {
        0
    }

    /// Changes columns before they are filled.
    fn prepare(&self, _: &mut StructColumn) {}

    /// What was adjusted in the value that was read last; None: nothing ever is.
    fn adjustments(&mut self) -> Option<&mut Adjustments> {
        None
    }
}

/// Reads all values. Total, as long as `reader` is; an error only if the rows of all values take more than 2 GiB.
pub fn rows(schema: &SchemaRef, values: &BinaryArray, reader: &mut impl ReadRow) -> Result<Rows, ArrowError> {
    let fields = schema.fields();
    let mut columns = kind::columns(fields, values.len()).map_err(ArrowError::SchemaError)?;
    reader.prepare(&mut columns);
    let mut steps = Steps::new();
    let mut reasons = vec![0; values.len()];
    let mut paths = Bytes::with_capacity(values.len());
    let mut has_path = NullBufferBuilder::new(values.len());
    let mut rows = 0;
    for (record, (reason, value)) in reasons.iter_mut().zip(values).enumerate() {
        steps.clear();
        let read = value.ok_or(Refusal::Null).and_then(|value| {
            reader.read(value, rows, &mut columns, &mut steps).map_err(|refusal| {
                let whole = reader.judge_whole(value);
                if whole.is_some() {
                    steps.clear();
                }
                whole.unwrap_or(refusal)
            })
        });
        match read {
            Ok(()) => {
                rows += 1;
                if let Some(adjustments) = reader.adjustments() {
                    adjustments.accept(record);
                }
            }
            Err(refusal) => {
                columns.truncate(rows);
                *reason = refusal as u8;
                paths.data.extend(path(fields, &steps).bytes());
            }
        }
        has_path.append(!steps.is_empty());
        paths.end();
        if reader.bytes() > i32::MAX as usize {
            return Err(ArrowError::OffsetOverflowError(reader.bytes()));
        }
    }
    let batch = columns.into_batch(schema, rows)?;
    let adjusted = reader.adjustments().map(|adjustments| adjustments.finish(fields)).unwrap_or_default();
    Ok(Rows { batch, reasons: reasons.into(), paths: paths.strings(has_path.finish())?, adjusted })
}

//! Values of records to typed rows: JSON objects by a schema, Avro by two of them, straight into Arrow columns.
//!
//! Each value is judged by itself: a refused one leaves nothing behind. When a value is judged or stored otherwise than
//! before, `RULES` in `records/rows.py` (JSON) or `records/avro_rows.py` must be raised.

mod avro;
pub mod base64;
mod column;
mod kind;
mod nested;
mod number;
mod reader;
mod reason;
mod row;
mod time;

use arrow_array::{Array, BinaryArray, RecordBatch, StringArray, UInt8Array};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::{ArrowError, SchemaRef};

use crate::json::{check_grammar, check_nesting};
pub use avro::{AvroParser, Framing, avro_fingerprint};
use column::{Bytes, Filled};
pub use kind::{NOTATION, per_second};
use reader::{MOST_NESTED, Reader};
use reason::path;
pub use reason::{REASONS, Refusal};
use row::Space;

/// What becomes of a field that the schema does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownFields {
    Drop,
    Refuse,
}

/// Makes rows of a schema from JSON texts.
#[derive(Debug, Clone)]
pub struct RowParser {
    schema: SchemaRef,
    unknown_fields: UnknownFields,
}

/// The rows of a column of values, and what is wrong with the values that are none.
#[derive(Debug)]
pub struct Rows {
    /// The accepted values, in their order.
    pub batch: RecordBatch,
    /// For each value 0 or its [`Refusal`].
    pub reasons: UInt8Array,
    /// For each value the field that is concerned, if one is: names of the schema, never anything of the value.
    pub paths: StringArray,
}

impl RowParser {
    /// An error says which field of the schema cannot be read, and why.
    pub fn new(schema: SchemaRef, unknown_fields: UnknownFields) -> Result<Self, String> {
        kind::columns(schema.fields(), 0)?;
        Ok(Self { schema, unknown_fields })
    }

    /// Reads all values. Total: any bytes give an answer, on a stack of bounded size.
    pub fn parse(&self, values: &BinaryArray) -> Result<Rows, ArrowError> {
        let fields = self.schema.fields();
        let mut columns = kind::columns(fields, values.len()).map_err(ArrowError::SchemaError)?;
        let mut space = Space::default();
        let mut reasons = vec![0; values.len()];
        let mut paths = Bytes::with_capacity(values.len());
        let mut has_path = NullBufferBuilder::new(values.len());
        let mut rows = 0;
        for (reason, value) in reasons.iter_mut().zip(values) {
            space.steps.clear();
            match self.read(value, rows, &mut columns, &mut space) {
                Ok(()) => rows += 1,
                Err(refusal) => {
                    columns.truncate(rows);
                    *reason = refusal as u8;
                    paths.data.extend(path(fields, &space.steps).bytes());
                }
            }
            has_path.append(!space.steps.is_empty());
            paths.end();
        }
        let batch = columns.into_batch(&self.schema, rows)?;
        Ok(Rows { batch, reasons: reasons.into(), paths: paths.strings(has_path.finish())? })
    }

    #[inline]
    fn read(
        &self,
        value: Option<&[u8]>,
        row: usize,
        columns: &mut nested::StructColumn,
        space: &mut Space,
    ) -> Result<(), Refusal> {
        let text = value.ok_or(Refusal::Null)?;
        // Most texts are ASCII, and that is seen faster.
        if !text.is_ascii() && std::str::from_utf8(text).is_err() {
            return Err(Refusal::NotUtf8);
        }
        row::read(text, row, columns, self.unknown_fields == UnknownFields::Refuse, space).map_err(|refusal| {
            judge_whole(text).map_or(refusal, |whole| {
                space.steps.clear();
                whole
            })
        })
    }
}

/// What is wrong with a refused text as a whole; that goes before what is wrong with one field, wherever both are.
#[cold]
fn judge_whole(text: &[u8]) -> Option<Refusal> {
    match std::str::from_utf8(text) {
        Err(_) => return Some(Refusal::NotUtf8),
        Ok(text) if check_grammar(text).is_err() => return Some(Refusal::NotJson),
        Ok(_) => {}
    }
    if check_nesting(text, MOST_NESTED).is_err() {
        return Some(Refusal::TooDeep);
    }
    // Half a surrogate pair is all that is still refused.
    Reader::new(text).skip().err()
}

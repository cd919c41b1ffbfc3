//! Typed rows of MessagePack values: maps whose names are those of the fields.

mod input;
mod read;

use arrow_array::BinaryArray;
use arrow_schema::{ArrowError, SchemaRef};

use super::fill::{self, ReadRow, Steps};
use super::nested::StructColumn;
use super::reason::Refusal;
use super::{Rows, UnknownFields, kind};
use input::Input;
use read::ValueReader;

/// Makes rows of a schema from MessagePack values.
#[derive(Debug, Clone)]
pub struct MessagePackParser {
    schema: SchemaRef,
    unknown_fields: UnknownFields,
}

impl MessagePackParser {
    /// An error says which field of the schema cannot be read, and why.
    pub fn new(schema: SchemaRef, unknown_fields: UnknownFields) -> Result<Self, String> {
        kind::columns(schema.fields(), 0)?;
        Ok(Self { schema, unknown_fields })
    }

    /// Reads all values. Total, as [`super::RowParser::parse`] is.
    pub fn parse(&self, values: &BinaryArray) -> Result<Rows, ArrowError> {
        fill::rows(&self.schema, values, &mut Reader { refuse_unknown: self.unknown_fields == UnknownFields::Refuse })
    }
}

struct Reader {
    refuse_unknown: bool,
}

impl ReadRow for Reader {
    #[inline]
    fn read(&mut self, value: &[u8], row: usize, columns: &mut StructColumn, steps: &mut Steps) -> Result<(), Refusal> {
        ValueReader::new(value, self.refuse_unknown, steps).row(row, columns)
    }

    fn judge_whole(&self, value: &[u8]) -> Option<Refusal> {
        let mut input = Input::new(value);
        input.skip().and_then(|()| input.end()).err()
    }
}

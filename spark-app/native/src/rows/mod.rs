//! Values of records to typed rows: JSON objects by a schema, Avro and protobuf by two of them, Thrift, MessagePack, CSV,
//! what a pattern finds in texts, straight into Arrow columns.
//!
//! Each value is judged by itself: a refused one leaves nothing behind. When a value is judged or stored otherwise than
//! before, `RULES` in `records/rows.py` (JSON), or `RULES` of its own of another parser beside it, must be raised.

mod avro;
pub mod base64;
mod column;
mod csv;
mod fill;
mod growth;
mod kind;
mod messagepack;
mod nested;
mod number;
mod protobuf;
mod reader;
mod reason;
mod regex;
mod row;
mod schema_keys;
mod target;
mod text;
mod thrift;
mod time;

use arrow_array::{BinaryArray, RecordBatch, StringArray, UInt8Array};
use arrow_schema::{ArrowError, SchemaRef};

pub use self::regex::RegexParser;
use crate::json::{check_grammar, check_nesting};
pub use avro::{AvroParser, Framing, avro_fingerprint};
pub use csv::{CsvParser, CsvSyntax};
use fill::{ReadRow, Steps};
pub use kind::{NOTATION, per_second};
pub use messagepack::MessagePackParser;
use nested::StructColumn;
pub use protobuf::{MessageParts, MessageTypes, ProtobufParser};
use reader::{MOST_NESTED, Reader};
pub use reason::{REASONS, Refusal};
pub use schema_keys::{Inside, SchemaKey, SchemaKeys, schema_keys};
pub use thrift::ThriftParser;

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
        let refuse_unknown = self.unknown_fields == UnknownFields::Refuse;
        fill::rows(&self.schema, values, &mut JsonReader { refuse_unknown, space: Vec::new() })
    }
}

struct JsonReader {
    refuse_unknown: bool,
    /// A string whose escapes are resolved; kept for its memory.
    space: Vec<u8>,
}

impl ReadRow for JsonReader {
    #[inline]
    fn read(&mut self, text: &[u8], row: usize, columns: &mut StructColumn, steps: &mut Steps) -> Result<(), Refusal> {
        // Most texts are ASCII, and that is seen faster.
        if !text.is_ascii() && std::str::from_utf8(text).is_err() {
            return Err(Refusal::NotUtf8);
        }
        row::read(text, row, columns, self.refuse_unknown, &mut self.space, steps)
    }

    fn judge_whole(&self, text: &[u8]) -> Option<Refusal> {
        judge_whole(text)
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

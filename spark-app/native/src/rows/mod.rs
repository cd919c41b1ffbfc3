//! Values of records to typed rows: JSON objects by a schema, Avro and protobuf by two of them, Thrift, MessagePack, CSV,
//! what a pattern finds in texts, straight into Arrow columns.
//!
//! Each value is judged by itself: a refused one leaves nothing behind. When a value is judged or stored otherwise than
//! before, `RULES` in `values/<kind>/rows.py` must be raised.

mod adjusted;
mod avro;
mod column;
mod csv;
mod faults;
mod fill;
mod framing;
mod growth;
mod inflate;
mod instants;
mod iso8601;
mod json;
mod kind;
mod lenient;
mod messagepack;
mod nested;
mod number;
mod protobuf;
mod reason;
mod regex;
mod rest;
mod schema_keys;
mod target;
mod text;
mod thrift;
mod time;
mod time_pattern;
mod writers;

use arrow_array::{RecordBatch, StringArray, UInt8Array};

pub use self::regex::RegexParser;
pub use adjusted::Adjusted;
pub use avro::{AvroParser, avro_fingerprint};
pub use csv::{CsvParser, CsvSyntax};
pub use faults::{Duplicates, Faults, WrongType};
pub use framing::{Framing, Opener};
pub use instants::instants;
pub use json::RowParser;
use json::{judge_whole, reader, row};
pub use kind::{NOTATION, per_second};
pub use messagepack::MessagePackParser;
pub use protobuf::{MessageParts, MessageTypes, ProtobufParser};
pub use reason::{REASONS, Refusal};
pub use schema_keys::{Inside, SchemaKey, SchemaKeys, schema_keys};
pub use thrift::ThriftParser;

/// What becomes of a field that the schema does not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnknownFields {
    #[default]
    Drop,
    /// The last field of the schema is a JSON object of them.
    Keep,
    Refuse,
}

/// What a parser does with records that are not what the schema says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    pub unknown_fields: UnknownFields,
    pub faults: Faults,
}

impl From<UnknownFields> for Options {
    fn from(unknown_fields: UnknownFields) -> Self {
        Self { unknown_fields, faults: Faults::default() }
    }
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
    /// What was adjusted in accepted values.
    pub adjusted: Adjusted,
}

#[inline(always)]
fn check_utf8(text: &[u8]) -> Result<(), Refusal> {
    // Most texts are ASCII, and that is seen faster.
    if text.is_ascii() || std::str::from_utf8(text).is_ok() { Ok(()) } else { Err(Refusal::NotUtf8) }
}

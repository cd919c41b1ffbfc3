//! Decodes Kafka record batches into Arrow buffers, tells which values are JSON, and makes typed rows of them.
//!
//! [`decode`] takes the bytes of one partition of a fetch response and returns its records as columns. It is total: any
//! bytes give rows or a [`CorruptBatch`], never a panic, and memory in proportion to the data (docs/design/native-decoder.md).
//! [`select`] tells which of those bytes are stored as they are. [`not_json`] takes a column of values and says which of them are no JSON documents; [`RowParser`] makes columns of the
//! fields of a schema from them, [`AvroParser`] of Avro values, [`ProtobufParser`] of protobuf messages, [`ThriftParser`]
//! of Thrift structs, [`MessagePackParser`] of MessagePack, [`CsvParser`] and [`RegexParser`] of lines of text; [`json_lines`] makes JSON of columns and
//! [`avro_datums`] Avro; [`Delimited`] writes values as lines. [`json_texts`], [`numbers`], [`parts`], [`schema_keys`] and [`MessageParts`] tell of what type values are,
//! [`instants`] when something was by a text. All are total, too.
//!
//! The crate is a plain Rust library; with the feature `python` it is the Python package `logpersister_native`.

mod append;
mod batch;
mod blocks;
mod columns;
mod compression;
mod cursor;
mod datums;
mod decoder;
mod delimited;
mod error;
mod event_types;
mod hashes;
mod json;
mod leaf;
mod lines;
mod parquet;
#[cfg(feature = "python")]
mod python;
mod records;
mod rows;
mod scan;
mod transactions;
mod verbatim;
mod walk;

pub use batch::crc32c;
pub use compression::{Codec, Decompressor};
pub use datums::{Datums, avro_datums};
pub use decoder::{Legacy, Request, Run, decode};
pub use delimited::Delimited;
pub use error::{CorruptBatch, Reason};
pub use event_types::{json_texts, numbers, parts};
pub use hashes::keyed_hashes;
pub use json::{MOST_NESTED, Refused, not_json};
pub use lines::json_lines;
pub use parquet::{Compression, Options as ParquetOptions, ParquetWriter, Pieces, SortedBy};
pub use rows::{
    Adjusted, AvroParser, CsvParser, CsvSyntax, Duplicates, Faults, Framing, Inside, MessagePackParser, MessageParts,
    MessageTypes, Options, ProtobufParser, REASONS, Refusal, RegexParser, RowParser, Rows, SchemaKey, SchemaKeys,
    ThriftParser, UnknownFields, WrongType, avro_fingerprint, instants, schema_keys,
};
pub use transactions::Aborted;
pub use verbatim::{Selected, select};

//! The Python package `logpersister_native`; its types are in `logpersister_native.pyi`.

mod delimited;
mod parquet_writer;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, BinaryArray, Int64Array, RecordBatch, StringArray};
use arrow_data::ArrayData;
use arrow_pyarrow::{FromPyArrow, ToPyArrow};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::{
    Aborted, Codec, CsvSyntax, Decompressor, Faults, Framing, Inside, Legacy, Options, Request, Rows, UnknownFields,
};

pyo3::create_exception!(
    logpersister_native,
    CorruptBatchError,
    pyo3::exceptions::PyException,
    "Bytes that cannot be a record batch of a broker. `args` are its base offset (-1: unknown) and the reason."
);

/// What was decoded.
#[pyclass(frozen, get_all, module = "logpersister_native")]
struct Run {
    /// Offset, timestamp, key, value and, when asked for, headers.
    batch: Py<PyAny>,
    /// First offset not yet seen, at least `start`.
    next_offset: i64,
    /// Whole record batches looked at.
    record_batches: usize,
    /// Bytes of those.
    bytes_used: usize,
    /// Size of the record batch in which the data ended; 0: unknown; None: none was cut off.
    cut_off_bytes: Option<usize>,
    /// Record batches of magic 0 and 1, not decoded: the row before which they belong, and their bytes, from and to.
    legacy: Vec<(usize, usize, usize)>,
}

/// Decode the records of one partition of a fetch response: `data` is a binary array, of which they are the only value.
///
/// Raises CorruptBatchError, TypeError for another array, and ValueError for arguments that contradict each other.
#[pyfunction]
#[pyo3(signature = (data, start, end, *, aborted, headers, keys, max_bytes, max_batch_bytes))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
fn decode(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    start: i64,
    end: i64,
    aborted: Vec<(i64, i64)>,
    headers: bool,
    keys: bool,
    max_bytes: usize,
    max_batch_bytes: usize,
) -> PyResult<Run> {
    let request = request(start..end, aborted, keys, headers, max_bytes, max_batch_bytes)?;
    let data = one_value(data)?;
    let run = py.detach(|| crate::decode(data.value(0), request)).map_err(corrupt)?;
    Ok(Run {
        batch: run.batch.to_pyarrow(py)?.unbind(),
        next_offset: run.next_offset,
        record_batches: run.record_batches,
        bytes_used: run.bytes_used,
        cut_off_bytes: run.cut_off_bytes,
        legacy: run.legacy.into_iter().map(|Legacy { row, bytes }| (row, bytes.start, bytes.end)).collect(),
    })
}

/// What is stored of a fetch response as it is.
#[pyclass(frozen, get_all, module = "logpersister_native")]
struct Selected {
    /// Where whole record batches stand in the data, from and to; neighbours are one.
    kept: Vec<(usize, usize)>,
    /// Those of magic 0 and 1 among them, each by itself: not checked, and their records not counted.
    legacy: Vec<(usize, usize)>,
    /// The first 21 bytes of each, which have the checksum of the others.
    heads: Py<PyBytes>,
    /// Records with offsets in [start, end).
    records: u64,
    /// Offsets of the first and the last of them.
    offsets: Option<(i64, i64)>,
    /// First offset not yet seen, at least `start`.
    next_offset: i64,
}

/// Select the whole record batches with a record in [start, end), without those of control records and aborted transactions.
///
/// `data` and what is raised are as with `decode`.
#[pyfunction]
#[pyo3(signature = (data, start, end, *, aborted, max_batch_bytes))]
fn select(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    start: i64,
    end: i64,
    aborted: Vec<(i64, i64)>,
    max_batch_bytes: usize,
) -> PyResult<Selected> {
    let request = request(start..end, aborted, false, false, 0, max_batch_bytes)?;
    let data = one_value(data)?;
    let found = py.detach(|| crate::select(data.value(0), request)).map_err(corrupt)?;
    let pairs = |ranges: Vec<Range<usize>>| ranges.into_iter().map(|one| (one.start, one.end)).collect();
    Ok(Selected {
        kept: pairs(found.kept),
        legacy: pairs(found.legacy),
        heads: PyBytes::new(py, &found.heads).unbind(),
        records: found.records,
        offsets: found.offsets,
        next_offset: found.next_offset,
    })
}

fn request(
    wanted: Range<i64>,
    aborted: Vec<(i64, i64)>,
    keys: bool,
    headers: bool,
    max_bytes: usize,
    max_batch_bytes: usize,
) -> PyResult<Request> {
    let aborted =
        aborted.into_iter().map(|(producer_id, first_offset)| Aborted { producer_id, first_offset }).collect();
    let request = Request { wanted, aborted, keys, headers, max_bytes, max_batch_bytes };
    request.check().map_err(PyValueError::new_err)?;
    Ok(request)
}

/// The records of a fetch response, which are the only value of an array.
fn one_value(data: &Bound<'_, PyAny>) -> PyResult<BinaryArray> {
    let data = binary(data)?;
    if data.len() != 1 {
        return Err(PyValueError::new_err(format!("the records are one value, not {}", data.len())));
    }
    Ok(data)
}

fn corrupt(error: crate::CorruptBatch) -> PyErr {
    CorruptBatchError::new_err((error.offset, error.reason.to_string()))
}

/// Decompress the records of a batch; `codec` is the id in its attributes. Raises CorruptBatchError, also beyond `limit`.
#[pyfunction]
#[pyo3(signature = (codec, data, *, limit))]
fn decompress(py: Python<'_>, codec: u8, data: PyBackedBytes, limit: usize) -> PyResult<Bound<'_, PyBytes>> {
    let failed = |reason: crate::Reason| CorruptBatchError::new_err((-1, reason.to_string()));
    let codec = Codec::from_id(codec).map_err(failed)?;
    let mut decompressor = Decompressor::default();
    let bytes = py.detach(|| decompressor.decompress(codec, &data, limit)).map_err(failed)?;
    Ok(PyBytes::new(py, bytes))
}

/// Return the checksum of a record batch, CRC-32C, of the bytes that it covers.
#[pyfunction]
fn crc32c(py: Python<'_>, data: PyBackedBytes) -> u32 {
    py.detach(|| crate::crc32c(&data))
}

/// Check which values of a binary array are JSON documents; null ones are not looked at.
///
/// Returns the rows of those that are none, an int64 array, and why the first one is none. Raises TypeError for another
/// array.
#[pyfunction]
fn not_json(py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<(Py<PyAny>, Option<String>)> {
    let values = binary(values)?;
    let refused = py.detach(|| crate::not_json(&values));
    let rows = Int64Array::from(refused.rows).into_data().to_pyarrow(py)?.unbind();
    Ok((rows, refused.reason.map(|reason| reason.to_string())))
}

/// Return of each value that is a JSON object the text or whole number at a path, in bytes; null where there is none.
///
/// Raises TypeError for another array.
#[pyfunction]
#[pyo3(signature = (values, path, *, framing = "plain"))]
fn json_texts(py: Python<'_>, values: &Bound<'_, PyAny>, path: Vec<String>, framing: &str) -> PyResult<Py<PyAny>> {
    let (values, framing) = (binary(values)?, framing_of(framing)?);
    let found = py.detach(|| crate::json_texts(&values, framing, &path));
    Ok(found.into_data().to_pyarrow(py)?.unbind())
}

/// Return the signed number of so many bytes, 1 to 8, at a place of each value, an int64 array; the highest byte is the first.
/// It is 0 where a value ends before, and anything where there is none.
///
/// Raises TypeError for another array, and ValueError for another width.
#[pyfunction]
#[pyo3(signature = (values, *, at, width))]
fn numbers(py: Python<'_>, values: &Bound<'_, PyAny>, at: usize, width: usize) -> PyResult<Py<PyAny>> {
    let values = binary(values)?;
    if !(1..=8).contains(&width) {
        return Err(PyValueError::new_err("numbers have 1 to 8 bytes"));
    }
    let found = py.detach(|| crate::numbers(&values, at, width));
    Ok(found.into_data().to_pyarrow(py)?.unbind())
}

/// Return of each value the bytes from a begin to an end, two int64 arrays; null where they are not within the value.
///
/// Raises TypeError for other arrays, and ValueError where they have not one item for each value.
#[pyfunction]
fn parts(
    py: Python<'_>,
    values: &Bound<'_, PyAny>,
    begins: &Bound<'_, PyAny>,
    ends: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    let (values, begins, ends) = (binary(values)?, integers(begins)?, integers(ends)?);
    if begins.len() != values.len() || ends.len() != values.len() {
        return Err(PyValueError::new_err("begins and ends have not one item for each value"));
    }
    let found = py.detach(|| crate::parts(&values, &begins, &ends));
    Ok(found.into_data().to_pyarrow(py)?.unbind())
}

/// Return by which schemas values were written: each key once, and for each value the place of its key, an int32 array, null
/// where it has no header.
///
/// A key is the id of a schema, and what of it the value is of: the places of a message and of those around it, or its name,
/// with `inside` "messages"; the place of a branch with "branches"; nothing with "nothing". Raises TypeError for another
/// array.
#[pyfunction]
#[pyo3(signature = (values, *, framing, inside))]
fn schema_keys(
    py: Python<'_>,
    values: &Bound<'_, PyAny>,
    framing: &str,
    inside: &str,
) -> PyResult<(Vec<PyKey>, Py<PyAny>)> {
    let (values, framing) = (binary(values)?, framing_of(framing)?);
    let inside = Inside::from_word(inside)
        .ok_or_else(|| PyValueError::new_err(format!("there is nothing inside of {inside}")))?;
    let found = py.detach(|| crate::schema_keys(&values, framing, inside));
    let keys = found.keys.into_iter().map(|key| (key.id, key.places, key.name)).collect();
    Ok((keys, found.indices.into_data().to_pyarrow(py)?.unbind()))
}

/// Makes typed rows of JSON texts.
///
/// `schema` says which fields there are; the metadata `logpersister.notation` of a field says how its values are written,
/// `logpersister.default` what it has where a text does not have it, in JSON. `unknown_fields` is "drop", "refuse", or "keep":
/// then the last field of the schema is a JSON object of what is unknown. `faults` says what becomes of values that do not
/// fit, in the words of the manifest; `framing` is what stands before each text. Raises ValueError for types that cannot be read, naming the field.
#[pyclass(frozen, module = "logpersister_native")]
struct RowParser(crate::RowParser);

#[pymethods]
impl RowParser {
    #[new]
    #[pyo3(signature = (schema, *, unknown_fields, faults = None, framing = "plain"))]
    fn new(schema: &Bound<'_, PyAny>, unknown_fields: &str, faults: Option<Words>, framing: &str) -> PyResult<Self> {
        let framing = framing_of(framing)?;
        crate::RowParser::new(schema_of(schema)?, options_of(unknown_fields, faults)?)
            .map(|parser| Self(parser.framed(framing)))
            .map_err(PyValueError::new_err)
    }

    /// Parse the values of a binary array.
    ///
    /// Returns the rows of those that are accepted, a record batch of the schema in their order; for each value a position in
    /// REASONS, a uint8 array, 0 when it is accepted; for each value the path of the field that is concerned, a string
    /// array, null when none is; and what was adjusted in accepted values: of each kind why it would have been refused, a
    /// position in REASONS, and the path, perhaps empty; and of each adjusted value the place of its record, an int64 array,
    /// and of its kind, an int32 array. Raises TypeError for another array.
    fn parse(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<PyRows> {
        parsed(py, values, |values| self.0.parse(values))
    }
}

/// Makes typed rows of MessagePack values.
///
/// Arguments are those of RowParser.
#[pyclass(frozen, module = "logpersister_native")]
struct MessagePackParser(crate::MessagePackParser);

#[pymethods]
impl MessagePackParser {
    #[new]
    #[pyo3(signature = (schema, *, unknown_fields, faults = None))]
    fn new(schema: &Bound<'_, PyAny>, unknown_fields: &str, faults: Option<Words>) -> PyResult<Self> {
        crate::MessagePackParser::new(schema_of(schema)?, options_of(unknown_fields, faults)?)
            .map(Self)
            .map_err(PyValueError::new_err)
    }

    /// Parse the values of a binary array, as RowParser does.
    fn parse(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<PyRows> {
        parsed(py, values, |values| self.0.parse(values))
    }
}

/// Makes typed rows of Thrift structs.
///
/// `plan` says which field becomes which column, as `logpersister.values.thrift.plan` writes it; `protocol` is "binary" or
/// "compact". Raises ValueError for types that cannot be read, naming the field, and for another plan.
#[pyclass(frozen, module = "logpersister_native")]
struct ThriftParser(crate::ThriftParser);

#[pymethods]
impl ThriftParser {
    #[new]
    #[pyo3(signature = (schema, *, plan, protocol, faults = None))]
    fn new(schema: &Bound<'_, PyAny>, plan: &str, protocol: &str, faults: Option<Words>) -> PyResult<Self> {
        let is_compact = match protocol {
            "binary" => false,
            "compact" => true,
            other => return Err(PyValueError::new_err(format!("protocol is binary or compact, not {other}"))),
        };
        let faults = options_of("drop", faults)?.faults;
        crate::ThriftParser::new(schema_of(schema)?, plan, is_compact)
            .map(|parser| Self(parser.with_faults(faults)))
            .map_err(PyValueError::new_err)
    }

    /// Parse the values of a binary array, as RowParser does.
    fn parse(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<PyRows> {
        parsed(py, values, |values| self.0.parse(values))
    }
}

/// Makes typed rows of Avro values.
///
/// `schema` says which columns there are; the metadata `logpersister.default` and `logpersister.aliases` of a field are for
/// writers that do not have it by its name. Raises ValueError for types that cannot be read, naming the field.
#[pyclass(frozen, module = "logpersister_native")]
struct AvroParser(crate::AvroParser);

#[pymethods]
impl AvroParser {
    #[new]
    #[pyo3(signature = (schema, *, framing, faults = None))]
    fn new(schema: &Bound<'_, PyAny>, framing: &str, faults: Option<Words>) -> PyResult<Self> {
        let faults = options_of("drop", faults)?.faults;
        crate::AvroParser::new(schema_of(schema)?, framing_of(framing)?)
            .map(|parser| Self(parser.with_faults(faults)))
            .map_err(PyValueError::new_err)
    }

    /// From now on, read values of this id by this schema (JSON text). Raises ValueError, naming the field.
    fn add_writer(&self, py: Python<'_>, writer_id: u128, schema: &str) -> PyResult<()> {
        py.detach(|| self.0.add_writer(writer_id, schema)).map_err(PyValueError::new_err)
    }

    /// From now on, refuse values of this id.
    fn refuse_writer(&self, writer_id: u128) {
        self.0.refuse_writer(writer_id);
    }

    /// Parse the values of a binary array.
    ///
    /// Returns what RowParser does, and the ids that were neither added nor refused, ascending. Raises TypeError for
    /// another array.
    fn parse(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<PyResolved> {
        resolved(py, values, |values| self.0.parse(values))
    }
}

/// Makes typed rows of protobuf messages.
///
/// `schema` says which columns there are; the metadata `logpersister.default` of a field is for writers that do not have it.
/// `message` names the message that values are of whose header names none. Raises ValueError for types that cannot be read,
/// naming the field.
#[pyclass(frozen, module = "logpersister_native")]
struct ProtobufParser(crate::ProtobufParser);

#[pymethods]
impl ProtobufParser {
    #[new]
    #[pyo3(signature = (schema, *, framing, message = None, faults = None))]
    fn new(schema: &Bound<'_, PyAny>, framing: &str, message: Option<String>, faults: Option<Words>) -> PyResult<Self> {
        let faults = options_of("drop", faults)?.faults;
        crate::ProtobufParser::new(schema_of(schema)?, framing_of(framing)?, message)
            .map(|parser| Self(parser.with_faults(faults)))
            .map_err(PyValueError::new_err)
    }

    /// From now on, read values of this id by this schema, as `logpersister.values.protobuf.schema` has resolved it.
    fn add_writer(&self, py: Python<'_>, writer_id: u128, schema: &str) -> PyResult<()> {
        py.detach(|| self.0.add_writer(writer_id, schema)).map_err(PyValueError::new_err)
    }

    /// From now on, refuse values of this id.
    fn refuse_writer(&self, writer_id: u128) {
        self.0.refuse_writer(writer_id);
    }

    /// Return why all values with the header of this one are refused: their message cannot become the columns. None: it
    /// can, or is not known.
    fn problem(&self, value: &[u8]) -> Option<String> {
        self.0.problem(value)
    }

    /// Parse the values of a binary array. Returns what AvroParser does.
    fn parse(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<PyResolved> {
        resolved(py, values, |values| self.0.parse(values))
    }
}

/// Finds the part of protobuf messages that says their type.
///
/// `plan` says where it is in all values, as `logpersister.values.protobuf.parts` does; without one, writers have to be added.
/// Raises ValueError for another plan.
#[pyclass(frozen, module = "logpersister_native")]
struct MessageParts(crate::MessageParts);

#[pymethods]
impl MessageParts {
    #[new]
    #[pyo3(signature = (*, framing, plan = None))]
    fn new(framing: &str, plan: Option<&str>) -> PyResult<Self> {
        crate::MessageParts::new(framing_of(framing)?, plan).map(Self).map_err(PyValueError::new_err)
    }

    /// From now on, read values of this id by this schema, as ProtobufParser takes it, and by a plan for each message of it.
    fn add_writer(&self, py: Python<'_>, writer_id: u128, schema: &str, plans: &str) -> PyResult<()> {
        py.detach(|| self.0.add_writer(writer_id, schema, plans)).map_err(PyValueError::new_err)
    }

    /// Return the types of the values of a binary array: each once, and for each value the place of its own, an int32 array,
    /// null where it has none; and the ids that were not added, ascending. Raises TypeError for another array.
    fn types(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<PyTypes> {
        let values = binary(values)?;
        let found = py.detach(|| self.0.types(&values));
        let names = found.names.iter().map(|name| PyBytes::new(py, name).unbind()).collect();
        Ok((names, found.indices.into_data().to_pyarrow(py)?.unbind(), found.unknown))
    }

    /// Return the parts of the values of a binary array; null where there is none. Raises TypeError for another array.
    fn bodies(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let values = binary(values)?;
        let found = py.detach(|| self.0.bodies(&values));
        Ok(found.into_data().to_pyarrow(py)?.unbind())
    }
}

/// Makes typed rows of CSV records (RFC 4180), one in each value.
///
/// `names` are those of a record's columns, in their order. `delimiter` is one character of ASCII; so are `quote` and
/// `escape`, or empty. `null` is what stands for null where it is not in quotes. `unknown_fields` is "drop" or "keep", as for
/// RowParser, `faults` is what it is there. Raises ValueError for fields that cannot be read.
#[pyclass(frozen, module = "logpersister_native")]
struct CsvParser(crate::CsvParser);

#[pymethods]
impl CsvParser {
    #[new]
    #[pyo3(signature = (schema, *, names, delimiter, quote, escape, null, unknown_fields = "drop", faults = None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn new(
        schema: &Bound<'_, PyAny>,
        names: Vec<String>,
        delimiter: &str,
        quote: &str,
        escape: &str,
        null: &str,
        unknown_fields: &str,
        faults: Option<Words>,
    ) -> PyResult<Self> {
        let options = options_of(unknown_fields, faults)?;
        let delimiter = sign(delimiter)?.ok_or_else(|| PyValueError::new_err("there is no delimiter"))?;
        let syntax = CsvSyntax { delimiter, quote: sign(quote)?, escape: sign(escape)?, null: null.into() };
        crate::CsvParser::new(schema_of(schema)?, syntax, &names, options).map(Self).map_err(PyValueError::new_err)
    }

    /// Parse the values of a binary array, as RowParser does.
    fn parse(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<PyRows> {
        parsed(py, values, |values| self.0.parse(values))
    }
}

/// Makes typed rows of texts that a pattern matches as a whole; a field is what the group of its name matches.
///
/// `null` is a text that stands for null; `faults` is what it is for RowParser. Raises ValueError for patterns and fields that cannot be read.
#[pyclass(frozen, module = "logpersister_native")]
struct RegexParser(crate::RegexParser);

#[pymethods]
impl RegexParser {
    #[new]
    #[pyo3(signature = (schema, *, pattern, null, faults = None))]
    fn new(schema: &Bound<'_, PyAny>, pattern: &str, null: Option<&str>, faults: Option<Words>) -> PyResult<Self> {
        let faults = options_of("drop", faults)?.faults;
        crate::RegexParser::new(schema_of(schema)?, pattern, null.map(Into::into), faults)
            .map(Self)
            .map_err(PyValueError::new_err)
    }

    /// Parse the values of a binary array, as RowParser does.
    fn parse(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<PyRows> {
        parsed(py, values, |values| self.0.parse(values))
    }
}

/// Return the rows of a record batch, each as a JSON object and a line feed.
///
/// The metadata `logpersister.notation` of a field says how bytes are written: "base64", "json" for documents, or "text" for
/// what is text mostly (else it is base64, and the field's name ends in `_base64`). Raises ValueError for columns that cannot
/// be written.
#[pyfunction]
fn json_lines<'py>(py: Python<'py>, rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let rows = RecordBatch::from_pyarrow_bound(rows)?;
    let lines = py.detach(|| crate::json_lines(&rows)).map_err(PyValueError::new_err)?;
    Ok(PyBytes::new(py, &lines))
}

/// Return the rows of a record batch in Avro's binary encoding, end to end, and where each ends, an int64 array.
///
/// A field that may be null is a union of null and its type. Raises ValueError for columns that cannot be written.
#[pyfunction]
fn avro_datums<'py>(py: Python<'py>, rows: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyBytes>, Py<PyAny>)> {
    let rows = RecordBatch::from_pyarrow_bound(rows)?;
    let datums = py.detach(|| crate::avro_datums(&rows)).map_err(PyValueError::new_err)?;
    let ends = Int64Array::from(datums.ends).into_data().to_pyarrow(py)?.unbind();
    Ok((PyBytes::new(py, &datums.bytes), ends))
}

/// Return the CRC-64-AVRO of an Avro schema. Raises ValueError for a text that is none.
#[pyfunction]
fn avro_fingerprint(schema: &str) -> PyResult<u64> {
    crate::avro_fingerprint(schema).map_err(PyValueError::new_err)
}

/// Return HMAC-SHA-256 of each text of a string array in hexadecimal digits; null for null. Raises TypeError for another
/// array.
#[pyfunction]
fn keyed_hashes(py: Python<'_>, texts: &Bound<'_, PyAny>, key: PyBackedBytes) -> PyResult<Py<PyAny>> {
    let texts = strings(texts)?;
    let hashes = py.detach(|| crate::keyed_hashes(&texts, &key));
    Ok(hashes.into_data().to_pyarrow(py)?.unbind())
}

/// Return of each text of a string array the milliseconds from 1970, an int64 array, by a notation of timestamps; null for
/// null and for what is no instant. Raises TypeError for another array, and ValueError for another notation.
#[pyfunction]
fn instants(py: Python<'_>, texts: &Bound<'_, PyAny>, notation: &str) -> PyResult<Py<PyAny>> {
    let texts = strings(texts)?;
    let found = py
        .detach(|| crate::instants(&texts, notation))
        .ok_or_else(|| PyValueError::new_err(format!("{notation} is no notation of timestamps")))?;
    Ok(found.into_data().to_pyarrow(py)?.unbind())
}

/// Id, places and name of a `SchemaKey`.
type PyKey = (u128, Vec<i64>, String);

/// Names, places of values, and ids of writers that are not known.
type PyTypes = (Vec<Py<PyBytes>>, Py<PyAny>, Vec<u128>);

/// Faults and what becomes of them, in words.
type Words = HashMap<String, String>;

/// Kinds, and of each value its record and its kind.
type PyAdjusted = (Vec<(u8, String)>, Py<PyAny>, Py<PyAny>);

/// Rows, reasons, paths, and what was adjusted.
type PyRows = (Py<PyAny>, Py<PyAny>, Py<PyAny>, PyAdjusted);

/// The same, and ids of writers that are not known.
type PyResolved = (Py<PyAny>, Py<PyAny>, Py<PyAny>, PyAdjusted, Vec<u128>);

fn parsed(
    py: Python<'_>,
    values: &Bound<'_, PyAny>,
    parse: impl FnOnce(&BinaryArray) -> Result<Rows, ArrowError> + Send,
) -> PyResult<PyRows> {
    let values = binary(values)?;
    let rows = py.detach(|| parse(&values)).map_err(|error| PyValueError::new_err(error.to_string()))?;
    told(py, rows)
}

fn resolved(
    py: Python<'_>,
    values: &Bound<'_, PyAny>,
    parse: impl FnOnce(&BinaryArray) -> Result<(Rows, Vec<u128>), ArrowError> + Send,
) -> PyResult<PyResolved> {
    let values = binary(values)?;
    let (rows, unknown) = py.detach(|| parse(&values)).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let (batch, reasons, paths, adjusted) = told(py, rows)?;
    Ok((batch, reasons, paths, adjusted, unknown))
}

fn told(py: Python<'_>, rows: Rows) -> PyResult<PyRows> {
    let kinds = rows.adjusted.kinds.into_iter().map(|(refusal, path)| (refusal as u8, path)).collect();
    let records = rows.adjusted.records.into_data().to_pyarrow(py)?.unbind();
    let kind_of = rows.adjusted.kind_of.into_data().to_pyarrow(py)?.unbind();
    let batch = rows.batch.to_pyarrow(py)?.unbind();
    let reasons = rows.reasons.into_data().to_pyarrow(py)?.unbind();
    let paths = rows.paths.into_data().to_pyarrow(py)?.unbind();
    Ok((batch, reasons, paths, (kinds, records, kind_of)))
}

fn schema_of(schema: &Bound<'_, PyAny>) -> PyResult<SchemaRef> {
    Ok(Arc::new(Schema::from_pyarrow_bound(schema)?))
}

fn framing_of(word: &str) -> PyResult<Framing> {
    Framing::from_word(word).ok_or_else(|| PyValueError::new_err(format!("there is no framing {word}")))
}

/// A character of ASCII, or none.
fn sign(text: &str) -> PyResult<Option<u8>> {
    match text.as_bytes() {
        [] => Ok(None),
        [byte] if byte.is_ascii() => Ok(Some(*byte)),
        _ => Err(PyValueError::new_err(format!("{text} is not one character of ASCII"))),
    }
}

fn options_of(unknown_fields: &str, faults: Option<Words>) -> PyResult<Options> {
    let unknown_fields = match unknown_fields {
        "drop" => UnknownFields::Drop,
        "keep" => UnknownFields::Keep,
        "refuse" => UnknownFields::Refuse,
        other => return Err(PyValueError::new_err(format!("unknown_fields is drop, keep or refuse, not {other}"))),
    };
    let words = faults.unwrap_or_default();
    let faults = Faults::from_words(words.iter().map(|(fault, action)| (fault.as_str(), action.as_str())));
    Ok(Options { unknown_fields, faults: faults.map_err(PyValueError::new_err)? })
}

fn binary(values: &Bound<'_, PyAny>) -> PyResult<BinaryArray> {
    array(values, &DataType::Binary, "binary")
}

fn strings(texts: &Bound<'_, PyAny>) -> PyResult<StringArray> {
    array(texts, &DataType::Utf8, "string")
}

fn integers(values: &Bound<'_, PyAny>) -> PyResult<Int64Array> {
    array(values, &DataType::Int64, "int64")
}

fn array<A: From<ArrayData>>(values: &Bound<'_, PyAny>, data_type: &DataType, name: &str) -> PyResult<A> {
    let data = ArrayData::from_pyarrow_bound(values)?;
    if data.data_type() != data_type {
        return Err(PyTypeError::new_err(format!("an array of {} instead of {name}", data.data_type())));
    }
    Ok(A::from(data))
}

#[pymodule]
mod _native {
    use pyo3::prelude::*;
    use pyo3::types::PyTuple;

    #[pymodule_export]
    use super::{
        AvroParser, CorruptBatchError, CsvParser, MessagePackParser, MessageParts, ProtobufParser, RegexParser,
        RowParser, Run, Selected, ThriftParser, avro_datums, avro_fingerprint, crc32c, decode, decompress, instants,
        json_lines, json_texts, keyed_hashes, not_json, numbers, parts, schema_keys, select,
    };

    #[pymodule_export]
    use super::delimited::Delimited;
    #[pymodule_export]
    use super::parquet_writer::ParquetWriter;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("REASONS", PyTuple::new(module.py(), crate::REASONS)?)
    }
}

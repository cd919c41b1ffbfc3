//! One column as text: for each type how a value of it is written.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, StringArray};
use arrow_schema::{DataType, Field, Fields};
use base64_simd::STANDARD;
use serde_core::Serialize;

use super::time;
use crate::leaf::Leaf;
use crate::rows::{NOTATION, per_second};

/// The fields of an object, and the columns that hold their values.
pub struct Members<'a>(Vec<Member<'a>>);

struct Member<'a> {
    /// The name as it is written, with quotes and colon.
    name: Vec<u8>,
    /// The same for a value that is no text; only where text is what values mostly are.
    name_of_bytes: Vec<u8>,
    cell: Cell<'a>,
    column: &'a dyn Array,
}

enum Cell<'a> {
    Leaf(Leaf<'a>),
    Json(&'a StringArray),
    JsonBytes(&'a BinaryArray),
    TextOrBase64(&'a BinaryArray),
    Struct(Members<'a>),
    List(&'a [i32], Box<Member<'a>>),
    Map(&'a [i32], &'a StringArray, Box<Member<'a>>),
}

impl<'a> Members<'a> {
    /// An error says which column cannot be written.
    pub fn of(fields: &Fields, columns: &'a [ArrayRef]) -> Result<Self, String> {
        fields.iter().zip(columns).map(|(field, column)| Member::of(field, column)).collect::<Result<_, _>>().map(Self)
    }

    /// Appends the object of a row.
    pub fn write(&self, row: usize, text: &mut Vec<u8>) {
        let mut sign = b'{';
        for member in self.0.iter().filter(|member| !member.is_left_out(row)) {
            text.push(sign);
            text.extend_from_slice(member.name_at(row));
            member.write(row, text);
            sign = b',';
        }
        if sign == b'{' {
            text.push(b'{');
        }
        text.push(b'}');
    }
}

impl<'a> Member<'a> {
    fn of(field: &Field, column: &'a ArrayRef) -> Result<Self, String> {
        let name_of_bytes = format!("{}_base64", field.name());
        Ok(Self {
            name: name(field.name()),
            name_of_bytes: name(&name_of_bytes),
            cell: Cell::of(field, column).map_err(|error| format!("{}{error}", field.name()))?,
            column: &**column,
        })
    }

    /// Whether this row has no such field: a document may itself be `null`, so one that is not there has to differ.
    fn is_left_out(&self, row: usize) -> bool {
        matches!(self.cell, Cell::JsonBytes(_)) && self.column.is_null(row)
    }

    /// The name that the value of this row stands under.
    fn name_at(&self, row: usize) -> &[u8] {
        match &self.cell {
            Cell::TextOrBase64(values) if self.column.is_valid(row) && str::from_utf8(values.value(row)).is_err() => {
                &self.name_of_bytes
            }
            _ => &self.name,
        }
    }

    fn write(&self, row: usize, text: &mut Vec<u8>) {
        if self.column.is_null(row) {
            text.extend_from_slice(b"null");
            return;
        }
        match &self.cell {
            Cell::Leaf(leaf) => write_leaf(leaf, row, text),
            Cell::Json(values) => one_line(text, values.value(row).as_bytes()),
            Cell::JsonBytes(values) => one_line(text, values.value(row)),
            Cell::TextOrBase64(values) => match str::from_utf8(values.value(row)) {
                Ok(value) => json(text, value),
                Err(_) => quoted(text, |text| STANDARD.encode_append(values.value(row), text)),
            },
            Cell::Struct(members) => members.write(row, text),
            Cell::List(ends, item) => {
                text.push(b'[');
                for at in ends[row]..ends[row + 1] {
                    if at > ends[row] {
                        text.push(b',');
                    }
                    item.write(at as usize, text);
                }
                text.push(b']');
            }
            Cell::Map(ends, keys, value) => {
                text.push(b'{');
                for at in ends[row]..ends[row + 1] {
                    if at > ends[row] {
                        text.push(b',');
                    }
                    json(text, keys.value(at as usize));
                    text.push(b':');
                    value.write(at as usize, text);
                }
                text.push(b'}');
            }
        }
    }
}

impl<'a> Cell<'a> {
    /// An error begins with where below the column its reason is.
    fn of(field: &Field, column: &'a ArrayRef) -> Result<Self, String> {
        let notation = field.metadata().get(NOTATION).map(String::as_str);
        let unknown = || format!(": the type {} cannot be written", field.data_type());
        Ok(match (field.data_type(), notation) {
            (DataType::Utf8, Some("json")) => Self::Json(column.as_string()),
            (DataType::Binary, Some("json")) => Self::JsonBytes(column.as_binary()),
            (DataType::Binary, Some("text")) => Self::TextOrBase64(column.as_binary()),
            (DataType::Binary, None | Some("base64")) => Self::Leaf(Leaf::Bytes(column.as_binary())),
            (DataType::Utf8 | DataType::Binary, Some(_)) => return Err(unknown()),
            (DataType::Struct(fields), _) => {
                let below = |error| format!(".{error}");
                Self::Struct(Members::of(fields, column.as_struct().columns()).map_err(below)?)
            }
            (DataType::List(item), _) => {
                let list = column.as_list::<i32>();
                Self::List(list.value_offsets(), Box::new(unnamed("[]", item, list.values())?))
            }
            (DataType::Map(_, _), _) => {
                let map = column.as_map();
                let keys = map.keys().as_string_opt().ok_or("{}: keys of a map are strings")?;
                let (_, value) = map.entries_fields();
                Self::Map(map.value_offsets(), keys, Box::new(unnamed("{}", value, map.values())?))
            }
            _ => Self::Leaf(Leaf::of(column).ok_or_else(unknown)?),
        })
    }
}

/// What stands in a list or a map.
fn unnamed<'a>(step: &str, field: &Field, column: &'a ArrayRef) -> Result<Member<'a>, String> {
    let cell = Cell::of(field, column).map_err(|error| format!("{step}{error}"))?;
    Ok(Member { name: Vec::new(), name_of_bytes: Vec::new(), cell, column: &**column })
}

/// Appends the value of a row that is not null.
fn write_leaf(leaf: &Leaf<'_>, row: usize, text: &mut Vec<u8>) {
    match leaf {
        Leaf::Bool(values) => text.extend_from_slice(if values.value(row) { b"true" } else { b"false" }),
        Leaf::Int8(values) => json(text, &values[row]),
        Leaf::Int16(values) => json(text, &values[row]),
        Leaf::Int32(values) => json(text, &values[row]),
        Leaf::Int64(values) => json(text, &values[row]),
        Leaf::Float32(values) => float(text, f64::from(values[row]), &values[row]),
        Leaf::Float64(values) => float(text, values[row], &values[row]),
        Leaf::Decimal(values, scale) => decimal(text, values[row], *scale),
        Leaf::Date(values) => quoted(text, |text| time::date(text, i64::from(values[row]))),
        Leaf::TimeMilliseconds(values) => quoted(text, |text| time::time(text, i64::from(values[row]), 1_000)),
        Leaf::TimeMicroseconds(values) => quoted(text, |text| time::time(text, values[row], 1_000_000)),
        Leaf::Timestamp(values, unit) => quoted(text, |text| time::timestamp(text, values[row], per_second(*unit))),
        Leaf::Text(values) => json(text, values.value(row)),
        Leaf::Bytes(values) => quoted(text, |text| STANDARD.encode_append(values.value(row), text)),
    }
}

fn name(of: &str) -> Vec<u8> {
    let mut text = Vec::new();
    json(&mut text, of);
    text.push(b':');
    text
}

fn json<T: Serialize + ?Sized>(text: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(text, value).expect("a vector takes all bytes, and numbers and text are JSON");
}

/// What JSON has no number for is text, as protobuf writes it.
fn float<T: Serialize>(text: &mut Vec<u8>, double: f64, value: &T) {
    match double {
        _ if double.is_finite() => json(text, value),
        f64::INFINITY => text.extend_from_slice(b"\"Infinity\""),
        f64::NEG_INFINITY => text.extend_from_slice(b"\"-Infinity\""),
        _ => text.extend_from_slice(b"\"NaN\""),
    }
}

/// All digits behind the point, also zeros.
fn decimal(text: &mut Vec<u8>, unscaled: i128, scale: usize) {
    let digits = format!("{:0width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    text.extend_from_slice(if unscaled < 0 { b"-" } else { b"" });
    text.extend_from_slice(whole.as_bytes());
    if scale > 0 {
        text.push(b'.');
        text.extend_from_slice(fraction.as_bytes());
    }
}

fn quoted(text: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    text.push(b'"');
    write(text);
    text.push(b'"');
}

/// A JSON document without its line breaks, which stand between tokens only.
fn one_line(text: &mut Vec<u8>, document: &[u8]) {
    let begin = text.len();
    text.extend_from_slice(document);
    for byte in &mut text[begin..] {
        if matches!(*byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

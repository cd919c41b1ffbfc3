//! One column as text: for each type how a value of it is written.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, StringArray};
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use base64_simd::STANDARD;
use serde_core::Serialize;

use super::time;
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
    Bool(&'a BooleanArray),
    Int8(&'a [i8]),
    Int16(&'a [i16]),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    Float32(&'a [f32]),
    Float64(&'a [f64]),
    Decimal(&'a [i128], usize),
    Date(&'a [i32]),
    TimeMilliseconds(&'a [i32]),
    TimeMicroseconds(&'a [i64]),
    /// Units since 1970, and how many a second has.
    Timestamp(&'a [i64], i64),
    Text(&'a StringArray),
    Json(&'a StringArray),
    JsonBytes(&'a BinaryArray),
    Base64(&'a BinaryArray),
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
            Cell::Bool(values) => text.extend_from_slice(if values.value(row) { b"true" } else { b"false" }),
            Cell::Int8(values) => json(text, &values[row]),
            Cell::Int16(values) => json(text, &values[row]),
            Cell::Int32(values) => json(text, &values[row]),
            Cell::Int64(values) => json(text, &values[row]),
            Cell::Float32(values) => float(text, f64::from(values[row]), &values[row]),
            Cell::Float64(values) => float(text, values[row], &values[row]),
            Cell::Decimal(values, scale) => decimal(text, values[row], *scale),
            Cell::Date(values) => quoted(text, |text| time::date(text, i64::from(values[row]))),
            Cell::TimeMilliseconds(values) => quoted(text, |text| time::time(text, i64::from(values[row]), 1_000)),
            Cell::TimeMicroseconds(values) => quoted(text, |text| time::time(text, values[row], 1_000_000)),
            Cell::Timestamp(values, unit) => quoted(text, |text| time::timestamp(text, values[row], *unit)),
            Cell::Text(values) => json(text, values.value(row)),
            Cell::Json(values) => one_line(text, values.value(row).as_bytes()),
            Cell::JsonBytes(values) => one_line(text, values.value(row)),
            Cell::Base64(values) => quoted(text, |text| STANDARD.encode_append(values.value(row), text)),
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
        Ok(match (field.data_type(), notation) {
            (DataType::Boolean, _) => Self::Bool(column.as_boolean()),
            (DataType::Int8, _) => Self::Int8(column.as_primitive::<Int8Type>().values()),
            (DataType::Int16, _) => Self::Int16(column.as_primitive::<Int16Type>().values()),
            (DataType::Int32, _) => Self::Int32(column.as_primitive::<Int32Type>().values()),
            (DataType::Int64, _) => Self::Int64(column.as_primitive::<Int64Type>().values()),
            (DataType::Float32, _) => Self::Float32(column.as_primitive::<Float32Type>().values()),
            (DataType::Float64, _) => Self::Float64(column.as_primitive::<Float64Type>().values()),
            (DataType::Decimal128(_, scale @ 0..), _) => {
                Self::Decimal(column.as_primitive::<Decimal128Type>().values(), scale.unsigned_abs().into())
            }
            (DataType::Date32, _) => Self::Date(column.as_primitive::<Date32Type>().values()),
            (DataType::Time32(TimeUnit::Millisecond), _) => {
                Self::TimeMilliseconds(column.as_primitive::<Time32MillisecondType>().values())
            }
            (DataType::Time64(TimeUnit::Microsecond), _) => {
                Self::TimeMicroseconds(column.as_primitive::<Time64MicrosecondType>().values())
            }
            (DataType::Timestamp(unit, Some(zone)), _) if &**zone == "UTC" => {
                Self::Timestamp(since_1970(column, *unit), per_second(*unit))
            }
            (DataType::Utf8, None) => Self::Text(column.as_string()),
            (DataType::Utf8, Some("json")) => Self::Json(column.as_string()),
            (DataType::Binary, None | Some("base64")) => Self::Base64(column.as_binary()),
            (DataType::Binary, Some("json")) => Self::JsonBytes(column.as_binary()),
            (DataType::Binary, Some("text")) => Self::TextOrBase64(column.as_binary()),
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
            (other, _) => return Err(format!(": the type {other} cannot be written")),
        })
    }
}

/// What stands in a list or a map.
fn unnamed<'a>(step: &str, field: &Field, column: &'a ArrayRef) -> Result<Member<'a>, String> {
    let cell = Cell::of(field, column).map_err(|error| format!("{step}{error}"))?;
    Ok(Member { name: Vec::new(), name_of_bytes: Vec::new(), cell, column: &**column })
}

fn since_1970(column: &ArrayRef, unit: TimeUnit) -> &[i64] {
    match unit {
        TimeUnit::Second => column.as_primitive::<TimestampSecondType>().values(),
        TimeUnit::Millisecond => column.as_primitive::<TimestampMillisecondType>().values(),
        TimeUnit::Microsecond => column.as_primitive::<TimestampMicrosecondType>().values(),
        TimeUnit::Nanosecond => column.as_primitive::<TimestampNanosecondType>().values(),
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

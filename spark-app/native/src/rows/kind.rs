//! From a schema to empty columns: which types there are, and how values are written in them.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_buffer::BooleanBufferBuilder;
use arrow_schema::{DataType, Field, Fields, TimeUnit};

use super::column::{Bytes, Column, Data};
use super::nested::{ListColumn, MapColumn, StructColumn, entry_fields};
use super::number::Decimal;
use super::reader::MOST_NESTED;
use super::target::width;
use super::time_pattern::Pattern;

/// The metadata of a field that says how its values are written.
pub const NOTATION: &str = "logpersister.notation";

/// How timestamps are written, and their unit in the column.
#[derive(Debug, Clone)]
pub struct Clock {
    pub unit: TimeUnit,
    pub notation: TimeNotation,
}

#[derive(Debug, Clone)]
pub enum TimeNotation {
    Text(TextNotation),
    /// A number of units since 1970.
    Epoch(TimeUnit),
}

#[derive(Debug, Clone)]
pub enum TextNotation {
    Rfc3339,
    Iso8601,
    Pattern(Arc<Pattern>),
}

impl Clock {
    pub fn per_second(&self) -> i64 {
        per_second(self.unit)
    }
}

pub fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// Columns for the fields of a struct, with room for so many rows. An error says which field cannot be read and why.
pub fn columns(fields: &Fields, rows: usize) -> Result<StructColumn, String> {
    columns_at("", fields, rows, 1)
}

fn columns_at(path: &str, fields: &Fields, rows: usize, depth: usize) -> Result<StructColumn, String> {
    let whole = if path.is_empty() { "the schema" } else { path };
    if fields.is_empty() {
        return Err(format!("{whole} has no fields"));
    }
    if depth > MOST_NESTED {
        return Err(format!("{path}: at most {MOST_NESTED} types may stand in each other"));
    }
    let mut names = HashSet::new();
    if let Some(field) = fields.iter().find(|field| !names.insert(field.name())) {
        return Err(format!("{whole} has the field {} twice", field.name()));
    }
    let dot = if path.is_empty() { "" } else { "." };
    let children = fields
        .iter()
        .map(|field| column(&format!("{path}{dot}{}", field.name()), field, rows, depth))
        .collect::<Result<_, String>>()?;
    Ok(StructColumn::new(fields, children))
}

fn column(path: &str, field: &Field, rows: usize, depth: usize) -> Result<Column, String> {
    if depth > MOST_NESTED {
        return Err(format!("{path}: at most {MOST_NESTED} types may stand in each other"));
    }
    let notation = field.metadata().get(NOTATION).map(String::as_str);
    let unknown =
        || Err(format!("{path}: no values of {} are written as {}", field.data_type(), notation.unwrap_or("?")));
    let data = match (field.data_type(), notation) {
        (DataType::Boolean, None) => Data::Bool(BooleanBufferBuilder::new(rows)),
        (DataType::Int8, None) => Data::Int8(Vec::with_capacity(rows)),
        (DataType::Int16, None) => Data::Int16(Vec::with_capacity(rows)),
        (DataType::Int32, None) => Data::Int32(Vec::with_capacity(rows)),
        (DataType::Int64, None) => Data::Int64(Vec::with_capacity(rows)),
        (DataType::Float32, None) => Data::Float32(Vec::with_capacity(rows)),
        (DataType::Float64, None) => Data::Float64(Vec::with_capacity(rows)),
        (DataType::Decimal128(precision, scale), None) => {
            Data::Decimal(Vec::with_capacity(rows), decimal(path, *precision, *scale)?)
        }
        (DataType::Date32, None) => Data::Date(Vec::with_capacity(rows)),
        (DataType::Time32(TimeUnit::Millisecond), None) => Data::TimeMilliseconds(Vec::with_capacity(rows)),
        (DataType::Time64(TimeUnit::Microsecond), None) => Data::TimeMicroseconds(Vec::with_capacity(rows)),
        (DataType::Timestamp(unit, Some(zone)), notation) if &**zone == "UTC" => {
            let Some(notation) = time_notation(notation) else { return unknown() };
            Data::Timestamp(Vec::with_capacity(rows), Clock { unit: *unit, notation })
        }
        (DataType::Utf8, None) => Data::String(Bytes::with_capacity(rows)),
        (DataType::Utf8, Some("json")) => Data::Json(Bytes::with_capacity(rows)),
        (DataType::Binary, None | Some("base64")) => Data::Base64(Bytes::with_capacity(rows)),
        (DataType::Struct(fields), None) => Data::Struct(columns_at(path, fields, rows, depth + 1)?),
        (DataType::List(item), None) => {
            let items = column(&format!("{path}[]"), item, 0, depth + 1)?;
            Data::List(ListColumn::new(items, width(item.data_type())))
        }
        (DataType::Map(entries, _), None) => {
            let (_, key, value) = entry_fields(entries).map_err(|error| format!("{path}: {error}"))?;
            if key.data_type() != &DataType::Utf8 || key.is_nullable() {
                return Err(format!("{path}: keys of a map are strings that are not null"));
            }
            let values = column(&format!("{path}{{}}"), value, 0, depth + 1)?;
            Data::Map(MapColumn::new(values, width(value.data_type())))
        }
        (_, Some(_)) => return unknown(),
        (other, None) => return Err(format!("{path}: the type {other} cannot be read")),
    };
    Ok(Column::new(data, field.is_nullable()))
}

fn decimal(path: &str, precision: u8, scale: i8) -> Result<Decimal, String> {
    match u8::try_from(scale) {
        Ok(scale) if scale <= precision && (1..=38).contains(&precision) => Ok(Decimal { precision, scale }),
        _ => {
            Err(format!("{path}: decimal({precision},{scale}) needs 1 to 38 digits, as many or less behind the point"))
        }
    }
}

/// What a word of manifests means; None: nothing.
pub fn time_notation(notation: Option<&str>) -> Option<TimeNotation> {
    Some(match notation {
        None | Some("rfc3339") => TimeNotation::Text(TextNotation::Rfc3339),
        Some("iso8601") => TimeNotation::Text(TextNotation::Iso8601),
        Some("epoch[s]") => TimeNotation::Epoch(TimeUnit::Second),
        Some("epoch[ms]") => TimeNotation::Epoch(TimeUnit::Millisecond),
        Some("epoch[us]") => TimeNotation::Epoch(TimeUnit::Microsecond),
        Some("epoch[ns]") => TimeNotation::Epoch(TimeUnit::Nanosecond),
        Some(other) => {
            let pattern = other.strip_prefix("pattern[")?.strip_suffix(']')?;
            TimeNotation::Text(TextNotation::Pattern(Arc::new(Pattern::new(pattern)?)))
        }
    })
}

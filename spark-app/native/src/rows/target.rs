//! Columns as the plans of parsers see them: how they are called in messages, what a value takes in them.

use arrow_schema::{DataType, Field, TimeUnit};

use super::kind::NOTATION;

/// The metadata of a field that is its default where a writer does not have it, in the JSON encoding of Avro's defaults.
pub const DEFAULT: &str = "logpersister.default";

pub fn notation(field: &Field) -> Option<&str> {
    field.metadata().get(NOTATION).map(String::as_str)
}

/// Units of a second in which a field's numbers are, if timestamps are numbers in it.
pub fn epoch(field: &Field) -> Option<i64> {
    match notation(field)? {
        "epoch[s]" => Some(1),
        "epoch[ms]" => Some(1_000),
        "epoch[us]" => Some(1_000_000),
        "epoch[ns]" => Some(1_000_000_000),
        _ => None,
    }
}

pub fn below(path: &str, field: &Field) -> String {
    if path.is_empty() { field.name().clone() } else { format!("{path}.{}", field.name()) }
}

pub fn place(path: &str) -> &str {
    if path.is_empty() { "the values" } else { path }
}

/// What a column is called in messages.
pub fn told(field: &Field) -> String {
    match field.data_type() {
        DataType::Boolean => "bool".into(),
        DataType::Date32 => "date".into(),
        DataType::Utf8 => notation(field).unwrap_or("string").into(),
        DataType::Binary => "binary".into(),
        DataType::Time32(_) => "time[ms]".into(),
        DataType::Time64(_) => "time[us]".into(),
        DataType::Timestamp(unit, _) => {
            let unit = match unit {
                TimeUnit::Second => "s",
                TimeUnit::Millisecond => "ms",
                TimeUnit::Microsecond => "us",
                TimeUnit::Nanosecond => "ns",
            };
            format!("timestamp[{unit}] written as {}", notation(field).unwrap_or("rfc3339"))
        }
        DataType::Decimal128(precision, scale) => format!("decimal({precision},{scale})"),
        DataType::Struct(_) => "struct".into(),
        DataType::List(_) => "list".into(),
        DataType::Map(..) => "map".into(),
        other => other.to_string().to_lowercase(),
    }
}

/// Bytes that any value takes in its column.
pub fn width(data_type: &DataType) -> usize {
    match data_type {
        DataType::Struct(fields) => 1 + fields.iter().map(|field| width(field.data_type())).sum::<usize>(),
        other => other.primitive_width().unwrap_or(4),
    }
}

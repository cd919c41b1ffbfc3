//! Defaults and aliases of columns: what is in a column that the writer's schema does not have.

use arrow_schema::{DataType, Field, Fields};
use serde_json::Value;

use super::super::kind::per_second;
use super::super::nested::entry_fields;
use super::super::target::{DEFAULT, below};
use super::plan::{Constant, Digits, Item, Number, Plan, Record, Step};

/// The metadata of a field that is a JSON list of other names.
const ALIASES: &str = "logpersister.aliases";

/// Other names under which a writer may have the field.
pub fn aliases(field: &Field) -> Vec<String> {
    field.metadata().get(ALIASES).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// What is in a column that a writer does not have: its default, else null.
pub fn of_absent(field: &Field, path: &str) -> Result<Plan, String> {
    if let Some(text) = field.metadata().get(DEFAULT) {
        let mut bytes = Vec::new();
        let value = serde_json::from_str(text).ok();
        let plan = value.and_then(|value: Value| encode(&value, field, path, &mut bytes));
        return match plan {
            Some(plan) => Ok(Plan::Default(Box::new(Constant { declared: text.chars().count(), bytes, plan }))),
            None => Err(format!("{path}: its default does not fit its type")),
        };
    }
    match field.is_nullable() {
        true => Ok(Plan::Null),
        false => Err(format!("{path}: it is required, has no default, and is not in the writer's schema")),
    }
}

/// Appends a default in Avro's encoding, and returns how that is read; None: it does not fit.
fn encode(value: &Value, field: &Field, path: &str, bytes: &mut Vec<u8>) -> Option<Plan> {
    if value.is_null() {
        return field.is_nullable().then_some(Plan::Null);
    }
    Some(match field.data_type() {
        DataType::Boolean => {
            bytes.push(u8::from(value.as_bool()?));
            Plan::Bool
        }
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => {
            long(bytes, value.as_i64()?);
            Plan::Long
        }
        DataType::Float32 | DataType::Float64 => {
            bytes.extend(value.as_f64()?.to_le_bytes());
            Plan::Real(Number::Double)
        }
        DataType::Date32 => {
            long(bytes, value.as_i64()?);
            Plan::Date
        }
        DataType::Time32(unit) | DataType::Time64(unit) => {
            long(bytes, value.as_i64()?);
            Plan::Time(Number::Long, per_second(*unit))
        }
        DataType::Timestamp(unit, _) => {
            long(bytes, value.as_i64()?);
            Plan::Instant(Number::Long, per_second(*unit))
        }
        DataType::Utf8 => {
            sized(bytes, value.as_str()?.as_bytes());
            Plan::Text
        }
        DataType::Binary => {
            sized(bytes, &latin(value.as_str()?)?);
            Plan::Bytes
        }
        DataType::Decimal128(..) => {
            sized(bytes, &latin(value.as_str()?)?);
            Plan::Decimal(Digits { fixed: None, factor: 1 })
        }
        DataType::Struct(columns) => Plan::Record(fields(value, columns, path, bytes)?),
        DataType::List(item) => {
            let values = value.as_array()?.iter().map(|value| (None, value));
            let plan = blocks(values, item, &format!("{path}[]"), bytes)?;
            Plan::List(Box::new(Item { plan, growth: 0 }))
        }
        DataType::Map(entries, _) => {
            let (_, _, item) = entry_fields(entries).ok()?;
            let values = value.as_object()?.iter().map(|(key, value)| (Some(key.as_bytes()), value));
            let plan = blocks(values, item, &format!("{path}{{}}"), bytes)?;
            Plan::Map(Box::new(Item { plan, growth: 0 }))
        }
        _ => return None,
    })
}

fn fields(value: &Value, columns: &Fields, path: &str, bytes: &mut Vec<u8>) -> Option<Record> {
    let object = value.as_object()?;
    let (mut fields, mut absent) = (Vec::new(), Vec::new());
    for (index, column) in columns.iter().enumerate() {
        let path = below(path, column);
        match object.get(column.name()) {
            Some(value) => fields.push(Step::Into(index, encode(value, column, &path, bytes)?)),
            None => absent.push((index, of_absent(column, &path).ok()?)),
        }
    }
    Some(Record { fields, absent })
}

/// One item a block would need one plan for all: so each item is read by a union of as many branches as there are items.
fn blocks<'a>(
    values: impl Iterator<Item = (Option<&'a [u8]>, &'a Value)>,
    item: &Field,
    path: &str,
    bytes: &mut Vec<u8>,
) -> Option<Plan> {
    let mut plans = Vec::new();
    for (key, value) in values {
        long(bytes, 1);
        if let Some(key) = key {
            sized(bytes, key);
        }
        long(bytes, i64::try_from(plans.len()).ok()?);
        plans.push(encode(value, item, path, bytes)?);
    }
    long(bytes, 0);
    Some(Plan::Union(plans))
}

fn sized(bytes: &mut Vec<u8>, content: &[u8]) {
    long(bytes, content.len() as i64);
    bytes.extend_from_slice(content);
}

fn long(bytes: &mut Vec<u8>, number: i64) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

/// Bytes as defaults have them: a character for each.
fn latin(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|character| u8::try_from(u32::from(character)).ok()).collect()
}

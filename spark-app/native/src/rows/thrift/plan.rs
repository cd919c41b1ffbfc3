//! What becomes of the fields of a struct, as `logpersister.values.thrift.plan` has resolved it against the columns.

use std::collections::HashMap;

use arrow_schema::{DataType, Field as Column, Fields};
use serde_json::{Map, Value as Json};

use super::super::nested::entry_fields;
use super::super::target::width;
use super::input::Wire;

/// Characters of the longest whole number, and of one of 32 bits.
const LONGEST_NUMBER: usize = 20;
const LONGEST_SMALL_NUMBER: usize = 11;

/// A struct into the columns of a struct.
#[derive(Debug)]
pub struct Plan {
    /// In the order of their numbers.
    fields: Vec<Field>,
    /// For each column what stands in it where its field is not; None: null, if the column may be null.
    pub defaults: Vec<Option<Default>>,
    /// Bytes that a struct can add to its columns beyond its own.
    pub added: usize,
}

#[derive(Debug)]
pub struct Field {
    pub number: i16,
    /// The position of its column.
    pub column: usize,
    pub value: Value,
}

/// One value into one column.
#[derive(Debug)]
pub enum Value {
    /// Bools, numbers and texts.
    Scalar(Wire),
    Enum(Names),
    Struct(Plan),
    List(Wire, Box<Item>),
    Map(Box<Entry>),
}

/// Items of lists and sets, values of maps.
#[derive(Debug)]
pub struct Item {
    pub value: Value,
    /// Bytes that it takes in the columns, whatever it takes in the value.
    pub growth: usize,
}

#[derive(Debug)]
pub struct Entry {
    /// A scalar or an enum.
    pub key: Value,
    pub item: Item,
}

/// The names of an enum.
#[derive(Debug)]
pub struct Names(HashMap<i64, Box<str>>);

/// What stands where a field is not.
#[derive(Debug)]
pub enum Default {
    Bool(bool),
    Integer(i64),
    Double(f64),
    Text(Box<[u8]>),
    /// A list or a map without items.
    Empty,
}

impl Plan {
    /// The field of a number, which is often the one at `expected`.
    #[inline(always)]
    pub fn find(&self, number: i16, expected: usize) -> Option<usize> {
        if self.fields.get(expected).is_some_and(|field| field.number == number) {
            return Some(expected);
        }
        self.fields.binary_search_by_key(&number, |field| field.number).ok()
    }

    #[inline(always)]
    pub fn field(&self, index: usize) -> &Field {
        &self.fields[index]
    }

    /// Reads what Python has resolved; an error is one of ours.
    pub fn parse(text: &str, columns: &Fields) -> Result<Self, String> {
        let resolved: Json = serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
        plan(&resolved, columns).ok_or_else(|| "it is no plan for these columns".to_owned())
    }
}

impl Value {
    #[inline(always)]
    pub fn wire(&self) -> Wire {
        match self {
            Self::Scalar(wire) | Self::List(wire, _) => *wire,
            Self::Enum(_) => Wire::I32,
            Self::Struct(_) => Wire::Struct,
            Self::Map(_) => Wire::Map,
        }
    }

    /// Bytes that it can add to its column beyond its own.
    fn added(&self) -> usize {
        match self {
            Self::Enum(names) => names.longest(),
            Self::Struct(plan) => plan.added,
            _ => 0,
        }
    }

    /// The same of the key of a map, which becomes a text.
    fn added_as_key(&self) -> usize {
        match self {
            Self::Enum(names) => names.longest(),
            Self::Scalar(Wire::Sized) => 0,
            _ => LONGEST_NUMBER,
        }
    }
}

impl Names {
    #[inline]
    pub fn get(&self, number: i64) -> Option<&str> {
        self.0.get(&number).map(|name| &**name)
    }

    fn longest(&self) -> usize {
        self.0.values().map(|name| name.len()).max().unwrap_or(0).max(LONGEST_SMALL_NUMBER)
    }
}

fn plan(resolved: &Json, columns: &Fields) -> Option<Plan> {
    let written = resolved.as_array()?;
    if written.len() != columns.len() {
        return None;
    }
    let (mut fields, mut defaults, mut added) = (Vec::new(), Vec::new(), 0);
    for ((one, column), position) in written.iter().zip(columns).zip(0..) {
        let number = i16::try_from(one.get("number")?.as_i64()?).ok()?;
        let value = value(one.get("kind")?, column)?;
        let default = match one.get("default") {
            None | Some(Json::Null) => None,
            Some(found) => Some(default(found, &value, column)?),
        };
        added += value.added();
        if let Some(Default::Text(text)) = &default {
            added += text.len();
        }
        fields.push(Field { number, column: position, value });
        defaults.push(default);
    }
    fields.sort_by_key(|field| field.number);
    Some(Plan { fields, defaults, added })
}

fn value(kind: &Json, column: &Column) -> Option<Value> {
    if let Some(word) = kind.as_str() {
        return scalar(word).map(Value::Scalar);
    }
    let (word, inner) = kind.as_object().and_then(|kind| kind.iter().next())?;
    match (word.as_str(), column.data_type()) {
        ("enum", _) => Some(Value::Enum(names(inner.as_object()?)?)),
        ("struct", DataType::Struct(columns)) => plan(inner, columns).map(Value::Struct),
        ("list", DataType::List(column)) => Some(Value::List(Wire::List, item(inner, column, 0)?.into())),
        ("set", DataType::List(column)) => Some(Value::List(Wire::Set, item(inner, column, 0)?.into())),
        ("map", DataType::Map(entries, _)) => {
            let (_, key_column, column) = entry_fields(entries).ok()?;
            let key = value(inner.get(0)?, key_column)?;
            let item = item(inner.get(1)?, column, key.added_as_key())?;
            Some(Value::Map(Entry { key, item }.into()))
        }
        _ => None,
    }
}

fn item(kind: &Json, column: &Column, key: usize) -> Option<Item> {
    let value = value(kind, column)?;
    let growth = width(column.data_type()) + value.added() + key;
    Some(Item { value, growth })
}

fn scalar(word: &str) -> Option<Wire> {
    Some(match word {
        "bool" => Wire::Bool,
        "i8" => Wire::I8,
        "i16" => Wire::I16,
        "i32" => Wire::I32,
        "i64" => Wire::I64,
        "double" => Wire::Double,
        "string" | "binary" => Wire::Sized,
        _ => return None,
    })
}

fn names(written: &Map<String, Json>) -> Option<Names> {
    let pair = |(number, name): (&String, &Json)| Some((number.parse().ok()?, name.as_str()?.into()));
    written.iter().map(pair).collect::<Option<_>>().map(Names)
}

fn default(written: &Json, value: &Value, column: &Column) -> Option<Default> {
    if let (Value::Enum(names), DataType::Utf8) = (value, column.data_type()) {
        return names.get(written.as_i64()?).map(|name| Default::Text(name.as_bytes().into()));
    }
    Some(match value.wire() {
        Wire::Bool => Default::Bool(written.as_bool()?),
        Wire::I8 | Wire::I16 | Wire::I32 | Wire::I64 => Default::Integer(written.as_i64()?),
        Wire::Double => Default::Double(written.as_f64()?),
        Wire::Sized => Default::Text(written.as_str()?.as_bytes().into()),
        Wire::List | Wire::Set | Wire::Map => Default::Empty,
        Wire::Struct | Wire::Uuid => return None,
    })
}

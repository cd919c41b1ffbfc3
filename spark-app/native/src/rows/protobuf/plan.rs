//! How messages of one type become rows: its fields are found by the names of the columns once, and then by their numbers.

use std::sync::Arc;

use arrow_schema::{DataType, Field as Column, Fields};

use super::super::nested::entry_fields;
use super::super::target::{DEFAULT, below, epoch, notation, place, told, width};
use super::input::Wire;
use super::json::Json;
use super::schema::{Field, Id, Kind, Names, Scalar, Schema};

/// Field numbers up to here are found by their place.
const FEW: usize = 64;
const NONE: u16 = u16::MAX;
/// Bytes that a character of a default's text can become in the columns.
const GROWTH_OF_A_CHARACTER: usize = 16;

/// What becomes of a message.
#[derive(Debug)]
pub struct Plan {
    /// Those that count, by their numbers.
    pub fields: Vec<FieldPlan>,
    places: Vec<u16>,
    /// For each column what stands in it where no field was read into it.
    pub missing: Vec<Missing>,
    /// Bytes that a message can add to its columns beyond its own.
    pub added: usize,
}

#[derive(Debug)]
pub struct FieldPlan {
    pub number: u32,
    pub wire: Wire,
    pub shape: Shape,
    /// Values other than these are as if the field was unknown.
    pub closed: Option<Arc<Names>>,
    pub oneof: Option<usize>,
}

#[derive(Debug)]
pub enum Shape {
    Single(usize, Value),
    List(usize, Item),
    Map(usize, Box<Entry>),
    /// It has no column, but a field of its `oneof` has.
    Sibling {
        is_message: bool,
    },
}

impl Shape {
    /// Whether it is one message, whose pieces are merged.
    pub fn is_message(&self) -> bool {
        match self {
            Self::Single(_, value) => value.is_message(),
            Self::Sibling { is_message } => *is_message,
            _ => false,
        }
    }
}

/// One value into one column.
#[derive(Debug)]
pub enum Value {
    Scalar(Scalar),
    Enum(Arc<Names>),
    Timestamp,
    /// A message with a scalar in field 1.
    Wrapper(Scalar),
    Json(Json),
    Message(Box<Plan>),
}

impl Value {
    /// Whether it is in a message of its own.
    pub fn is_message(&self) -> bool {
        !matches!(self, Self::Scalar(_) | Self::Enum(_))
    }
}

#[derive(Debug)]
pub struct Item {
    pub value: Value,
    /// Bytes that an item takes in the columns, whatever it takes in the value.
    pub growth: usize,
}

/// An entry of a map: a message with the key in field 1 and the value in field 2.
#[derive(Debug)]
pub struct Entry {
    pub key: Scalar,
    pub wire: Wire,
    pub closed: Option<Arc<Names>>,
    pub item: Item,
}

#[derive(Debug)]
pub enum Missing {
    /// Null, if the column may be null.
    Null,
    /// The zero of a field that cannot be absent.
    Zero(Value),
    /// What was read into the list, or the map, is whole.
    List,
    Map,
    /// The writer does not have it: zero, or this text.
    Default(Option<Box<[u8]>>),
}

impl Plan {
    /// The field of a number, which is often the one at `expected` or the one before.
    #[inline(always)]
    pub fn find(&self, number: u32, expected: usize) -> Option<usize> {
        if self.fields.get(expected).is_some_and(|field| field.number == number) {
            return Some(expected);
        }
        match self.places.get(number as usize) {
            Some(&NONE) => None,
            Some(place) => Some((*place).into()),
            None => self.fields.binary_search_by_key(&number, |field| field.number).ok(),
        }
    }
}

impl FieldPlan {
    /// Whether a value is of this field, however it is encoded; what is not is skipped like an unknown field.
    #[inline(always)]
    pub fn takes(&self, wire: Wire) -> bool {
        self.wire == wire || (wire == Wire::Sized && self.is_packable())
    }

    /// Whether many values may stand behind one tag.
    #[inline]
    pub fn is_packable(&self) -> bool {
        matches!(self.shape, Shape::List(..)) && !matches!(self.wire, Wire::Sized | Wire::Group)
    }
}

/// Resolves a message against the columns. An error names the field and what stands on both sides.
pub fn compile(schema: &Schema, id: Id, columns: &Fields) -> Result<Plan, String> {
    message(schema, id, columns, "")
}

fn message(schema: &Schema, id: Id, columns: &Fields, path: &str) -> Result<Plan, String> {
    let written = &schema.messages[id].fields;
    let mut fields = Vec::with_capacity(columns.len());
    let mut missing = Vec::with_capacity(columns.len());
    let mut added = 0;
    for (index, column) in columns.iter().enumerate() {
        let path = below(path, column);
        let Some(field) = written.iter().find(|field| field.name == *column.name()) else {
            let (absent, growth) = absent(column, &path)?;
            missing.push(absent);
            added += growth;
            continue;
        };
        let shape = shape(schema, field, index, column, &path)?;
        added += growth(&shape);
        missing.push(match &shape {
            Shape::List(..) => Missing::List,
            Shape::Map(..) => Missing::Map,
            _ if field.presence => Missing::Null,
            _ => Missing::Zero(value(schema, field, column, &path)?),
        });
        fields.push(planned(field, shape));
    }
    let oneofs: Vec<_> = fields.iter().filter_map(|field| field.oneof).collect();
    for field in written {
        let is_sibling = field.oneof.is_some_and(|oneof| oneofs.contains(&oneof));
        if is_sibling && fields.iter().all(|known| known.number != field.number) {
            fields.push(planned(field, Shape::Sibling { is_message: matches!(field.kind, Kind::Message { .. }) }));
        }
    }
    fields.sort_by_key(|field| field.number);
    let highest = fields.last().map_or(0, |field| field.number as usize);
    let mut places = vec![NONE; FEW.min(highest + 1)];
    if fields.len() < usize::from(NONE) {
        for (field, position) in fields.iter().zip(0..) {
            if let Some(place) = places.get_mut(field.number as usize) {
                *place = position;
            }
        }
    } else {
        places.clear();
    }
    Ok(Plan { fields, places, missing, added })
}

fn planned(field: &Field, shape: Shape) -> FieldPlan {
    FieldPlan { number: field.number, wire: field.kind.wire(), closed: closed(&field.kind), oneof: field.oneof, shape }
}

fn closed(kind: &Kind) -> Option<Arc<Names>> {
    match kind {
        Kind::Enum(names) if names.closed => Some(names.clone()),
        _ => None,
    }
}

/// What stands in a column that the writer does not have, and how many bytes that takes.
fn absent(column: &Column, path: &str) -> Result<(Missing, usize), String> {
    let default = column.metadata().get(DEFAULT);
    if default.is_none() && column.is_nullable() {
        return Ok((Missing::Null, 0));
    }
    let Some(default) = default else {
        return Err(format!("{path}: it is required, and is not in the writer's message"));
    };
    let text = serde_json::from_str::<String>(default).ok().map(|text| text.into_bytes().into());
    Ok((Missing::Default(text), default.len() * GROWTH_OF_A_CHARACTER))
}

fn shape(schema: &Schema, field: &Field, index: usize, column: &Column, path: &str) -> Result<Shape, String> {
    match column.data_type() {
        DataType::Map(entries, _) if field.map => {
            let (_, _, inner) = entry_fields(entries).map_err(|error| error.to_string())?;
            Ok(Shape::Map(index, Box::new(entry(schema, field, inner, &format!("{path}{{}}"))?)))
        }
        DataType::List(inner) if field.repeated && !field.map => {
            Ok(Shape::List(index, item(schema, field, inner, &format!("{path}[]"))?))
        }
        _ if field.repeated => Err(misfit(schema, field, column, path)),
        _ => Ok(Shape::Single(index, value(schema, field, column, path)?)),
    }
}

fn entry(schema: &Schema, field: &Field, column: &Column, path: &str) -> Result<Entry, String> {
    let broken = || format!("{path}: its message is no entry of a map");
    let Kind::Message { id, .. } = field.kind else { return Err(broken()) };
    let find = |number| schema.messages[id].fields.iter().find(|field| field.number == number).ok_or_else(broken);
    let (key, inner) = (find(1)?, find(2)?);
    let Kind::Scalar(key) = key.kind else { return Err(broken()) };
    let item = item(schema, inner, column, path)?;
    Ok(Entry { key, wire: inner.kind.wire(), closed: closed(&inner.kind), item })
}

fn item(schema: &Schema, field: &Field, column: &Column, path: &str) -> Result<Item, String> {
    let value = value(schema, field, column, path)?;
    let growth = width(column.data_type()) + added(&value);
    Ok(Item { value, growth })
}

fn value(schema: &Schema, field: &Field, column: &Column, path: &str) -> Result<Value, String> {
    let found = match &field.kind {
        Kind::Scalar(scalar) => scalar_fits(*scalar, column).then_some(Value::Scalar(*scalar)),
        Kind::Enum(names) => enum_fits(column).then(|| Value::Enum(names.clone())),
        Kind::Message { id, .. } => match (well_known(&schema.messages[*id].name), column.data_type()) {
            (_, DataType::Struct(columns)) => Some(Value::Message(Box::new(message(schema, *id, columns, path)?))),
            (Some(Known::Timestamp), DataType::Timestamp(..)) => Some(Value::Timestamp),
            (Some(Known::Json(json)), DataType::Utf8) if notation(column) == Some("json") => Some(Value::Json(json)),
            (Some(Known::Wrapper(scalar)), _) if scalar_fits(scalar, column) => Some(Value::Wrapper(scalar)),
            _ => None,
        },
    };
    found.ok_or_else(|| misfit(schema, field, column, path))
}

fn scalar_fits(scalar: Scalar, column: &Column) -> bool {
    if notation(column) == Some("json") {
        return false;
    }
    match column.data_type() {
        DataType::Boolean => scalar == Scalar::Bool,
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => scalar.is_integer(),
        DataType::Float32 => scalar == Scalar::Float,
        DataType::Float64 => matches!(scalar, Scalar::Float | Scalar::Double) || scalar.is_small_integer(),
        DataType::Decimal128(..) => scalar.is_integer() || scalar == Scalar::String,
        DataType::Timestamp(..) if epoch(column).is_some() => scalar.is_integer(),
        DataType::Timestamp(..) | DataType::Date32 | DataType::Time32(_) | DataType::Time64(_) => {
            scalar == Scalar::String
        }
        DataType::Utf8 | DataType::Binary => matches!(scalar, Scalar::String | Scalar::Bytes),
        _ => false,
    }
}

fn enum_fits(column: &Column) -> bool {
    match column.data_type() {
        DataType::Utf8 => notation(column).is_none(),
        other => matches!(other, DataType::Int32 | DataType::Int64),
    }
}

enum Known {
    Timestamp,
    Wrapper(Scalar),
    Json(Json),
}

fn well_known(name: &str) -> Option<Known> {
    Some(match name.strip_prefix("google.protobuf.")? {
        "Timestamp" => Known::Timestamp,
        "Struct" => Known::Json(Json::Object),
        "Value" => Known::Json(Json::Value),
        "ListValue" => Known::Json(Json::Array),
        "BoolValue" => Known::Wrapper(Scalar::Bool),
        "Int32Value" => Known::Wrapper(Scalar::Int32),
        "Int64Value" => Known::Wrapper(Scalar::Int64),
        "UInt32Value" => Known::Wrapper(Scalar::Uint32),
        "UInt64Value" => Known::Wrapper(Scalar::Uint64),
        "FloatValue" => Known::Wrapper(Scalar::Float),
        "DoubleValue" => Known::Wrapper(Scalar::Double),
        "StringValue" => Known::Wrapper(Scalar::String),
        "BytesValue" => Known::Wrapper(Scalar::Bytes),
        _ => return None,
    })
}

fn misfit(schema: &Schema, field: &Field, column: &Column, path: &str) -> String {
    let kind = match &field.kind {
        Kind::Scalar(scalar) => scalar.word().to_owned(),
        Kind::Enum(names) => format!("the enum {}", names.name),
        Kind::Message { .. } if field.map => "a map".to_owned(),
        Kind::Message { id, .. } => format!("the message {}", schema.messages[*id].name),
    };
    let repeated = if field.repeated && !field.map { "repeated " } else { "" };
    format!("{}: the writer's message has {repeated}{kind}, which cannot become {}", place(path), told(column))
}

fn growth(shape: &Shape) -> usize {
    match shape {
        Shape::Single(_, value) => added(value),
        _ => 0,
    }
}

/// Bytes that a value can add to its column beyond its own; those of JSON are counted as they are written.
fn added(value: &Value) -> usize {
    match value {
        Value::Enum(names) => names.longest(),
        Value::Message(plan) => plan.added,
        _ => 0,
    }
}

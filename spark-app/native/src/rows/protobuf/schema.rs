//! Messages and enums of a protobuf schema, resolved by `logpersister.values.protobuf.schema`, from its JSON.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::input::Wire;

/// A place in [`Schema::messages`].
pub type Id = usize;

#[derive(Debug)]
pub struct Schema {
    pub messages: Vec<Message>,
    /// The messages of the file that values are of, in its order.
    roots: Vec<Root>,
    /// The same and all that are in them, also entries of maps, by their full names.
    sorted: Vec<Id>,
    by_name: HashMap<String, Id>,
}

#[derive(Debug)]
struct Root {
    id: Id,
    nested: Vec<Root>,
}

#[derive(Debug)]
pub struct Message {
    pub name: String,
    pub fields: Vec<Field>,
}

#[derive(Debug)]
pub struct Field {
    pub number: u32,
    pub name: String,
    pub kind: Kind,
    pub repeated: bool,
    /// Of maps: the message of entries is `kind`.
    pub map: bool,
    /// Whether a value without it is known from one with zero.
    pub presence: bool,
    pub oneof: Option<usize>,
}

#[derive(Debug, Clone)]
pub enum Kind {
    Scalar(Scalar),
    Enum(Arc<Names>),
    Message {
        id: Id,
        /// Encoded as a group.
        delimited: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    Bool,
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Sint64,
    Fixed32,
    Fixed64,
    Sfixed32,
    Sfixed64,
    Float,
    Double,
    String,
    Bytes,
}

/// The values of an enum.
#[derive(Debug)]
pub struct Names {
    pub name: String,
    /// Other numbers are as if their field was unknown.
    pub closed: bool,
    by_number: HashMap<i32, Box<str>>,
}

impl Names {
    #[inline]
    pub fn get(&self, number: i32) -> Option<&str> {
        self.by_number.get(&number).map(|name| &**name)
    }

    /// Whether a value is one, and not to be taken for an unknown field.
    #[inline]
    pub fn takes(&self, number: i32) -> bool {
        !self.closed || self.by_number.contains_key(&number)
    }

    pub fn longest(&self) -> usize {
        self.by_number.values().map(|name| name.len()).max().unwrap_or(0).max(LONGEST_NUMBER)
    }
}

/// Characters of a number that has no name.
const LONGEST_NUMBER: usize = 11;

impl Scalar {
    const WORDS: [(&str, Self); 15] = [
        ("bool", Self::Bool),
        ("int32", Self::Int32),
        ("int64", Self::Int64),
        ("uint32", Self::Uint32),
        ("uint64", Self::Uint64),
        ("sint32", Self::Sint32),
        ("sint64", Self::Sint64),
        ("fixed32", Self::Fixed32),
        ("fixed64", Self::Fixed64),
        ("sfixed32", Self::Sfixed32),
        ("sfixed64", Self::Sfixed64),
        ("float", Self::Float),
        ("double", Self::Double),
        ("string", Self::String),
        ("bytes", Self::Bytes),
    ];

    fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, scalar)| *scalar)
    }

    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, scalar)| *scalar == self).map_or("", |(word, _)| word)
    }

    pub fn wire(self) -> Wire {
        match self {
            Self::Fixed32 | Self::Sfixed32 | Self::Float => Wire::Fixed32,
            Self::Fixed64 | Self::Sfixed64 | Self::Double => Wire::Fixed64,
            Self::String | Self::Bytes => Wire::Sized,
            _ => Wire::Varint,
        }
    }

    pub fn is_integer(self) -> bool {
        !matches!(self, Self::Bool | Self::Float | Self::Double | Self::String | Self::Bytes)
    }

    pub fn is_small_integer(self) -> bool {
        matches!(self, Self::Int32 | Self::Uint32 | Self::Sint32 | Self::Fixed32 | Self::Sfixed32)
    }
}

impl Kind {
    pub fn wire(&self) -> Wire {
        match self {
            Self::Scalar(scalar) => scalar.wire(),
            Self::Enum(_) => Wire::Varint,
            Self::Message { delimited: true, .. } => Wire::Group,
            Self::Message { .. } => Wire::Sized,
        }
    }
}

impl Schema {
    /// Reads what Python has resolved; an error is one of ours.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
        read(&value).ok_or_else(|| "it is no resolved schema".to_owned())
    }

    /// The message that indexes lead to: of the file, and then of what is in the one before.
    pub fn at(&self, indexes: &[usize]) -> Option<Id> {
        let mut inside = &self.roots;
        let mut found = None;
        for index in indexes {
            let root = inside.get(*index)?;
            found = Some(root.id);
            inside = &root.nested;
        }
        found
    }

    /// The message at a place among all of the file, in the order of their full names.
    pub fn sorted(&self, place: usize) -> Option<Id> {
        self.sorted.get(place).copied()
    }

    /// The message of this name: with its package, or one of the file without it.
    pub fn named(&self, name: &str) -> Option<Id> {
        let full = |root: &&Root| self.messages[root.id].name.rsplit('.').next() == Some(name);
        self.by_name.get(name).copied().or_else(|| self.roots.iter().find(full).map(|root| root.id))
    }
}

fn read(value: &Value) -> Option<Schema> {
    let mut enums = HashMap::new();
    for (name, one) in value.get("enums")?.as_object()? {
        enums.insert(name.clone(), Arc::new(read_enum(name, one)?));
    }
    let written = value.get("messages")?.as_object()?;
    let by_name: HashMap<String, Id> = written.keys().cloned().zip(0..).collect();
    let messages = written
        .iter()
        .map(|(name, one)| {
            let fields = one.as_array()?.iter().map(|field| read_field(field.as_object()?, &by_name, &enums));
            Some(Message { name: name.clone(), fields: fields.collect::<Option<_>>()? })
        })
        .collect::<Option<_>>()?;
    let roots = read_roots(value.get("roots")?, &by_name)?;
    let sorted = match value.get("sorted") {
        None => Vec::new(),
        Some(names) => {
            names.as_array()?.iter().map(|name| by_name.get(name.as_str()?).copied()).collect::<Option<_>>()?
        }
    };
    Some(Schema { messages, roots, sorted, by_name })
}

fn read_enum(name: &str, value: &Value) -> Option<Names> {
    let mut by_number = HashMap::new();
    for one in value.get("values")?.as_array()? {
        let number = i32::try_from(one.get(0)?.as_i64()?).ok()?;
        // Of aliases the first one counts.
        by_number.entry(number).or_insert_with(|| one.get(1).and_then(Value::as_str).unwrap_or_default().into());
    }
    Some(Names { name: name.to_owned(), closed: value.get("closed")?.as_bool()?, by_number })
}

fn read_field(
    field: &Map<String, Value>,
    by_name: &HashMap<String, Id>,
    enums: &HashMap<String, Arc<Names>>,
) -> Option<Field> {
    let flag = |key: &str| field.get(key).and_then(Value::as_bool).unwrap_or(false);
    let of = || field.get("of").and_then(Value::as_str);
    let kind = match field.get("kind")?.as_str()? {
        "enum" => Kind::Enum(enums.get(of()?)?.clone()),
        word @ ("message" | "group") => Kind::Message { id: *by_name.get(of()?)?, delimited: word == "group" },
        word => Kind::Scalar(Scalar::from_word(word)?),
    };
    Some(Field {
        number: u32::try_from(field.get("number")?.as_u64()?).ok()?,
        name: field.get("name")?.as_str()?.to_owned(),
        kind,
        repeated: flag("repeated"),
        map: flag("map"),
        presence: flag("presence"),
        oneof: field.get("oneof").and_then(Value::as_u64).map(|oneof| oneof as usize),
    })
}

fn read_roots(value: &Value, by_name: &HashMap<String, Id>) -> Option<Vec<Root>> {
    let read = |one: &Value| {
        let id = *by_name.get(one.get(0)?.as_str()?)?;
        Some(Root { id, nested: read_roots(one.get(1)?, by_name)? })
    };
    value.as_array()?.iter().map(read).collect()
}

//! By which schemas values were written, as their headers say: what tells of which type they are.
//!
//! When a value is judged otherwise than before, `RULES` in `records/type_names.py` must be raised.

use std::collections::HashMap;

use arrow_array::builder::Int32Builder;
use arrow_array::{Array, BinaryArray, Int32Array};

use super::avro::Branch;
use super::framing::{Framing, Opener};
use super::protobuf::{Selector, split};

/// What of a schema a value is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside {
    /// All of it.
    Nothing,
    /// One of the messages of a file of protobuf.
    Messages,
    /// One of the branches of a union of Avro.
    Branches,
}

impl Inside {
    pub const WORDS: [(&str, Self); 3] =
        [("nothing", Self::Nothing), ("messages", Self::Messages), ("branches", Self::Branches)];

    pub fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, inside)| *inside)
    }
}

/// A schema, and what of it a value is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaKey {
    pub id: u128,
    /// Places of a message and of those around it, from the outside in; or that of a branch.
    pub places: Vec<i64>,
    /// Of a message, where headers have names.
    pub name: String,
}

/// The schemas of a column of values.
#[derive(Debug)]
pub struct SchemaKeys {
    /// Each once.
    pub keys: Vec<SchemaKey>,
    /// For each value its key; null where it has no header.
    pub indices: Int32Array,
}

/// Reads the headers of all values. Total; equal messages may have several keys, as headers may say them in several ways.
pub fn schema_keys(values: &BinaryArray, framing: Framing, inside: Inside) -> SchemaKeys {
    let mut keys = Vec::new();
    let mut known: HashMap<Raw<'_>, i32> = HashMap::new();
    let mut indices = Int32Builder::with_capacity(values.len());
    let mut last = None;
    let mut opener = Opener::new(framing);
    for value in values {
        let Some(raw) = value.and_then(|value| Raw::read(value, framing, inside, &mut opener)) else {
            indices.append_null();
            continue;
        };
        // Mostly it is the key of the value before.
        let index = match last {
            Some((before, index)) if before == raw => index,
            _ => *known.entry(raw).or_insert_with(|| {
                keys.push(raw.key());
                keys.len() as i32 - 1
            }),
        };
        last = Some((raw, index));
        indices.append_value(index);
    }
    SchemaKeys { keys, indices: indices.finish() }
}

/// A key as it stands in a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Raw<'a> {
    id: u128,
    of: Of<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Of<'a> {
    Whole,
    Message(Selector<'a>),
    Branch(i64),
}

/// Bytes in front of which branch, or which message of Glue, a value says it is.
const NUMBER: usize = 10;

impl<'a> Raw<'a> {
    #[inline]
    fn read(value: &'a [u8], framing: Framing, inside: Inside, opener: &mut Opener) -> Option<Self> {
        let header = framing.header(value).ok()?;
        let of = match inside {
            Inside::Nothing => Of::Whole,
            _ if header.is_deflated => return Self::begin(value, framing, inside, opener),
            Inside::Messages => Of::Message(split(framing, header.body).ok()?.0),
            Inside::Branches => Of::Branch(Branch::read(header.body)?.0),
        };
        Some(Self { id: header.id, of })
    }

    /// The same of a value whose body is deflated, of which only the begin is inflated.
    fn begin(value: &[u8], framing: Framing, inside: Inside, opener: &mut Opener) -> Option<Self> {
        let (id, begin, length) = opener.peek::<NUMBER>(value).ok()?;
        let begin = &begin[..length];
        let of = match inside {
            Inside::Nothing => Of::Whole,
            Inside::Messages => match split(framing, begin).ok()?.0 {
                Selector::Sorted(place) => Of::Message(Selector::Sorted(place)),
                _ => return None,
            },
            Inside::Branches => Of::Branch(Branch::read(begin)?.0),
        };
        Some(Self { id, of })
    }

    fn key(self) -> SchemaKey {
        let (places, name) = match self.of {
            Of::Whole => (Vec::new(), ""),
            Of::Branch(place) => (vec![place], ""),
            Of::Message(Selector::Name(name)) => (Vec::new(), name),
            Of::Message(selector) => (selector.places(), ""),
        };
        SchemaKey { id: self.id, places, name: name.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(values: Vec<Option<&[u8]>>, framing: Framing, inside: Inside) -> (Vec<SchemaKey>, Vec<Option<i32>>) {
        let found = schema_keys(&BinaryArray::from_opt_vec(values), framing, inside);
        (found.keys, found.indices.iter().collect())
    }

    fn key(id: u128, places: &[i64]) -> SchemaKey {
        SchemaKey { id, places: places.to_vec(), name: String::new() }
    }

    #[test]
    fn ids_are_found_and_what_has_no_header_has_none() {
        let values: Vec<Option<&[u8]>> = vec![
            Some(b"\0\0\0\0\x07x"),
            None,
            Some(b"\0\0\0\0\x09"),
            Some(b"\x01\0\0\0\x09"),
            Some(b"\0\0\0"),
            Some(b"\0\0\0\0\x07"),
        ];
        let (keys, indices) = found(values, Framing::Confluent, Inside::Nothing);
        assert_eq!(keys, [key(7, &[]), key(9, &[])]);
        assert_eq!(indices, [Some(0), None, Some(1), None, None, Some(0)]);
    }

    #[test]
    fn messages_are_told_by_places_or_by_name() {
        let values: Vec<Option<&[u8]>> = vec![
            Some(b"\0\0\0\0\x07\0x"),
            Some(b"\0\0\0\0\x07\x04\x02\x04x"),
            Some(b"\0\0\0\0\x07\x04\x02\x04y"),
            Some(b"\0\0\0\0\x07\x04\x02"),
            Some(b"\0\0\0\0\x07"),
        ];
        let (keys, indices) = found(values, Framing::Confluent, Inside::Messages);
        assert_eq!(keys, [key(7, &[0]), key(7, &[1, 2])]);
        assert_eq!(indices, [Some(0), Some(1), Some(1), None, None]);
        let values: Vec<Option<&[u8]>> =
            vec![Some(b"\0\0\0\0\0\0\0\0\x07\x03\x0a\x01Mx"), Some(b"\0\0\0\0\0\0\0\0\x07\x03\x0a\x01\xff")];
        let (keys, indices) = found(values, Framing::Apicurio, Inside::Messages);
        assert_eq!(keys, [SchemaKey { id: 7, places: vec![], name: "M".into() }]);
        assert_eq!(indices, [Some(0), None]);
    }

    #[test]
    fn branches_are_places() {
        let values: Vec<Option<&[u8]>> =
            vec![Some(b"\0\0\0\0\x07\x02x"), Some(b"\0\0\0\0\x07\0"), Some(b"\0\0\0\0\x07"), Some(b"\0\0\0\0\x07\x01")];
        let (keys, indices) = found(values, Framing::Confluent, Inside::Branches);
        assert_eq!(keys, [key(7, &[1]), key(7, &[0]), key(7, &[-1])]);
        assert_eq!(indices, [Some(0), Some(1), None, Some(2)]);
    }
}

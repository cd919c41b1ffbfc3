//! What stands between the header of a value and its message: which message of the schema it is.

use super::super::framing::Framing;
use super::super::reason::Refusal;
use super::input::{Input, Wire};
use super::schema::{Id, Schema};

/// Messages that may be in each other: of more no index is read.
const MOST_INDEXES: u64 = 32;

/// What names one of the messages of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Selector<'a> {
    /// The one that the manifest names.
    Given,
    /// The first one of the file.
    First,
    /// Confluent's: zigzag numbers.
    Indexes(&'a [u8]),
    /// Apicurio's.
    Name(&'a str),
    /// Glue's: the place among all messages of the file, in the order of their full names.
    Sorted(u32),
}

/// Which message of its schema a value is, and the bytes of the message; of the bytes behind the id of the schema.
#[inline]
pub fn split(framing: Framing, value: &[u8]) -> Result<(Selector<'_>, &[u8]), Refusal> {
    match framing {
        Framing::Confluent => indexes(value).ok_or(Refusal::NoHeader),
        Framing::Apicurio => name(value).map_err(|_| Refusal::NoHeader),
        Framing::Glue => sorted(value).ok_or(Refusal::NoHeader),
        Framing::Plain | Framing::SingleObject => Ok((Selector::Given, value)),
    }
}

impl Selector<'_> {
    /// The message that is meant.
    pub fn find(self, schema: &Schema, given: Option<&str>) -> Option<Id> {
        match self {
            Self::Given => given.map_or_else(|| schema.at(&[0]), |name| schema.named(name)),
            Self::First => schema.at(&[0]),
            Self::Indexes(_) => {
                let places: Option<Vec<_>> =
                    self.places().into_iter().map(|place| usize::try_from(place).ok()).collect();
                schema.at(&places?)
            }
            Self::Name(name) => schema.named(name),
            Self::Sorted(place) => schema.sorted(place as usize),
        }
    }

    /// The places of the message and of those around it, from the outside in; nothing where there is a name.
    pub fn places(self) -> Vec<i64> {
        match self {
            Self::Given | Self::First => vec![0],
            Self::Name(_) => Vec::new(),
            Self::Sorted(place) => vec![place.into()],
            Self::Indexes(bytes) => {
                let mut input = Input::new(bytes);
                std::iter::from_fn(|| (input.left() > 0).then(|| input.varint().ok().map(zigzag))?).collect()
            }
        }
    }
}

/// A list of numbers behind their count; the usual `[0]` is a count of 0.
#[inline]
fn indexes(bytes: &[u8]) -> Option<(Selector<'_>, &[u8])> {
    if let Some((0, message)) = bytes.split_first() {
        return Some((Selector::First, message));
    }
    let mut input = Input::new(bytes);
    let count = u64::try_from(zigzag(input.varint().ok()?)).ok().filter(|count| *count <= MOST_INDEXES)?;
    let begin = input.left();
    if count == 0 {
        return Some((Selector::First, &bytes[bytes.len() - begin..]));
    }
    for _ in 0..count {
        input.varint().ok()?;
    }
    let (list, message) = bytes[bytes.len() - begin..].split_at(begin - input.left());
    Some((Selector::Indexes(list), message))
}

/// A message `Ref` with a name in field 1, behind its length.
fn name(bytes: &[u8]) -> Result<(Selector<'_>, &[u8]), Refusal> {
    let mut input = Input::new(bytes);
    let mut reference = Input::new(input.sized()?);
    let mut name = "";
    while reference.left() > 0 {
        match reference.field()? {
            (1, Wire::Sized) => name = std::str::from_utf8(reference.sized()?).map_err(|_| Refusal::NoHeader)?,
            (number, wire) => reference.skip(number, wire)?,
        }
    }
    Ok((Selector::Name(name), input.take(input.left())?))
}

/// A number, without a sign.
#[inline]
fn sorted(bytes: &[u8]) -> Option<(Selector<'_>, &[u8])> {
    let mut input = Input::new(bytes);
    let place = u32::try_from(input.varint().ok()?).ok()?;
    Some((Selector::Sorted(place), input.take(input.left()).ok()?))
}

fn zigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

//! Arrow's schema as Parquet has it.
//!
//! Source: `LogicalTypes.md` and `parquet.thrift` (`SchemaElement`) of Apache Parquet.

use arrow_schema::{DataType, Field, Fields, TimeUnit};

use super::chunk::{Chunk, Settings, ValueChunk};
use super::thrift;
use super::values::{Bits, Decimals, Numbers, Texts, decimal_length};

/// The metadata of a field that is its id in the file, as pyarrow has it.
const FIELD_ID: &str = "PARQUET:field_id";

/// Names on the way to a column, of which each adds at most one to the levels; these are bytes here.
const MOST_DEPTH: usize = 200;

const REQUIRED: i32 = 0;
const OPTIONAL: i32 = 1;
const REPEATED: i32 = 2;

/// How values are stored; the number is that of Parquet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Physical {
    Boolean = 0,
    Int32 = 1,
    Int64 = 2,
    Float = 4,
    Double = 5,
    Bytes = 6,
    Fixed = 7,
}

/// What values mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Logical {
    Text,
    Map,
    List,
    Decimal { precision: u8, scale: i8 },
    Date,
    Time(TimeUnit),
    Timestamp(TimeUnit),
    Integer(u8),
}

/// A group or a column.
#[derive(Debug)]
struct Element {
    name: String,
    repetition: Option<i32>,
    physical: Option<Physical>,
    /// Of fixed values.
    length: Option<usize>,
    children: Option<usize>,
    logical: Option<Logical>,
    id: Option<i32>,
}

/// A column.
#[derive(Debug)]
pub struct Leaf {
    pub path: Vec<String>,
    pub physical: Physical,
    length: usize,
    pub definition: u8,
    pub repetition: u8,
}

/// The columns of a file, and the groups around them.
#[derive(Debug)]
pub struct Tree {
    elements: Vec<Element>,
    pub leaves: Vec<Leaf>,
}

impl Leaf {
    /// Names and dots.
    pub fn dotted(&self) -> String {
        self.path.join(".")
    }

    pub fn chunk(&self, settings: Settings) -> Box<dyn Chunk> {
        match self.physical {
            Physical::Boolean => Box::new(ValueChunk::new(Bits, settings)),
            Physical::Int32 => Box::new(ValueChunk::new(Numbers::<i32>::default(), settings)),
            Physical::Int64 => Box::new(ValueChunk::new(Numbers::<i64>::default(), settings)),
            Physical::Float => Box::new(ValueChunk::new(Numbers::<f32>::default(), settings)),
            Physical::Double => Box::new(ValueChunk::new(Numbers::<f64>::default(), settings)),
            Physical::Bytes => Box::new(ValueChunk::new(Texts, settings)),
            Physical::Fixed => Box::new(ValueChunk::new(Decimals { length: self.length }, settings)),
        }
    }
}

impl Tree {
    /// An error names a field that cannot be written.
    pub fn new(fields: &Fields) -> Result<Self, String> {
        let root = Element {
            name: "schema".into(),
            repetition: None,
            physical: None,
            length: None,
            children: Some(fields.len()),
            logical: None,
            id: None,
        };
        let mut tree = Self { elements: vec![root], leaves: Vec::new() };
        let mut place = Place::default();
        fields.iter().try_for_each(|field| tree.add(field, field.name(), &mut place))?;
        Ok(tree)
    }

    /// Writes the elements as a field of the footer.
    pub fn write(&self, id: i16, footer: &mut thrift::Fields<'_>) {
        footer.structures(id, &self.elements, |fields, element| element.write(fields));
    }

    fn add(&mut self, field: &Field, name: &str, place: &mut Place) -> Result<(), String> {
        let before = place.clone();
        place.path.push(name.into());
        if place.path.len() > MOST_DEPTH {
            return Err(format!("{}: fields are nested more than {MOST_DEPTH} deep", before.path.join(".")));
        }
        place.definition += u8::from(field.is_nullable());
        let repetition = if field.is_nullable() { OPTIONAL } else { REQUIRED };
        let id = match field.metadata().get(FIELD_ID) {
            Some(text) => Some(text.parse().map_err(|_| format!("{name}: the field id {text} is no number"))?),
            None => None,
        };
        let group = |children, logical| Element {
            name: name.into(),
            repetition: Some(repetition),
            physical: None,
            length: None,
            children: Some(children),
            logical,
            id,
        };
        match field.data_type() {
            DataType::Struct(fields) => {
                self.elements.push(group(fields.len(), None));
                fields.iter().try_for_each(|field| self.add(field, field.name(), place))?;
            }
            DataType::List(item) => {
                self.elements.push(group(1, Some(Logical::List)));
                self.begin_repeated("list", 1, place);
                self.add(item, "element", place)?;
            }
            DataType::Map(entries, _) => {
                let DataType::Struct(fields) = entries.data_type() else { return Err(format!("{name}: no entries")) };
                let [key, value] = &fields[..] else { return Err(format!("{name}: entries are no pairs")) };
                self.elements.push(group(1, Some(Logical::Map)));
                self.begin_repeated("key_value", 2, place);
                self.add(key, "key", place)?;
                self.add(value, "value", place)?;
            }
            type_ => {
                let (physical, logical) = stored(type_)
                    .ok_or_else(|| format!("{}: the type {type_} cannot be written", place.path.join(".")))?;
                let length =
                    if let DataType::Decimal128(precision, _) = type_ { decimal_length(*precision) } else { 0 };
                let length = Some(length).filter(|length| *length > 0);
                let leaf = Element { physical: Some(physical), length, children: None, ..group(0, logical) };
                self.elements.push(leaf);
                let Place { path, definition, repetition } = place.clone();
                self.leaves.push(Leaf { path, physical, length: length.unwrap_or_default(), definition, repetition });
            }
        }
        *place = before;
        Ok(())
    }

    fn begin_repeated(&mut self, name: &str, children: usize, place: &mut Place) {
        self.elements.push(Element {
            name: name.into(),
            repetition: Some(REPEATED),
            physical: None,
            length: None,
            children: Some(children),
            logical: None,
            id: None,
        });
        place.path.push(name.into());
        place.definition += 1;
        place.repetition += 1;
    }
}

/// Where a field is.
#[derive(Clone, Default)]
struct Place {
    path: Vec<String>,
    definition: u8,
    repetition: u8,
}

fn stored(type_: &DataType) -> Option<(Physical, Option<Logical>)> {
    Some(match type_ {
        DataType::Boolean => (Physical::Boolean, None),
        DataType::Int8 => (Physical::Int32, Some(Logical::Integer(8))),
        DataType::Int16 => (Physical::Int32, Some(Logical::Integer(16))),
        DataType::Int32 => (Physical::Int32, None),
        DataType::Int64 => (Physical::Int64, None),
        DataType::Float32 => (Physical::Float, None),
        DataType::Float64 => (Physical::Double, None),
        DataType::Date32 => (Physical::Int32, Some(Logical::Date)),
        DataType::Time32(TimeUnit::Millisecond) => (Physical::Int32, Some(Logical::Time(TimeUnit::Millisecond))),
        DataType::Time64(TimeUnit::Microsecond) => (Physical::Int64, Some(Logical::Time(TimeUnit::Microsecond))),
        DataType::Timestamp(unit, Some(zone)) if &**zone == "UTC" => {
            // Parquet has no seconds.
            let unit = if *unit == TimeUnit::Second { TimeUnit::Millisecond } else { *unit };
            (Physical::Int64, Some(Logical::Timestamp(unit)))
        }
        DataType::Decimal128(precision @ 1..=38, scale) if (0..=precision.cast_signed()).contains(scale) => {
            (Physical::Fixed, Some(Logical::Decimal { precision: *precision, scale: *scale }))
        }
        DataType::Utf8 => (Physical::Bytes, Some(Logical::Text)),
        DataType::Binary => (Physical::Bytes, None),
        _ => return None,
    })
}

impl Element {
    fn write(&self, fields: &mut thrift::Fields<'_>) {
        if let Some(physical) = self.physical {
            fields.integer32(1, physical as i32);
        }
        if let Some(length) = self.length {
            fields.count32(2, length);
        }
        if let Some(repetition) = self.repetition {
            fields.integer32(3, repetition);
        }
        fields.binary(4, self.name.as_bytes());
        if let Some(children) = self.children {
            fields.count32(5, children);
        }
        if let Some(converted) = self.logical.and_then(Logical::converted) {
            fields.integer32(6, converted);
        }
        if let Some(Logical::Decimal { precision, scale }) = self.logical {
            fields.integer32(7, scale.into());
            fields.integer32(8, precision.into());
        }
        if let Some(id) = self.id {
            fields.integer32(9, id);
        }
        if let Some(logical) = self.logical {
            fields.structure(10, |fields| logical.write(fields));
        }
    }
}

impl Logical {
    /// What older readers know it as.
    fn converted(self) -> Option<i32> {
        Some(match self {
            Self::Text => 0,
            Self::Map => 1,
            Self::List => 3,
            Self::Decimal { .. } => 5,
            Self::Date => 6,
            Self::Timestamp(TimeUnit::Millisecond) => 9,
            Self::Timestamp(TimeUnit::Microsecond) => 10,
            Self::Integer(8) => 15,
            Self::Integer(_) => 16,
            // Older readers take times for those of UTC, and have no nanoseconds.
            Self::Time(_) | Self::Timestamp(_) => return None,
        })
    }

    fn write(self, fields: &mut thrift::Fields<'_>) {
        match self {
            Self::Text => fields.structure(1, |_| ()),
            Self::Map => fields.structure(2, |_| ()),
            Self::List => fields.structure(3, |_| ()),
            Self::Decimal { precision, scale } => fields.structure(5, |fields| {
                fields.integer32(1, scale.into());
                fields.integer32(2, precision.into());
            }),
            Self::Date => fields.structure(6, |_| ()),
            Self::Time(unit) => fields.structure(7, |fields| clock(fields, unit, false)),
            Self::Timestamp(unit) => fields.structure(8, |fields| clock(fields, unit, true)),
            Self::Integer(bits) => fields.structure(10, |fields| {
                fields.integer8(1, bits);
                fields.boolean(2, true);
            }),
        }
    }
}

fn clock(fields: &mut thrift::Fields<'_>, unit: TimeUnit, is_utc: bool) {
    fields.boolean(1, is_utc);
    let unit = match unit {
        TimeUnit::Second | TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 2,
        TimeUnit::Nanosecond => 3,
    };
    fields.structure(2, |fields| fields.structure(unit, |_| ()));
}

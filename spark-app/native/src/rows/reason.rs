//! Why a value is no row, and the field that is concerned: codes and names of the schema, nothing of the value.

use arrow_schema::{DataType, Fields};

/// What each code of [`Refusal`] is called; 0 stands for a row that was accepted.
pub const REASONS: [&str; 24] = [
    "accepted",
    "null",
    "not_utf8",
    "not_json",
    "not_an_object",
    "missing",
    "wrong_type",
    "overflow",
    "duplicate",
    "unknown_field",
    "too_deep",
    "bad_text",
    "not_avro",
    "no_header",
    "unknown_schema",
    "other_schema",
    "not_protobuf",
    "not_messagepack",
    "not_csv",
    "too_few_columns",
    "too_many_columns",
    "no_match",
    "not_thrift",
    "bad_compression",
];

/// Why a value is no row; the numbers are positions in [`REASONS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Refusal {
    Null = 1,
    NotUtf8 = 2,
    NotJson = 3,
    NotAnObject = 4,
    /// A required field is absent or null.
    Missing = 5,
    WrongType = 6,
    /// Beyond the range or the precision of the type.
    Overflow = 7,
    /// A name twice in one object.
    Duplicate = 8,
    UnknownField = 9,
    TooDeep = 10,
    /// A string from which the type cannot be read.
    BadText = 11,
    /// Bytes that are not what their Avro schema says.
    NotAvro = 12,
    /// The header that names the schema is not there.
    NoHeader = 13,
    /// A schema that nobody has given us.
    UnknownSchema = 14,
    /// A schema that cannot become the columns.
    OtherSchema = 15,
    /// Bytes that are no message of protobuf.
    NotProtobuf = 16,
    /// Bytes that are not one MessagePack value.
    NotMessagePack = 17,
    /// Bytes that are not one CSV record.
    NotCsv = 18,
    TooFewColumns = 19,
    TooManyColumns = 20,
    /// A text that the pattern does not match.
    NoMatch = 21,
    /// Bytes that are not one Thrift struct.
    NotThrift = 22,
    /// What the header says is compressed is no whole stream, or becomes too long.
    BadCompression = 23,
}

impl Refusal {
    pub fn word(self) -> &'static str {
        REASONS[self as usize]
    }
}

/// One step from a value to a value in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// The field at this position of a struct.
    Field(usize),
    /// An item of a list.
    Item,
    /// A value of a map, or its key.
    Entry,
}

/// Writes where a field is, like `items[].price`. The steps begin at the innermost.
pub fn path(fields: &Fields, steps: &[Step]) -> String {
    let mut text = String::new();
    let mut fields = Some(fields);
    let mut inner: Option<&DataType> = None;
    for step in steps.iter().rev() {
        match step {
            Step::Field(index) => {
                let Some(field) = fields.and_then(|fields| fields.get(*index)) else { break };
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(field.name());
                inner = Some(field.data_type());
            }
            Step::Item => text.push_str("[]"),
            Step::Entry => text.push_str("{}"),
        }
        if matches!(step, Step::Item | Step::Entry) {
            inner = inner.and_then(inside);
        }
        fields = match inner {
            Some(DataType::Struct(fields)) => Some(fields),
            _ => None,
        };
    }
    text
}

/// The type of the items of a list, or of the values of a map.
fn inside(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::List(item) => Some(item.data_type()),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => fields.get(1).map(|field| field.data_type()),
            _ => None,
        },
        _ => None,
    }
}

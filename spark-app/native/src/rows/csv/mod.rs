//! Typed rows of CSV records (RFC 4180, with other characters by choice), one in each value.

mod record;

use std::borrow::Cow;

use arrow_array::BinaryArray;
use arrow_schema::{ArrowError, SchemaRef};

use super::adjusted::Adjustments;
use super::faults::{Leniency, Strict};
use super::fill::{self, ReadRow, Steps};
use super::lenient::{self, Lenient};
use super::nested::StructColumn;
use super::reason::{Refusal, Step};
use super::rest::{Mark, quote, quoted};
use super::text::{self, in_utf8};
use super::{Options, Rows, UnknownFields, check_utf8};
use record::Record;

/// How records are written. All characters are ASCII.
#[derive(Debug, Clone)]
pub struct CsvSyntax {
    pub delimiter: u8,
    pub quote: Option<u8>,
    /// Before it, any character stands for itself.
    pub escape: Option<u8>,
    /// What stands for null where it is not in quotes.
    pub null: Vec<u8>,
}

/// Makes rows of a schema from CSV records.
#[derive(Debug, Clone)]
pub struct CsvParser {
    schema: SchemaRef,
    syntax: CsvSyntax,
    fields: Fields,
    options: Options,
}

/// The fields of a record.
#[derive(Debug, Clone)]
struct Fields {
    /// Where in the schema each belongs; None: nowhere.
    places: Vec<Option<usize>>,
    /// In quotes, as JSON has them.
    names: Vec<Vec<u8>>,
}

impl CsvParser {
    /// `names` are those of the fields of a record, in their order. An error says which field cannot be read, and why.
    pub fn new(
        schema: SchemaRef,
        syntax: CsvSyntax,
        names: &[String],
        options: impl Into<Options>,
    ) -> Result<Self, String> {
        let options = options.into();
        let mut columns = lenient::columns(&schema, options)?;
        if options.unknown_fields == UnknownFields::Keep {
            columns.children.pop();
        }
        for (field, column) in schema.fields().iter().zip(&columns.children) {
            if !text::is_readable(column) {
                return Err(format!("{}: no field of a record is {}", field.name(), field.data_type()));
            }
            if names.iter().filter(|name| *name == field.name()).count() != 1 {
                return Err(format!("{} has to be once among the names of a record's fields", field.name()));
            }
        }
        let place = |name: &String| schema.index_of(name).ok().filter(|place| *place < columns.children.len());
        let places = names.iter().map(place).collect();
        let names = names.iter().map(|name| quoted(name.as_bytes())).collect();
        Ok(Self { schema, syntax, fields: Fields { places, names }, options })
    }

    /// Reads all values. Total, as [`super::RowParser::parse`] is.
    pub fn parse(&self, values: &BinaryArray) -> Result<Rows, ArrowError> {
        let (record, fields) = (Record::new(&self.syntax), &self.fields);
        if lenient::is_strict(self.options, lenient::NO_DEFAULTS) {
            return fill::rows(&self.schema, values, &mut Reader { record, fields, lenient: Strict, bytes: 0 });
        }
        let lenient = Lenient::new(self.options, lenient::NO_DEFAULTS);
        fill::rows(&self.schema, values, &mut Reader { record, fields, lenient, bytes: 0 })
    }
}

struct Reader<'a, L> {
    record: Record<'a>,
    fields: &'a Fields,
    lenient: L,
    /// No column has more bytes than this; 0: none is longer than its value.
    bytes: usize,
}

impl<L: Leniency> Reader<'_, L> {
    #[inline(always)]
    fn record(
        &mut self,
        value: &[u8],
        row: usize,
        columns: &mut StructColumn,
        steps: &mut Steps,
    ) -> Result<(), Refusal> {
        let Self { record, fields: Fields { places, names }, lenient, .. } = self;
        let found = record.read(value, |place, text| {
            let Some(Some(index)) = places.get(place) else {
                return unknown(place, names.get(place), text, lenient);
            };
            let column = &mut columns.children[*index];
            let read = match text {
                Some(text) => text::append_leniently(text, row, Step::Field(*index), column, lenient),
                None if column.push_null() => Ok(()),
                None => Err(Refusal::Missing),
            };
            if read.is_err() {
                steps.push(Step::Field(*index));
            }
            read
        })?;
        if found < places.len() { Err(Refusal::TooFewColumns) } else { Ok(()) }
    }
}

/// Takes the text of a field that has no column, and perhaps no name.
fn unknown<L: Leniency>(
    place: usize,
    name: Option<&Vec<u8>>,
    text: Option<&[u8]>,
    lenient: &mut L,
) -> Result<(), Refusal> {
    let Some(rest) = lenient.rest() else {
        return if name.is_some() { Ok(()) } else { Err(Refusal::TooManyColumns) };
    };
    let number;
    let name = match name {
        Some(name) => name,
        None => {
            number = format!("\"{place}\"").into_bytes();
            &number
        }
    };
    let target = rest.member(Mark::default(), Vec::new(), name);
    match text {
        Some(text) => quote(text, target),
        None => target.extend_from_slice(b"null"),
    }
    Ok(())
}

impl<L: Leniency> ReadRow for Reader<'_, L> {
    #[inline]
    fn read(&mut self, value: &[u8], row: usize, columns: &mut StructColumn, steps: &mut Steps) -> Result<(), Refusal> {
        if L::IS_STRICT {
            check_utf8(value)?;
            return self.record(value, row, columns, steps);
        }
        self.lenient.begin();
        let text = in_utf8(value, &mut self.lenient)?;
        self.record(&text, row, columns, steps)?;
        self.lenient.end_row(row, columns, steps)?;
        self.bytes += 3 * text.len() + self.lenient.added();
        Ok(())
    }

    #[cold]
    fn judge_whole(&self, value: &[u8]) -> Option<Refusal> {
        let keeps = self.lenient.options().unknown_fields == UnknownFields::Keep;
        let text = match std::str::from_utf8(value) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) if self.lenient.faults().replaces_invalid => String::from_utf8_lossy(value),
            Err(_) => return Some(Refusal::NotUtf8),
        };
        let fields = self.fields.places.len();
        match Record::new(self.record.syntax).read(text.as_bytes(), |_, _| Ok(())) {
            Err(refusal) => Some(refusal),
            Ok(found) if found < fields => Some(Refusal::TooFewColumns),
            Ok(found) if found > fields && !keeps => Some(Refusal::TooManyColumns),
            Ok(_) => None,
        }
    }

    fn prepare(&self, columns: &mut StructColumn) {
        self.lenient.prepare(columns);
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn adjustments(&mut self) -> Option<&mut Adjustments> {
        self.lenient.adjustments()
    }
}

//! Typed rows of CSV records (RFC 4180, with other characters by choice), one in each value.

mod record;

use arrow_array::BinaryArray;
use arrow_schema::{ArrowError, SchemaRef};

use super::fill::{self, ReadRow, Steps};
use super::nested::StructColumn;
use super::reason::{Refusal, Step};
use super::{Rows, kind, text};
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
    /// Where in the schema each field of a record belongs; None: nowhere.
    places: Vec<Option<usize>>,
}

impl CsvParser {
    /// `names` are those of the fields of a record, in their order. An error says which field cannot be read, and why.
    pub fn new(schema: SchemaRef, syntax: CsvSyntax, names: &[String]) -> Result<Self, String> {
        let columns = kind::columns(schema.fields(), 0)?;
        for (field, column) in schema.fields().iter().zip(&columns.children) {
            if !text::is_readable(column) {
                return Err(format!("{}: no field of a record is {}", field.name(), field.data_type()));
            }
            if names.iter().filter(|name| *name == field.name()).count() != 1 {
                return Err(format!("{} has to be once among the names of a record's fields", field.name()));
            }
        }
        let places = names.iter().map(|name| schema.index_of(name).ok()).collect();
        Ok(Self { schema, syntax, places })
    }

    /// Reads all values. Total, as [`super::RowParser::parse`] is.
    pub fn parse(&self, values: &BinaryArray) -> Result<Rows, ArrowError> {
        let record = Record::new(&self.syntax);
        fill::rows(&self.schema, values, &mut Reader { record, places: &self.places })
    }
}

struct Reader<'a> {
    record: Record<'a>,
    places: &'a [Option<usize>],
}

impl ReadRow for Reader<'_> {
    #[inline]
    fn read(&mut self, value: &[u8], _: usize, columns: &mut StructColumn, steps: &mut Steps) -> Result<(), Refusal> {
        if !value.is_ascii() && std::str::from_utf8(value).is_err() {
            return Err(Refusal::NotUtf8);
        }
        let places = self.places;
        let fields = self.record.read(value, |place, field| {
            let Some(index) = *places.get(place).ok_or(Refusal::TooManyColumns)? else { return Ok(()) };
            let column = &mut columns.children[index];
            let read = match field {
                Some(field) => text::append(field, column),
                None if column.push_null() => Ok(()),
                None => Err(Refusal::Missing),
            };
            if read.is_err() {
                steps.push(Step::Field(index));
            }
            read
        })?;
        if fields < places.len() { Err(Refusal::TooFewColumns) } else { Ok(()) }
    }

    #[cold]
    fn judge_whole(&self, value: &[u8]) -> Option<Refusal> {
        if std::str::from_utf8(value).is_err() {
            return Some(Refusal::NotUtf8);
        }
        match Record::new(self.record.syntax).read(value, |_, _| Ok(())) {
            Err(refusal) => Some(refusal),
            Ok(fields) if fields < self.places.len() => Some(Refusal::TooFewColumns),
            Ok(fields) if fields > self.places.len() => Some(Refusal::TooManyColumns),
            Ok(_) => None,
        }
    }
}

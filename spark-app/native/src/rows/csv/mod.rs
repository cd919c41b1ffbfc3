//! Typed rows of CSV records (RFC 4180, with other characters by choice), one in each value.

mod record;

use arrow_array::BinaryArray;
use arrow_schema::{ArrowError, SchemaRef};

use super::adjusted::Adjustments;
use super::fill::{self, ReadRow, Steps};
use super::lenient::{self, Lenient};
use super::nested::StructColumn;
use super::faults::Leniency;
use super::reason::{Refusal, Step};
use super::rest::{Mark, quote};
use super::text::{self, in_utf8};
use super::{Options, Rows, UnknownFields};
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
    fields: Vec<Field>,
    options: Options,
}

/// A field of a record.
#[derive(Debug, Clone)]
struct Field {
    /// In quotes, as JSON has it.
    name: Vec<u8>,
    /// Where in the schema it belongs; None: nowhere.
    place: Option<usize>,
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
        let field = |name: &String| {
            let mut quoted = Vec::new();
            quote(name.as_bytes(), &mut quoted);
            let place = schema.index_of(name).ok().filter(|place| *place < columns.children.len());
            Field { name: quoted, place }
        };
        let fields = names.iter().map(field).collect();
        Ok(Self { schema, syntax, fields, options })
    }

    /// Reads all values. Total, as [`super::RowParser::parse`] is.
    pub fn parse(&self, values: &BinaryArray) -> Result<Rows, ArrowError> {
        let (record, lenient) = (Record::new(&self.syntax), Lenient::new(self.options, lenient::NO_DEFAULTS));
        fill::rows(&self.schema, values, &mut Reader { record, fields: &self.fields, lenient, bytes: 0 })
    }
}

struct Reader<'a> {
    record: Record<'a>,
    fields: &'a [Field],
    lenient: Lenient<'a>,
    /// No column has more bytes than this.
    bytes: usize,
}

impl Reader<'_> {
    #[inline]
    fn record(
        &mut self,
        value: &[u8],
        row: usize,
        columns: &mut StructColumn,
        steps: &mut Steps,
    ) -> Result<(), Refusal> {
        let Self { record, fields, lenient, .. } = self;
        let found = record.read(value, |place, text| {
            let known = fields.get(place);
            let Some(index) = known.and_then(|field| field.place) else {
                return unknown(place, known, text, lenient);
            };
            let column = &mut columns.children[index];
            let read = match text {
                Some(text) => text::append_leniently(text, row, Step::Field(index), column, lenient),
                None if column.push_null() => Ok(()),
                None => Err(Refusal::Missing),
            };
            if read.is_err() {
                steps.push(Step::Field(index));
            }
            read
        })?;
        if found < fields.len() {
            return Err(Refusal::TooFewColumns);
        }
        self.lenient.end_row(row, columns, steps)
    }
}

/// Takes the text of a field that has no column.
fn unknown(place: usize, known: Option<&Field>, text: Option<&[u8]>, lenient: &mut Lenient<'_>) -> Result<(), Refusal> {
    let Some(rest) = lenient.rest() else {
        return if known.is_some() { Ok(()) } else { Err(Refusal::TooManyColumns) };
    };
    let name = known.map_or_else(|| format!("\"{place}\"").into_bytes(), |field| field.name.clone());
    let target = rest.member(Mark::default(), Vec::new(), &name);
    match text {
        Some(text) => quote(text, target),
        None => target.extend_from_slice(b"null"),
    }
    Ok(())
}

impl ReadRow for Reader<'_> {
    #[inline]
    fn read(&mut self, value: &[u8], row: usize, columns: &mut StructColumn, steps: &mut Steps) -> Result<(), Refusal> {
        self.lenient.begin();
        let text = in_utf8(value, &mut self.lenient)?;
        self.record(&text, row, columns, steps)?;
        self.bytes += 3 * text.len() + self.lenient.added();
        Ok(())
    }

    #[cold]
    fn judge_whole(&self, value: &[u8]) -> Option<Refusal> {
        let mut lenient = Lenient::new(self.lenient.options(), lenient::NO_DEFAULTS);
        let text = match in_utf8(value, &mut lenient) {
            Ok(text) => text,
            Err(refusal) => return Some(refusal),
        };
        match Record::new(self.record.syntax).read(&text, |_, _| Ok(())) {
            Err(refusal) => Some(refusal),
            Ok(fields) if fields < self.fields.len() => Some(Refusal::TooFewColumns),
            Ok(fields) if fields > self.fields.len() && lenient.rest().is_none() => Some(Refusal::TooManyColumns),
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

//! Typed rows of MessagePack values: maps whose names are those of the fields.

mod duplicates;
mod input;
mod json;
mod read;

use arrow_array::BinaryArray;
use arrow_schema::{ArrowError, SchemaRef};

use super::adjusted::Adjustments;
use super::column::Filled;
use super::faults::{Duplicates, Leniency, Strict};
use super::fill::{self, ReadRow, Steps};
use super::growth::Growth;
use super::lenient::{self, Defaults, Lenient};
use super::nested::StructColumn;
use super::reason::Refusal;
use super::{Options, Rows, UnknownFields};
use duplicates::Deduplication;
use input::Input;
use read::ValueReader;

/// Makes rows of a schema from MessagePack values.
#[derive(Debug, Clone)]
pub struct MessagePackParser {
    schema: SchemaRef,
    options: Options,
    defaults: Defaults,
}

impl MessagePackParser {
    /// As [`super::RowParser::new`].
    pub fn new(schema: SchemaRef, options: impl Into<Options>) -> Result<Self, String> {
        let options = options.into();
        let defaults = lenient::defaults(&schema, options)?;
        Ok(Self { schema, options, defaults })
    }

    /// Reads all values. Total, as [`super::RowParser::parse`] is.
    pub fn parse(&self, values: &BinaryArray) -> Result<Rows, ArrowError> {
        let refuse_unknown = self.options.unknown_fields == UnknownFields::Refuse;
        if lenient::is_strict(self.options, &self.defaults) {
            return fill::rows(&self.schema, values, &mut Reader { refuse_unknown });
        }
        let lenient = Lenient::new(self.options, &self.defaults);
        fill::rows(&self.schema, values, &mut LenientReader { refuse_unknown, lenient, bytes: 0 })
    }
}

struct Reader {
    refuse_unknown: bool,
}

impl ReadRow for Reader {
    #[inline]
    fn read(&mut self, value: &[u8], row: usize, columns: &mut StructColumn, steps: &mut Steps) -> Result<(), Refusal> {
        let growth = Growth::of(value.len());
        ValueReader::new(value, growth, self.refuse_unknown, steps, &mut Strict).row(row, columns)
    }

    fn judge_whole(&self, value: &[u8]) -> Option<Refusal> {
        judge_whole(value)
    }
}

fn judge_whole(value: &[u8]) -> Option<Refusal> {
    let mut input = Input::new(value);
    input.skip().and_then(|()| input.end()).err()
}

/// The same with faults that do not refuse a value, fields that are kept, and defaults.
struct LenientReader<'a> {
    refuse_unknown: bool,
    lenient: Lenient<'a>,
    /// No column has more bytes than this.
    bytes: usize,
}

impl LenientReader<'_> {
    /// Reads bytes that stand for a value of so many.
    fn attempt(
        &mut self,
        bytes: &[u8],
        size: usize,
        row: usize,
        columns: &mut StructColumn,
        steps: &mut Steps,
    ) -> Result<(), Refusal> {
        let growth = Growth::of(size);
        ValueReader::new(bytes, growth, self.refuse_unknown, steps, &mut self.lenient).row(row, columns)?;
        // U+FFFD takes three bytes instead of one; a number as text takes up to 24 instead of nine.
        self.bytes += 3 * bytes.len() + self.lenient.added();
        Ok(())
    }

    /// A value that was refused without names that are several times in it; None: there are none.
    #[cold]
    fn repaired(&mut self, value: &[u8], columns: &StructColumn) -> Option<Vec<u8>> {
        let faults = self.lenient.faults();
        if faults.duplicates == Duplicates::Refuse {
            return None;
        }
        self.lenient.begin();
        let found = Deduplication {
            input: Input::new(value),
            which: faults.duplicates,
            keeps_unknown: self.lenient.rest().is_some(),
            replaces_invalid: faults.replaces_invalid,
            target: Vec::new(),
            adjustments: &mut self.lenient.adjustments,
        };
        found.value(columns).ok()?
    }
}

impl ReadRow for LenientReader<'_> {
    fn read(&mut self, value: &[u8], row: usize, columns: &mut StructColumn, steps: &mut Steps) -> Result<(), Refusal> {
        self.lenient.begin();
        let read = self.attempt(value, value.len(), row, columns, steps);
        if read.is_ok() {
            return read;
        }
        let Some(bytes) = self.repaired(value, columns) else { return read };
        columns.truncate(row);
        steps.clear();
        self.lenient.begin_anew();
        self.attempt(&bytes, value.len(), row, columns, steps)
    }

    fn judge_whole(&self, value: &[u8]) -> Option<Refusal> {
        judge_whole(value)
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

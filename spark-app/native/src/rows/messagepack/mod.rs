//! Typed rows of MessagePack values: maps whose names are those of the fields.

mod duplicates;
mod input;
mod json;
mod read;

use arrow_array::BinaryArray;
use arrow_schema::{ArrowError, SchemaRef};

use super::faults::{Duplicates, Faults, Leniency, Strict};
use super::fill::{self, ReadRow, Steps};
use super::growth::Growth;
use super::lenient::{self, Attempt, Attempts, Defaults, Lenient};
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
        let parser = LenientReader { refuse_unknown };
        fill::rows(&self.schema, values, &mut Attempts::new(parser, self.options, &self.defaults))
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
struct LenientReader {
    refuse_unknown: bool,
}

impl Attempt for LenientReader {
    /// U+FFFD takes three bytes instead of one; a number as text takes up to 24 instead of nine.
    const GROWTH: usize = 3;

    fn read(
        &mut self,
        bytes: &[u8],
        growth: Growth,
        row: usize,
        columns: &mut StructColumn,
        steps: &mut Steps,
        lenient: &mut Lenient<'_>,
    ) -> Result<(), Refusal> {
        ValueReader::new(bytes, growth, self.refuse_unknown, steps, lenient).row(row, columns)
    }

    #[cold]
    fn repaired(&mut self, value: &[u8], columns: &StructColumn, lenient: &mut Lenient<'_>) -> Option<Vec<u8>> {
        let faults = lenient.faults();
        if faults.duplicates == Duplicates::Refuse {
            return None;
        }
        let found = Deduplication {
            input: Input::new(value),
            which: faults.duplicates,
            keeps_unknown: lenient.rest().is_some(),
            replaces_invalid: faults.replaces_invalid,
            target: Vec::new(),
            adjustments: &mut lenient.adjustments,
        };
        found.value(columns).ok()?
    }

    fn judge_whole(&self, value: &[u8], _: Faults) -> Option<Refusal> {
        judge_whole(value)
    }
}

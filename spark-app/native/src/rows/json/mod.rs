//! Typed rows of JSON texts: objects with the fields of a schema.

pub mod reader;
mod repair;
pub mod row;

use arrow_array::BinaryArray;
use arrow_schema::{ArrowError, SchemaRef};

use super::faults::{Duplicates, Faults, Leniency, Strict};
use super::fill::{self, ReadRow, Steps};
use super::framing::{Behind, Framing};
use super::growth::Growth;
use super::lenient::{self, Attempt, Attempts, Defaults, Lenient};
use super::nested::StructColumn;
use super::reason::Refusal;
use super::{Options, Rows, UnknownFields, check_utf8};
use crate::json::{check_grammar, check_nesting};
use reader::{MOST_NESTED, Reader};
use row::RowReader;

/// Makes rows of a schema from JSON texts.
#[derive(Debug, Clone)]
pub struct RowParser {
    schema: SchemaRef,
    options: Options,
    /// Of each field what it has where a text does not have it, in JSON; empty if no field has anything.
    defaults: Defaults,
    framing: Framing,
}

impl RowParser {
    /// The metadata `logpersister.default` of a field is what it has where a text does not have it, in JSON. An error says
    /// which field of the schema cannot be read, and why.
    pub fn new(schema: SchemaRef, options: impl Into<Options>) -> Result<Self, String> {
        let options = options.into();
        let defaults = lenient::defaults(&schema, options)?;
        Ok(Self { schema, options, defaults, framing: Framing::Plain })
    }

    /// The same for values behind headers: what these say of schemas does not matter.
    pub fn framed(self, framing: Framing) -> Self {
        Self { framing, ..self }
    }

    /// Reads all values. Total: any bytes give an answer, on a stack of bounded size.
    pub fn parse(&self, values: &BinaryArray) -> Result<Rows, ArrowError> {
        let (refuse_unknown, space) = (self.options.unknown_fields == UnknownFields::Refuse, Vec::new());
        if lenient::is_strict(self.options, &self.defaults) {
            let parser = JsonReader { refuse_unknown, space };
            return fill::rows(&self.schema, values, &mut Behind::new(self.framing, parser));
        }
        let parser = Attempts::new(LenientJsonReader { refuse_unknown, space }, self.options, &self.defaults);
        fill::rows(&self.schema, values, &mut Behind::new(self.framing, parser))
    }
}

struct JsonReader {
    refuse_unknown: bool,
    /// A string whose escapes are resolved; kept for its memory.
    space: Vec<u8>,
}

impl ReadRow for JsonReader {
    #[inline]
    fn read(&mut self, text: &[u8], row: usize, columns: &mut StructColumn, steps: &mut Steps) -> Result<(), Refusal> {
        check_utf8(text)?;
        let growth = Growth::of(text.len());
        RowReader::new(text, growth, self.refuse_unknown, &mut self.space, steps, &mut Strict).row(row, columns)
    }

    fn judge_whole(&self, text: &[u8]) -> Option<Refusal> {
        judge_whole(text)
    }
}

/// The same with faults that do not refuse a text, fields that are kept, and defaults.
struct LenientJsonReader {
    refuse_unknown: bool,
    space: Vec<u8>,
}

impl Attempt for LenientJsonReader {
    const GROWTH: usize = 1;

    fn read(
        &mut self,
        text: &[u8],
        growth: Growth,
        row: usize,
        columns: &mut StructColumn,
        steps: &mut Steps,
        lenient: &mut Lenient<'_>,
    ) -> Result<(), Refusal> {
        check_utf8(text)?;
        RowReader::new(text, growth, self.refuse_unknown, &mut self.space, steps, lenient).row(row, columns)
    }

    #[cold]
    fn repaired(&mut self, value: &[u8], columns: &StructColumn, lenient: &mut Lenient<'_>) -> Option<Vec<u8>> {
        let faults = lenient.faults();
        let text = if faults.replaces_invalid { repair::in_utf8(value) } else { value.into() };
        let is_replaced = *text != *value;
        if is_replaced {
            lenient.adjusted(Refusal::NotUtf8);
        }
        if faults.duplicates != Duplicates::Refuse && std::str::from_utf8(&text).is_ok() {
            let (keeps, adjustments) = (lenient.rest().is_some(), &mut lenient.adjustments);
            let found = repair::Deduplication::new(&text, faults.duplicates, keeps, &mut self.space, adjustments);
            if let Ok(Some(found)) = found.text(columns) {
                return Some(found);
            }
        }
        is_replaced.then(|| text.into_owned())
    }

    fn judge_whole(&self, value: &[u8], faults: Faults) -> Option<Refusal> {
        if faults.replaces_invalid { judge_whole(&repair::in_utf8(value)) } else { judge_whole(value) }
    }
}

/// What is wrong with a refused text as a whole; that goes before what is wrong with one field, wherever both are.
#[cold]
pub fn judge_whole(text: &[u8]) -> Option<Refusal> {
    match std::str::from_utf8(text) {
        Err(_) => return Some(Refusal::NotUtf8),
        Ok(text) if check_grammar(text).is_err() => return Some(Refusal::NotJson),
        Ok(_) => {}
    }
    if check_nesting(text, MOST_NESTED).is_err() {
        return Some(Refusal::TooDeep);
    }
    // Half a surrogate pair is all that is still refused.
    Reader::new(text).skip().err()
}

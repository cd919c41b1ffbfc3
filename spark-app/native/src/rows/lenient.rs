//! What the parsers of JSON and MessagePack do beside reading: adjust values, keep unknown fields, put in defaults.

use arrow_schema::SchemaRef;

use super::adjusted::Adjustments;
use super::column::Filled;
use super::column::{Column, Data};
use super::faults::{Faults, Leniency};
use super::fill::{ReadRow, Steps};
use super::growth::Growth;
use super::kind;
use super::nested::StructColumn;
use super::reason::{Refusal, Step};
use super::rest::Rest;
use super::target::DEFAULT;
use super::{Options, UnknownFields, row};

/// Of each field what it has where a record does not have it.
pub type Defaults = Vec<Option<Vec<u8>>>;

pub const NO_DEFAULTS: &Defaults = &Defaults::new();

/// All that is done beside reading.
pub struct Lenient<'a> {
    options: Options,
    defaults: &'a Defaults,
    rest: Option<Rest>,
    pub adjustments: Adjustments,
    /// Bytes of all defaults.
    size_of_defaults: usize,
    space: Vec<u8>,
}

impl<'a> Lenient<'a> {
    pub fn new(options: Options, defaults: &'a Defaults) -> Self {
        Self {
            options,
            defaults,
            rest: (options.unknown_fields == UnknownFields::Keep).then(Rest::default),
            adjustments: Adjustments::default(),
            size_of_defaults: defaults.iter().flatten().map(Vec::len).sum(),
            space: Vec::new(),
        }
    }
}

/// A parser of values that may be put right as a whole, and then read once more.
pub trait Attempt {
    /// Bytes of columns that each byte of a value may become.
    const GROWTH: usize;

    /// Appends a value as row number `row`, as `ReadRow` does.
    fn read(
        &mut self,
        bytes: &[u8],
        growth: Growth,
        row: usize,
        columns: &mut StructColumn,
        steps: &mut Steps,
        lenient: &mut Lenient<'_>,
    ) -> Result<(), Refusal>;

    /// A value that was refused as it should have been; None: nothing can be put right.
    fn repaired(&mut self, value: &[u8], columns: &StructColumn, lenient: &mut Lenient<'_>) -> Option<Vec<u8>>;

    /// As `ReadRow` does.
    fn judge_whole(&self, value: &[u8], faults: Faults) -> Option<Refusal>;
}

/// Reads values, and those that were put right once more.
pub struct Attempts<'a, A> {
    pub parser: A,
    pub lenient: Lenient<'a>,
    /// No column has more bytes than this.
    bytes: usize,
}

impl<'a, A: Attempt> Attempts<'a, A> {
    pub fn new(parser: A, options: Options, defaults: &'a Defaults) -> Self {
        Self { parser, lenient: Lenient::new(options, defaults), bytes: 0 }
    }

    fn attempt(
        &mut self,
        bytes: &[u8],
        growth: Growth,
        row: usize,
        columns: &mut StructColumn,
        steps: &mut Steps,
    ) -> Result<(), Refusal> {
        self.parser.read(bytes, growth, row, columns, steps, &mut self.lenient)?;
        self.bytes += A::GROWTH * bytes.len() + self.lenient.added();
        Ok(())
    }
}

impl<A: Attempt> ReadRow for Attempts<'_, A> {
    fn read(&mut self, value: &[u8], row: usize, columns: &mut StructColumn, steps: &mut Steps) -> Result<(), Refusal> {
        let growth = Growth::of(value.len());
        self.lenient.begin();
        let read = self.attempt(value, growth, row, columns, steps);
        if read.is_ok() {
            return read;
        }
        self.lenient.begin();
        let Some(bytes) = self.parser.repaired(value, columns, &mut self.lenient) else { return read };
        columns.truncate(row);
        steps.clear();
        self.attempt(&bytes, growth, row, columns, steps)
    }

    fn judge_whole(&self, value: &[u8]) -> Option<Refusal> {
        self.parser.judge_whole(value, self.lenient.faults())
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

impl Leniency for Lenient<'_> {
    const IS_STRICT: bool = false;

    #[inline(always)]
    fn options(&self) -> Options {
        self.options
    }

    fn prepare(&self, columns: &mut StructColumn) {
        if self.rest.is_some() {
            columns.hide_last();
        }
    }

    #[inline]
    fn begin(&mut self) {
        self.adjustments.begin();
        if let Some(rest) = &mut self.rest {
            rest.begin();
        }
    }

    fn enter(&mut self, step: Step) {
        self.adjustments.enter(step);
    }

    fn leave(&mut self) {
        self.adjustments.leave();
    }

    fn adjusted(&mut self, refusal: Refusal) {
        self.adjustments.add(refusal);
    }

    #[inline]
    fn adjustments(&mut self) -> Option<&mut Adjustments> {
        (self.options.faults != Faults::default()).then_some(&mut self.adjustments)
    }

    #[inline]
    fn rest(&mut self) -> Option<&mut Rest> {
        self.rest.as_mut()
    }

    fn added(&self) -> usize {
        self.size_of_defaults + self.rest.as_ref().map_or(0, |rest| rest.len() + 2)
    }

    fn end_row(&mut self, row: usize, columns: &mut StructColumn, steps: &mut Vec<Step>) -> Result<(), Refusal> {
        if let (Some(rest), Some(column)) = (&self.rest, columns.children.last_mut()) {
            rest.end(column);
        }
        for (default, column) in self.defaults.iter().zip(&mut columns.children) {
            if let (true, Some(text)) = (column.len() == row, default) {
                row::constant(text, &mut self.space, steps, column)?;
            }
        }
        Ok(())
    }
}

/// Whether there is nothing to do beside reading.
pub fn is_strict(options: Options, defaults: &Defaults) -> bool {
    options.faults == Faults::default() && options.unknown_fields != UnknownFields::Keep && defaults.is_empty()
}

/// The defaults of fields, none at all if no field has one. An error says which field cannot be read, or what is wrong with
/// its default.
pub fn defaults(schema: &SchemaRef, options: Options) -> Result<Defaults, String> {
    let mut columns = columns(schema, options)?;
    let mut defaults = Defaults::new();
    for (field, column) in schema.fields().iter().zip(&mut columns.children) {
        let Some(text) = field.metadata().get(DEFAULT) else {
            defaults.push(None);
            continue;
        };
        row::constant(text.as_bytes(), &mut Vec::new(), &mut Vec::new(), column)
            .map_err(|refusal| format!("{}: its default is refused: {}", field.name(), refusal.word()))?;
        column.truncate(0);
        defaults.push(Some(text.clone().into_bytes()));
    }
    Ok(if defaults.iter().any(Option::is_some) { defaults } else { Defaults::new() })
}

/// Columns of a schema. An error says which field cannot be read, and why.
pub fn columns(schema: &SchemaRef, options: Options) -> Result<StructColumn, String> {
    let columns = kind::columns(schema.fields(), 1)?;
    if options.unknown_fields == UnknownFields::Keep {
        keeps_rest(&columns)?;
    }
    Ok(columns)
}

/// What is unknown needs a column.
fn keeps_rest(columns: &StructColumn) -> Result<(), String> {
    let is_json = |column: &Column| matches!(column.data, Data::Json(_)) && column.nullable;
    if !columns.children.last().is_some_and(is_json) || columns.children.len() < 2 {
        return Err("the last field has to be json that may be null, behind others: it has what is unknown".into());
    }
    Ok(())
}

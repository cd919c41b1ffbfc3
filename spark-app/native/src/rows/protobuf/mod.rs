//! Typed rows of protobuf messages: any number of writers' schemas, each of their messages resolved once against the columns.

mod canonical;
mod entry;
mod framing;
mod input;
mod json;
mod parts;
mod plan;
mod read;
mod scalar;
mod schema;

use std::sync::OnceLock;

use arrow_array::BinaryArray;
use arrow_schema::{ArrowError, Fields, SchemaRef};

use super::adjusted::Adjustments;
use super::column::Filled;
use super::faults::{Faults, Nulls};
use super::fill::{self, ReadRow, Steps};
use super::framing::{Framing, Opener};
use super::nested::StructColumn;
use super::reason::Refusal;
use super::writers::{Learned, Writers};
use super::{Rows, kind};
pub use framing::{Selector, split};
pub use parts::{MessageParts, MessageTypes};
use plan::Plan;
use read::ValueReader;
use schema::{Id, Schema};

/// Makes rows of a schema from protobuf messages.
#[derive(Debug)]
pub struct ProtobufParser {
    schema: SchemaRef,
    framing: Framing,
    /// The message that values without a name are of; None: the first one.
    message: Option<String>,
    faults: Faults,
    writers: Writers<Writer>,
}

/// A schema by which values were written.
#[derive(Debug)]
struct Writer {
    schema: Schema,
    /// For each of its messages, once one has come, what becomes of it; or why nothing can.
    plans: Vec<OnceLock<Result<Plan, String>>>,
}

impl Writer {
    fn plan(&self, selector: Selector<'_>, given: Option<&str>, columns: &Fields) -> Result<&Plan, String> {
        let Self { schema, plans } = self;
        let id: Id = selector.find(schema, given).ok_or_else(|| match (selector, given) {
            (Selector::Given, Some(name)) => format!("the schema has no message {name}"),
            _ => "the schema does not have the message that a value names".to_owned(),
        })?;
        let found = plans[id].get_or_init(|| plan::compile(schema, id, columns));
        found.as_ref().map_err(Clone::clone)
    }
}

impl ProtobufParser {
    /// An error says which field of the schema cannot be read, and why.
    pub fn new(schema: SchemaRef, framing: Framing, message: Option<String>) -> Result<Self, String> {
        kind::columns(schema.fields(), 0)?;
        Ok(Self { schema, framing, message, faults: Faults::default(), writers: Writers::default() })
    }

    /// The same where values that do not fit may be set to null.
    pub fn with_faults(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    /// From now on values of this id are read by this schema, as Python has resolved it. Whether its messages can become the
    /// columns, [`ProtobufParser::problem`] says.
    pub fn add_writer(&self, id: u128, text: &str) -> Result<(), String> {
        let schema = Schema::parse(text)?;
        let plans = schema.messages.iter().map(|_| OnceLock::new()).collect();
        self.writers.set(id, Some(Writer { schema, plans }));
        Ok(())
    }

    /// From now on values of this id are refused.
    pub fn refuse_writer(&self, id: u128) {
        self.writers.set(id, None);
    }

    /// Why all values with the header of this one are refused; None: they are not, or their schema is not known.
    pub fn problem(&self, value: &[u8]) -> Option<String> {
        let mut opener = Opener::new(self.framing);
        let (id, value) = opener.open(value).ok()?;
        let (selector, _) = split(self.framing, value).ok()?;
        match self.writers.learned().of(id) {
            Ok(writer) => writer.plan(selector, self.message.as_deref(), self.schema.fields()).err(),
            Err(refusal) => (refusal == Refusal::OtherSchema).then(|| "its schema is refused".into()),
        }
    }

    /// Reads all values, and returns the ids that nobody has added or refused, too. Total, as [`super::RowParser::parse`]
    /// is; an error only if the rows of all values take more than 2 GiB.
    pub fn parse(&self, values: &BinaryArray) -> Result<(Rows, Vec<u128>), ArrowError> {
        let (opener, nulls) = (Opener::new(self.framing), Nulls::of(self.faults));
        let mut run = Run { parser: self, opener, writers: self.writers.learned(), bytes: 0, nulls };
        let rows = fill::rows(&self.schema, values, &mut run)?;
        Ok((rows, run.writers.unknown()))
    }
}

/// A column of values being read.
struct Run<'a> {
    parser: &'a ProtobufParser,
    opener: Opener,
    writers: Learned<Writer>,
    /// No column has more bytes than this.
    bytes: usize,
    nulls: Option<Nulls>,
}

impl ReadRow for Run<'_> {
    #[inline]
    fn read(&mut self, value: &[u8], row: usize, columns: &mut StructColumn, steps: &mut Steps) -> Result<(), Refusal> {
        let (id, value) = self.opener.open(value)?;
        let (selector, message) = split(self.parser.framing, value)?;
        let plan = self.writers.of(id)?.plan(selector, self.parser.message.as_deref(), self.parser.schema.fields());
        let plan = plan.map_err(|_| Refusal::OtherSchema)?;
        let mut reader = ValueReader::new(message, false, steps, None);
        let mut read = reader.message(plan, message, row, columns);
        let mut taken = reader.growth.taken();
        if let Some(nulls) = &mut self.nulls {
            nulls.adjustments.begin();
        }
        if read.is_err() {
            // Nearly all messages are written with each field once; what is said of the others needs a second look.
            columns.truncate(row);
            steps.clear();
            reader = ValueReader::new(message, true, steps, self.nulls.as_mut());
            read = reader.message(plan, message, row, columns);
            taken = reader.growth.taken();
        }
        read?;
        self.bytes += message.len() + taken + plan.added;
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn adjustments(&mut self) -> Option<&mut Adjustments> {
        self.nulls.as_mut().map(|nulls| &mut nulls.adjustments)
    }
}

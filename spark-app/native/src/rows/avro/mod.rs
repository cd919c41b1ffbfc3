//! Typed rows of Avro values: any number of writers' schemas, each resolved once against the columns of one schema.

mod default;
mod fingerprint;
mod input;
mod plan;
mod read;
mod schema;

use arrow_array::BinaryArray;
use arrow_schema::{ArrowError, SchemaRef};

use super::adjusted::Adjustments;
use super::column::Filled;
use super::faults::{Faults, Nulls};
use super::fill::{self, ReadRow, Steps};
use super::framing::{Framing, Opener};
use super::nested::StructColumn;
use super::reason::Refusal;
use super::writers::{Learned, Writers};
use super::{Rows, kind};
pub use input::Branch;
use plan::Plan;
use read::{ValueReader, check};
use schema::Schema;

/// Makes rows of a schema from Avro values.
#[derive(Debug)]
pub struct AvroParser {
    schema: SchemaRef,
    framing: Framing,
    faults: Faults,
    writers: Writers<Writer>,
}

/// A schema by which values were written.
#[derive(Debug)]
struct Writer {
    schema: Schema,
    plan: Plan,
    /// Bytes that a row of it can have in columns beyond its own.
    added: usize,
}

/// The CRC-64-AVRO of a schema, by which values of [`Framing::SingleObject`] name it.
pub fn avro_fingerprint(text: &str) -> Result<u64, String> {
    Schema::parse(text).map(|schema| fingerprint::fingerprint(&schema))
}

impl AvroParser {
    /// An error says which field of the schema cannot be read, and why.
    pub fn new(schema: SchemaRef, framing: Framing) -> Result<Self, String> {
        kind::columns(schema.fields(), 0)?;
        Ok(Self { schema, framing, faults: Faults::default(), writers: Writers::default() })
    }

    /// The same where values that do not fit may be set to null.
    pub fn with_faults(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    /// From now on values of this id are read by this schema. An error says which field cannot become its column.
    pub fn add_writer(&self, id: u128, text: &str) -> Result<(), String> {
        let schema = Schema::parse(text)?;
        let plan = plan::compile(&schema, self.schema.fields())?;
        let added = plan::added(&plan);
        self.writers.set(id, Some(Writer { schema, plan, added }));
        Ok(())
    }

    /// From now on values of this id are refused.
    pub fn refuse_writer(&self, id: u128) {
        self.writers.set(id, None);
    }

    /// Reads all values, and returns the ids that nobody has added or refused, too. Total, as [`super::RowParser::parse`]
    /// is; an error only if the rows of all values take more than 2 GiB.
    pub fn parse(&self, values: &BinaryArray) -> Result<(Rows, Vec<u128>), ArrowError> {
        let (opener, nulls) = (Opener::new(self.framing), Nulls::of(self.faults));
        let mut run = Run { opener, writers: self.writers.learned(), bytes: 0, nulls };
        let rows = fill::rows(&self.schema, values, &mut run)?;
        Ok((rows, run.writers.unknown()))
    }
}

/// A column of values being read.
struct Run {
    opener: Opener,
    writers: Learned<Writer>,
    /// No column has more bytes than this.
    bytes: usize,
    nulls: Option<Nulls>,
}

impl ReadRow for Run {
    #[inline]
    fn read(&mut self, value: &[u8], row: usize, columns: &mut StructColumn, steps: &mut Steps) -> Result<(), Refusal> {
        let (id, value) = self.opener.open(value)?;
        let Writer { schema, plan, added } = self.writers.of(id)?;
        let mut reader = ValueReader::new(value, schema, steps, None);
        let mut read = reader.row(plan, columns);
        let mut taken = reader.growth.taken();
        if let Some(nulls) = &mut self.nulls {
            nulls.adjustments.begin();
            if read.is_err_and(|refusal| nulls.helps(refusal)) {
                columns.truncate(row);
                steps.clear();
                reader = ValueReader::new(value, schema, steps, Some(nulls));
                read = reader.row(plan, columns);
                taken = reader.growth.taken();
            }
        }
        if let Err(refusal) = read {
            // What is wrong with the value as a whole goes before what is wrong with one field, wherever both are.
            let refusal = check(schema, value).err().unwrap_or(refusal);
            if matches!(refusal, Refusal::NotAvro | Refusal::TooDeep) {
                steps.clear();
            }
            return Err(refusal);
        }
        self.bytes += value.len() + taken + added;
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn adjustments(&mut self) -> Option<&mut Adjustments> {
        self.nulls.as_mut().map(|nulls| &mut nulls.adjustments)
    }
}

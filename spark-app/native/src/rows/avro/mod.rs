//! Typed rows of Avro values: any number of writers' schemas, each resolved once against the columns of one schema.

mod default;
mod fingerprint;
mod input;
mod plan;
mod read;
mod schema;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use arrow_array::{Array, BinaryArray};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::{ArrowError, SchemaRef};

use super::adjusted::Adjusted;
use super::column::{Bytes, Filled};
use super::framing::{Framing, Opener};
use super::nested::StructColumn;
use super::reason::{Refusal, Step, path};
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
    writers: RwLock<Arc<Writers>>,
}

type Writers = HashMap<u128, Arc<Writer>>;

/// A schema by which values were written.
#[derive(Debug)]
enum Writer {
    Resolved {
        schema: Schema,
        plan: Plan,
        /// Bytes that a row of it can have in columns beyond its own.
        added: usize,
    },
    Refused,
}

/// The CRC-64-AVRO of a schema, by which values of [`Framing::SingleObject`] name it.
pub fn avro_fingerprint(text: &str) -> Result<u64, String> {
    Schema::parse(text).map(|schema| fingerprint::fingerprint(&schema))
}

impl AvroParser {
    /// An error says which field of the schema cannot be read, and why.
    pub fn new(schema: SchemaRef, framing: Framing) -> Result<Self, String> {
        kind::columns(schema.fields(), 0)?;
        Ok(Self { schema, framing, writers: RwLock::default() })
    }

    /// From now on values of this id are read by this schema. An error says which field cannot become its column.
    pub fn add_writer(&self, id: u128, text: &str) -> Result<(), String> {
        let schema = Schema::parse(text)?;
        let plan = plan::compile(&schema, self.schema.fields())?;
        let added = plan::added(&plan);
        self.set(id, Writer::Resolved { schema, plan, added });
        Ok(())
    }

    /// From now on values of this id are refused.
    pub fn refuse_writer(&self, id: u128) {
        self.set(id, Writer::Refused);
    }

    fn set(&self, id: u128, writer: Writer) {
        let mut writers = self.writers.write().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut writers).insert(id, Arc::new(writer));
    }

    /// Reads all values, and returns the ids that nobody has added or refused, too. Total, as [`super::RowParser::parse`]
    /// is; an error only if the rows of all values take more than 2 GiB.
    pub fn parse(&self, values: &BinaryArray) -> Result<(Rows, Vec<u128>), ArrowError> {
        let writers = self.writers.read().unwrap_or_else(PoisonError::into_inner).clone();
        let fields = self.schema.fields();
        let columns = kind::columns(fields, values.len()).map_err(ArrowError::SchemaError)?;
        let opener = Opener::new(self.framing);
        let mut run = Run { opener, writers, last: None, columns, rows: 0, bytes: 0, steps: Vec::new() };
        let mut reasons = vec![0; values.len()];
        let mut paths = Bytes::with_capacity(values.len());
        let mut has_path = NullBufferBuilder::new(values.len());
        let mut unknown = BTreeSet::new();
        for (reason, value) in reasons.iter_mut().zip(values) {
            run.steps.clear();
            if let Err(refusal) = run.read(value, &mut unknown) {
                *reason = refusal as u8;
                paths.data.extend(path(fields, &run.steps).bytes());
            }
            has_path.append(!run.steps.is_empty());
            paths.end();
            if run.bytes > i32::MAX as usize {
                return Err(ArrowError::OffsetOverflowError(run.bytes));
            }
        }
        let batch = run.columns.into_batch(&self.schema, run.rows)?;
        let rows = Rows {
            batch,
            reasons: reasons.into(),
            paths: paths.strings(has_path.finish())?,
            adjusted: Adjusted::default(),
        };
        Ok((rows, unknown.into_iter().collect()))
    }
}

/// A column of values being read.
struct Run {
    opener: Opener,
    writers: Arc<Writers>,
    /// The writer of the value before: mostly it is the same.
    last: Option<(u128, Arc<Writer>)>,
    columns: StructColumn,
    rows: usize,
    /// No column has more bytes than this.
    bytes: usize,
    steps: Vec<Step>,
}

impl Run {
    #[inline]
    fn read(&mut self, value: Option<&[u8]>, unknown: &mut BTreeSet<u128>) -> Result<(), Refusal> {
        let (id, value) = self.opener.open(value.ok_or(Refusal::Null)?)?;
        if self.last.as_ref().is_none_or(|(last, _)| *last != id) {
            let Some(writer) = self.writers.get(&id) else {
                unknown.insert(id);
                return Err(Refusal::UnknownSchema);
            };
            self.last = Some((id, writer.clone()));
        }
        let Some((_, writer)) = &self.last else { return Err(Refusal::UnknownSchema) };
        let Writer::Resolved { schema, plan, added } = &**writer else { return Err(Refusal::OtherSchema) };
        let mut reader = ValueReader::new(value, schema, &mut self.steps);
        let read = reader.row(plan, &mut self.columns);
        match read {
            Ok(()) => {
                self.rows += 1;
                self.bytes += value.len() + reader.growth.taken() + added;
                Ok(())
            }
            Err(refusal) => {
                self.columns.truncate(self.rows);
                // What is wrong with the value as a whole goes before what is wrong with one field, wherever both are.
                let refusal = check(schema, value).err().unwrap_or(refusal);
                if matches!(refusal, Refusal::NotAvro | Refusal::TooDeep) {
                    self.steps.clear();
                }
                Err(refusal)
            }
        }
    }
}

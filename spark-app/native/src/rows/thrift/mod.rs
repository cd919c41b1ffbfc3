//! Typed rows of Thrift structs in the binary or the compact protocol, by a plan that Python has made of their schema.

mod input;
mod plan;
mod read;
mod scalar;

use arrow_array::BinaryArray;
use arrow_schema::{ArrowError, SchemaRef};

use super::adjusted::Adjustments;
use super::column::Filled;
use super::faults::{Faults, Nulls};
use super::fill::{self, ReadRow, Steps};
use super::nested::StructColumn;
use super::reason::Refusal;
use super::{Rows, kind};
use input::{Input, Wire};
use plan::Plan;
use read::ValueReader;

/// Makes rows of a schema from Thrift structs.
#[derive(Debug)]
pub struct ThriftParser {
    schema: SchemaRef,
    plan: Plan,
    is_compact: bool,
    faults: Faults,
}

impl ThriftParser {
    /// An error says which field of the schema cannot be read, and why.
    pub fn new(schema: SchemaRef, plan: &str, is_compact: bool) -> Result<Self, String> {
        kind::columns(schema.fields(), 0)?;
        let plan = Plan::parse(plan, schema.fields())?;
        Ok(Self { schema, plan, is_compact, faults: Faults::default() })
    }

    /// The same where values that do not fit may be set to null.
    pub fn with_faults(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    /// Reads all values. Total, as [`super::RowParser::parse`] is; an error only if the rows of all values take more than
    /// 2 GiB.
    pub fn parse(&self, values: &BinaryArray) -> Result<Rows, ArrowError> {
        let (plan, nulls) = (&self.plan, Nulls::of(self.faults));
        if self.is_compact {
            fill::rows(&self.schema, values, &mut Reader::<true> { plan, bytes: 0, nulls })
        } else {
            fill::rows(&self.schema, values, &mut Reader::<false> { plan, bytes: 0, nulls })
        }
    }
}

struct Reader<'a, const COMPACT: bool> {
    plan: &'a Plan,
    /// No column has more bytes than this.
    bytes: usize,
    nulls: Option<Nulls>,
}

impl<const COMPACT: bool> ReadRow for Reader<'_, COMPACT> {
    #[inline]
    fn read(&mut self, value: &[u8], row: usize, columns: &mut StructColumn, steps: &mut Steps) -> Result<(), Refusal> {
        let mut reader = ValueReader::<COMPACT>::new(value, steps, None);
        let mut read = reader.row(self.plan, row, columns);
        let mut taken = reader.growth.taken();
        if let Some(nulls) = &mut self.nulls {
            nulls.adjustments.begin();
            if read.is_err_and(|refusal| nulls.helps(refusal)) {
                columns.truncate(row);
                steps.clear();
                reader = ValueReader::new(value, steps, Some(nulls));
                read = reader.row(self.plan, row, columns);
                taken = reader.growth.taken();
            }
        }
        read?;
        self.bytes += value.len() + taken + self.plan.added;
        Ok(())
    }

    fn judge_whole(&self, value: &[u8]) -> Option<Refusal> {
        let mut input = Input::<COMPACT>::new(value);
        input.skip(Wire::Struct).and_then(|()| input.end()).err()
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn adjustments(&mut self) -> Option<&mut Adjustments> {
        self.nulls.as_mut().map(|nulls| &mut nulls.adjustments)
    }
}

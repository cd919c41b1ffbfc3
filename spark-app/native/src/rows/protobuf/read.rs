//! One message into the columns of a schema, by a plan.

use super::super::column::{Column, Data};
use super::super::faults::Nulls;
use super::super::growth::Growth;
use super::super::nested::{ListColumn, MapColumn, StructColumn};
use super::super::reason::{Refusal, Step};
use super::canonical::canonical;
use super::entry::EntryParts;
use super::input::{Input, Wire};
use super::json;
use super::plan::{Entry, FieldPlan, Item, Missing, Plan, Shape, Value};
use super::scalar::{ZERO, enumerated, scalar, timestamp, wrapped};
use super::schema::Scalar;

/// What reads a value.
pub struct ValueReader<'s> {
    /// Whether each message is made canonical before it is read. Without that, [`Refusal::Duplicate`] is the answer to
    /// what is there twice, and any refusal may be of what does not count.
    careful: bool,
    pub growth: Growth,
    steps: &'s mut Vec<Step>,
    /// What sets values to null, only with `careful`; None: each that does not fit refuses the record.
    nulls: Option<&'s mut Nulls>,
}

impl<'s> ValueReader<'s> {
    /// After an error, `steps` says where it is, the innermost field first.
    pub fn new(bytes: &[u8], careful: bool, steps: &'s mut Vec<Step>, nulls: Option<&'s mut Nulls>) -> Self {
        Self { careful, growth: Growth::of(bytes.len()), steps, nulls }
    }

    /// Appends a message as row number `row`. After an error the columns must be cut back.
    pub fn message(
        &mut self,
        plan: &Plan,
        bytes: &[u8],
        row: usize,
        columns: &mut StructColumn,
    ) -> Result<(), Refusal> {
        if self.careful {
            let whole = canonical(plan, bytes)?;
            self.fields(plan, &whole, row, columns)?;
        } else {
            self.fields(plan, bytes, row, columns)?;
        }
        for (index, missing) in plan.missing.iter().enumerate() {
            let column = &mut columns.children[index];
            if column.len() > row {
                continue;
            }
            if let Err(refusal) = self.end(missing, column) {
                return self.fault(Step::Field(index), refusal);
            }
        }
        Ok(())
    }

    fn fields(&mut self, plan: &Plan, bytes: &[u8], row: usize, columns: &mut StructColumn) -> Result<(), Refusal> {
        let mut input = Input::new(bytes);
        let (mut expected, mut set) = (0, 0_u64);
        while input.left() > 0 {
            let (number, wire) = input.field()?;
            let found = plan.find(number, expected).filter(|index| {
                let field = &plan.fields[*index];
                field.takes(wire) && is_known(field, wire, input)
            });
            let Some(index) = found else {
                input.skip(number, wire)?;
                continue;
            };
            let field = &plan.fields[index];
            if let (Some(oneof), false) = (field.oneof, self.careful) {
                // Of more oneofs than bits some share one: that costs the careful way only.
                let bit = 1 << (oneof % 64);
                if set & bit != 0 {
                    return Err(Refusal::Duplicate);
                }
                set |= bit;
            }
            let read = match &field.shape {
                Shape::Single(index, value) => {
                    let column = &mut columns.children[*index];
                    if column.len() > row {
                        return Err(Refusal::Duplicate);
                    }
                    self.child(Step::Field(*index), value, column, |reader, column| {
                        reader.value(value, &mut input, field.number, wire, column)
                    })
                    .map_err(|refusal| (*index, refusal))
                }
                Shape::List(index, item) => match &mut columns.children[*index].data {
                    Data::List(list) => self
                        .within(Step::Field(*index), |reader| reader.items(field, item, &mut input, wire, list))
                        .map_err(|refusal| (*index, refusal)),
                    _ => Err((*index, Refusal::WrongType)),
                },
                Shape::Map(index, entry) => match &mut columns.children[*index].data {
                    Data::Map(map) => {
                        let piece = input.message(number, wire)?;
                        self.within(Step::Field(*index), |reader| reader.entry(entry, piece, map))
                            .map_err(|refusal| (*index, refusal))
                    }
                    _ => Err((*index, Refusal::WrongType)),
                },
                Shape::Sibling { .. } => {
                    input.skip(number, wire)?;
                    Ok(())
                }
            };
            expected = if matches!(field.shape, Shape::Single(..)) { index + 1 } else { index };
            if let Err((index, refusal)) = read {
                return self.fault(Step::Field(index), refusal);
            }
        }
        Ok(())
    }

    /// Appends what stands in a column that no value was appended to.
    fn end(&mut self, missing: &Missing, column: &mut Column) -> Result<(), Refusal> {
        match (missing, &mut column.data) {
            (Missing::Null, _) => push_null(column),
            (Missing::List, Data::List(list)) => {
                list.end();
                column.pushed();
                Ok(())
            }
            (Missing::Map, Data::Map(map)) => {
                if map.has_duplicates() {
                    return Err(Refusal::Duplicate);
                }
                map.end();
                column.pushed();
                Ok(())
            }
            (Missing::Zero(value), data) => {
                if is_other_text(value, data) {
                    return push_null(column);
                }
                self.value(value, &mut Input::new(&ZERO), 0, Wire::Varint, column)
            }
            (Missing::Default(Some(text)), Data::String(bytes)) => {
                bytes.data.extend_from_slice(text);
                bytes.end();
                column.pushed();
                Ok(())
            }
            (Missing::Default(_), _) => {
                column.push_zero();
                Ok(())
            }
            _ => Err(Refusal::WrongType),
        }
    }

    /// Appends a value by `read`, which is one step further inside; one that does not fit may become null.
    #[inline(always)]
    fn child(
        &mut self,
        step: Step,
        value: &Value,
        column: &mut Column,
        read: impl FnOnce(&mut Self, &mut Column) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        if self.nulls.is_none() {
            return read(self, column);
        }
        self.within(step, |reader| {
            let row = column.len();
            match (read(reader, column), &mut reader.nulls) {
                // A document that becomes too long is no value that does not fit.
                (Err(refusal), Some(nulls)) if reader.steps.is_empty() && !matches!(value, Value::Json(_)) => {
                    nulls.set(refusal, row, column)
                }
                (read, _) => read,
            }
        })
    }

    /// Reads what is one step further inside.
    #[inline(always)]
    fn within(&mut self, step: Step, read: impl FnOnce(&mut Self) -> Result<(), Refusal>) -> Result<(), Refusal> {
        self.nulls.iter_mut().for_each(|nulls| nulls.adjustments.enter(step));
        let found = read(self);
        self.nulls.iter_mut().for_each(|nulls| nulls.adjustments.leave());
        found
    }

    #[inline(always)]
    fn value(
        &mut self,
        value: &Value,
        input: &mut Input<'_>,
        number: u32,
        wire: Wire,
        column: &mut Column,
    ) -> Result<(), Refusal> {
        match value {
            Value::Scalar(of) => scalar(*of, input, &mut column.data)?,
            Value::Enum(names) => enumerated(names, input, &mut column.data)?,
            _ => {
                let inner = input.message(number, wire)?;
                let row = column.len();
                self.inside(value, inner, row, &mut column.data)?;
            }
        }
        column.pushed();
        Ok(())
    }

    /// Appends what is in a message.
    fn inside(&mut self, value: &Value, bytes: &[u8], row: usize, data: &mut Data) -> Result<(), Refusal> {
        match (value, data) {
            (Value::Message(plan), Data::Struct(columns)) => self.message(plan, bytes, row, columns),
            (Value::Timestamp, Data::Timestamp(values, clock)) => {
                values.push(timestamp(bytes, clock.per_second())?);
                Ok(())
            }
            (Value::Wrapper(of), data) => scalar(*of, &mut Input::new(wrapped(*of, bytes)?), data),
            (Value::Json(of), Data::Json(target)) => {
                let begin = target.data.len();
                json::write(*of, bytes, &mut target.data)?;
                self.growth.take(target.data.len() - begin)?;
                target.end();
                Ok(())
            }
            _ => Err(Refusal::WrongType),
        }
    }

    fn items(
        &mut self,
        field: &FieldPlan,
        item: &Item,
        input: &mut Input<'_>,
        wire: Wire,
        list: &mut ListColumn,
    ) -> Result<(), Refusal> {
        if !(wire == Wire::Sized && field.is_packable()) {
            return self.item(field, item, input, wire, list);
        }
        let mut packed = Input::new(input.sized()?);
        while packed.left() > 0 {
            self.item(field, item, &mut packed, field.wire, list)?;
        }
        Ok(())
    }

    #[inline]
    fn item(
        &mut self,
        field: &FieldPlan,
        item: &Item,
        input: &mut Input<'_>,
        wire: Wire,
        list: &mut ListColumn,
    ) -> Result<(), Refusal> {
        if let Some(names) = &field.closed {
            let mut ahead = *input;
            match ahead.varint() {
                Ok(number) if names.takes(number as i32) => {}
                Ok(_) => {
                    *input = ahead;
                    return Ok(());
                }
                Err(refusal) => return self.fault(Step::Item, refusal),
            }
        }
        let read = self.growth.take(item.growth);
        let read = read.and_then(|()| {
            self.child(Step::Item, &item.value, &mut list.items, |reader, column| {
                reader.value(&item.value, input, field.number, wire, column)
            })
        });
        if let Err(refusal) = read {
            return self.fault(Step::Item, refusal);
        }
        Ok(())
    }

    fn entry(&mut self, entry: &Entry, bytes: &[u8], map: &mut MapColumn) -> Result<(), Refusal> {
        let read = EntryParts::read(entry, bytes).and_then(|found| {
            let Some(found) = found else { return Ok(()) };
            self.growth.take(entry.item.growth)?;
            map.keys.data.extend_from_slice(&found.key);
            map.keys.end();
            let value = &entry.item.value;
            self.child(Step::Entry, value, &mut map.values, |reader, column| {
                let row = column.len();
                match value {
                    Value::Scalar(of) => scalar(*of, &mut Input::new(&found.value), &mut column.data)?,
                    Value::Enum(names) => enumerated(names, &mut Input::new(&found.value), &mut column.data)?,
                    value => reader.inside(value, &found.value, row, &mut column.data)?,
                }
                column.pushed();
                Ok(())
            })
        });
        if let Err(refusal) = read {
            return self.fault(Step::Entry, refusal);
        }
        Ok(())
    }

    #[cold]
    fn fault(&mut self, step: Step, refusal: Refusal) -> Result<(), Refusal> {
        self.steps.push(step);
        Err(refusal)
    }
}

/// Whether the value that comes next is one of a closed enum, if the field has one; others are skipped as unknown.
#[inline(always)]
pub fn is_known(field: &FieldPlan, wire: Wire, mut ahead: Input<'_>) -> bool {
    match &field.closed {
        Some(names) if wire == Wire::Varint && !matches!(field.shape, Shape::List(..)) => {
            ahead.varint().is_ok_and(|number| names.takes(number as i32))
        }
        _ => true,
    }
}

/// Whether a text that is not there would have to be a date or the like: then there is none.
fn is_other_text(value: &Value, data: &Data) -> bool {
    matches!(value, Value::Scalar(Scalar::String)) && !matches!(data, Data::String(_) | Data::Base64(_))
}

fn push_null(column: &mut Column) -> Result<(), Refusal> {
    if column.push_null() { Ok(()) } else { Err(Refusal::Missing) }
}

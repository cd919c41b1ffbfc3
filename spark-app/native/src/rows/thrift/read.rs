//! One struct into the columns of a schema, by a plan.

use super::super::column::{Column, Data};
use super::super::faults::Nulls;
use super::super::growth::Growth;
use super::super::nested::{ListColumn, MapColumn, StructColumn};
use super::super::reason::{Refusal, Step};
use super::input::{Input, Wire};
use super::plan::{Default, Entry, Item, Plan, Value};
use super::scalar::{Token, key_text, scalar};

/// What reads a value.
pub struct ValueReader<'a, 's, const COMPACT: bool> {
    input: Input<'a, COMPACT>,
    pub growth: Growth,
    steps: &'s mut Vec<Step>,
    /// What sets values to null; None: each that does not fit refuses the record.
    nulls: Option<&'s mut Nulls>,
}

impl<'a, 's, const COMPACT: bool> ValueReader<'a, 's, COMPACT> {
    /// After an error, `steps` says where it is, the innermost field first.
    pub fn new(bytes: &'a [u8], steps: &'s mut Vec<Step>, nulls: Option<&'s mut Nulls>) -> Self {
        Self { input: Input::new(bytes), growth: Growth::of(bytes.len()), steps, nulls }
    }

    /// Appends the struct that the value is, as row number `row`. After an error the columns must be cut back.
    #[inline]
    pub fn row(&mut self, plan: &Plan, row: usize, columns: &mut StructColumn) -> Result<(), Refusal> {
        self.members(plan, row, columns)?;
        self.input.end()
    }

    /// Reads a struct as value number `row` of a column.
    fn members(&mut self, plan: &Plan, row: usize, columns: &mut StructColumn) -> Result<(), Refusal> {
        self.input.open()?;
        let (mut last, mut expected, mut found) = (0, 0, 0);
        while let Some((number, wire)) = self.input.field(&mut last)? {
            let Some(place) = plan.find(number, expected) else {
                self.input.skip(wire)?;
                continue;
            };
            let field = plan.field(place);
            let column = &mut columns.children[field.column];
            let read = if column.len() > row {
                Err(Refusal::Duplicate)
            } else if wire != field.value.wire() {
                Err(Refusal::WrongType)
            } else {
                self.child(Step::Field(field.column), &field.value, column)
            };
            if let Err(refusal) = read {
                return self.fault(Step::Field(field.column), refusal);
            }
            expected = place + 1;
            found += 1;
        }
        self.input.close();
        if found == columns.children.len() {
            return Ok(());
        }
        for (index, column) in columns.children.iter_mut().enumerate() {
            if column.len() > row {
                continue;
            }
            if let Err(refusal) = absent(plan, index, column) {
                return self.fault(Step::Field(index), refusal);
            }
        }
        Ok(())
    }

    /// Appends a value that is one step further inside; one that does not fit may become null.
    #[inline(always)]
    fn child(&mut self, step: Step, value: &Value, column: &mut Column) -> Result<(), Refusal> {
        if self.nulls.is_none() { self.value(value, column) } else { self.value_or_null(step, value, column) }
    }

    #[cold]
    fn value_or_null(&mut self, step: Step, value: &Value, column: &mut Column) -> Result<(), Refusal> {
        let row = column.len();
        self.nulls.iter_mut().for_each(|nulls| nulls.adjustments.enter(step));
        let mut read = self.value(value, column);
        if let Some(nulls) = &mut self.nulls {
            if let (Err(refusal), true) = (read, self.steps.is_empty()) {
                read = nulls.set(refusal, row, column);
            }
            nulls.adjustments.leave();
        }
        read
    }

    #[inline]
    fn value(&mut self, value: &Value, column: &mut Column) -> Result<(), Refusal> {
        let row = column.len();
        match (value, &mut column.data) {
            (Value::Scalar(wire), data) => scalar(self.token(*wire)?, None, data)?,
            (Value::Enum(names), data) => scalar(self.token(Wire::I32)?, Some(names), data)?,
            (Value::Struct(plan), Data::Struct(columns)) => self.members(plan, row, columns)?,
            (Value::List(_, item), Data::List(list)) => self.items(item, list)?,
            (Value::Map(entry), Data::Map(map)) => self.entries(entry, map)?,
            _ => return Err(Refusal::WrongType),
        }
        column.pushed();
        Ok(())
    }

    #[inline(always)]
    fn token(&mut self, wire: Wire) -> Result<Token<'a>, Refusal> {
        Ok(match wire {
            Wire::Sized => Token::Text(self.input.sized()?),
            Wire::Bool => Token::Bool(self.input.bool()?),
            Wire::Double => Token::Double(self.input.double()?),
            _ => Token::Integer(self.input.integer(wire)?),
        })
    }

    fn items(&mut self, item: &Item, list: &mut ListColumn) -> Result<(), Refusal> {
        self.input.open()?;
        if let (Some(wire), size) = self.input.list()? {
            if wire != item.value.wire() {
                return self.fault(Step::Item, Refusal::WrongType);
            }
            for _ in 0..size {
                let read = self.growth.take(item.growth);
                let read = read.and_then(|()| self.child(Step::Item, &item.value, &mut list.items));
                if let Err(refusal) = read {
                    return self.fault(Step::Item, refusal);
                }
            }
        }
        self.input.close();
        list.end();
        Ok(())
    }

    fn entries(&mut self, entry: &Entry, map: &mut MapColumn) -> Result<(), Refusal> {
        self.input.open()?;
        if let (Some(wires), size) = self.input.map()? {
            if wires != (entry.key.wire(), entry.item.value.wire()) {
                return self.fault(Step::Entry, Refusal::WrongType);
            }
            for _ in 0..size {
                if let Err(refusal) = self.entry(entry, map) {
                    return self.fault(Step::Entry, refusal);
                }
            }
        }
        self.input.close();
        if map.has_duplicates() {
            return self.fault(Step::Entry, Refusal::Duplicate);
        }
        map.end();
        Ok(())
    }

    fn entry(&mut self, entry: &Entry, map: &mut MapColumn) -> Result<(), Refusal> {
        self.growth.take(entry.item.growth)?;
        let key = self.token(entry.key.wire())?;
        key_text(key, &entry.key, &mut map.keys.data)?;
        map.keys.end();
        self.child(Step::Entry, &entry.item.value, &mut map.values)
    }

    #[cold]
    fn fault(&mut self, step: Step, refusal: Refusal) -> Result<(), Refusal> {
        self.steps.push(step);
        Err(refusal)
    }
}

/// Appends what stands where the field of a column is not.
fn absent(plan: &Plan, index: usize, column: &mut Column) -> Result<(), Refusal> {
    let Some(default) = &plan.defaults[index] else {
        return if column.push_null() { Ok(()) } else { Err(Refusal::Missing) };
    };
    let token = match default {
        Default::Bool(bit) => Token::Bool(*bit),
        Default::Integer(number) => Token::Integer(*number),
        Default::Double(number) => Token::Double(*number),
        Default::Text(text) => Token::Text(text),
        Default::Empty => {
            column.push_zero();
            return Ok(());
        }
    };
    scalar(token, None, &mut column.data)?;
    column.pushed();
    Ok(())
}

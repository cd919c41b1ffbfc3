//! One Avro value into the columns of a schema, by a plan.

use super::super::column::{Column, Data};
use super::super::faults::Nulls;
use super::super::growth::Growth;
use super::super::kind::TimeNotation;
use super::super::nested::{ListColumn, MapColumn, StructColumn};
use super::super::number::{Number as Text, double_of, single_of};
use super::super::reader::MOST_NESTED;
use super::super::reason::{Refusal, Step as PathStep};
use super::super::time;
use super::input::Input;
use super::plan::{Digits, Item, Number, Plan, Record, Step};
use super::schema::{Id, Kind, Schema};
use crate::scan::is_utf8;

/// What reads a value.
pub struct ValueReader<'a, 's> {
    pub input: Input<'a>,
    schema: &'s Schema,
    pub growth: Growth,
    steps: &'s mut Vec<PathStep>,
    /// What sets values to null; None: each that does not fit refuses the record.
    nulls: Option<&'s mut Nulls>,
}

impl<'a, 's> ValueReader<'a, 's> {
    /// After an error, `steps` says where it is, the innermost field first.
    pub fn new(
        bytes: &'a [u8],
        schema: &'s Schema,
        steps: &'s mut Vec<PathStep>,
        nulls: Option<&'s mut Nulls>,
    ) -> Self {
        Self { input: Input::new(bytes), schema, growth: Growth::of(bytes.len()), steps, nulls }
    }

    /// Appends a row. After an error the columns must be cut back.
    #[inline]
    pub fn row(&mut self, plan: &Plan, columns: &mut StructColumn) -> Result<(), Refusal> {
        match plan {
            Plan::Record(record) => {
                self.record(record, columns)?;
                self.input.end()
            }
            Plan::Union(branches) => {
                let position = self.input.position(branches.len())?;
                self.row(&branches[position], columns)
            }
            Plan::Refused(refusal) => Err(*refusal),
            _ => Err(Refusal::WrongType),
        }
    }

    #[inline]
    fn record(&mut self, record: &Record, columns: &mut StructColumn) -> Result<(), Refusal> {
        for step in &record.fields {
            match step {
                Step::Into(index, plan) => {
                    self.child(PathStep::Field(*index), plan, &mut columns.children[*index])?;
                }
                Step::Skip(id, depth) => skip(self.schema, &mut self.input, *id, *depth)?,
            }
        }
        for (index, plan) in &record.absent {
            self.child(PathStep::Field(*index), plan, &mut columns.children[*index])?;
        }
        Ok(())
    }

    /// Appends a value that is one step further inside.
    #[inline(always)]
    fn child(&mut self, step: PathStep, plan: &Plan, column: &mut Column) -> Result<(), Refusal> {
        let read = if self.nulls.is_none() { self.value(plan, column) } else { self.value_or_null(step, plan, column) };
        if let Err(refusal) = read { self.fault(step, refusal) } else { Ok(()) }
    }

    #[cold]
    fn value_or_null(&mut self, step: PathStep, plan: &Plan, column: &mut Column) -> Result<(), Refusal> {
        let row = column.len();
        self.nulls.iter_mut().for_each(|nulls| nulls.adjustments.enter(step));
        let mut read = self.value(plan, column);
        if let Some(nulls) = &mut self.nulls {
            if let (Err(refusal), true) = (read, self.steps.is_empty()) {
                read = nulls.set(refusal, row, column);
            }
            nulls.adjustments.leave();
        }
        read
    }

    fn value(&mut self, plan: &Plan, column: &mut Column) -> Result<(), Refusal> {
        let plan = match plan {
            Plan::Nullable { null, inner } => match self.input.long()? {
                position if position == *null => return push_null(column),
                0 | 1 => inner,
                _ => return Err(Refusal::NotAvro),
            },
            plan => plan,
        };
        match (plan, &mut column.data) {
            (Plan::Text, Data::String(bytes)) => {
                self.input.text_into(&mut bytes.data)?;
                bytes.end();
            }
            (Plan::Long, Data::Int64(values)) => values.push(self.input.long()?),
            (Plan::Int, Data::Int32(values)) => values.push(self.input.int()?),
            (Plan::Int, Data::Int64(values)) => values.push(self.input.int()?.into()),
            (Plan::Bool, Data::Bool(bits)) => bits.append(self.input.boolean()?),
            (Plan::Real(number), Data::Float64(values)) => values.push(self.double(*number)?),
            (Plan::Instant(number, from), Data::Timestamp(values, clock)) => {
                values.push(time::epoch(self.whole(*number)?, *from, clock.per_second())?);
            }
            (Plan::Record(record), Data::Struct(columns)) => self.record(record, columns)?,
            (Plan::List(item), Data::List(list)) => self.items(item, list)?,
            (Plan::Map(item), Data::Map(map)) => self.entries(item, map)?,
            (Plan::Enum(symbols), Data::String(bytes)) => {
                bytes.data.extend_from_slice(&symbols[self.input.position(symbols.len())?]);
                bytes.end();
            }
            (Plan::Decimal(digits), Data::Decimal(values, decimal)) => {
                values.push(decimal.fitting(self.unscaled(*digits)?)?);
            }
            (Plan::Bytes, Data::Base64(bytes)) => {
                bytes.data.extend_from_slice(self.input.sized()?);
                bytes.end();
            }
            (Plan::Fixed(size), Data::Base64(bytes)) => {
                bytes.data.extend_from_slice(self.input.take(*size)?);
                bytes.end();
            }
            (Plan::Uuid, Data::String(bytes)) => {
                write_uuid(self.input.array()?, &mut bytes.data);
                bytes.end();
            }
            (Plan::Null | Plan::Nullable { .. } | Plan::Union(_) | Plan::Refused(_) | Plan::Default(_), _) => {
                return self.indirect(plan, column);
            }
            (plan, data) => self.seldom(plan, data)?,
        }
        column.pushed();
        Ok(())
    }

    fn indirect(&mut self, plan: &Plan, column: &mut Column) -> Result<(), Refusal> {
        match plan {
            Plan::Null => push_null(column),
            Plan::Refused(refusal) => Err(*refusal),
            Plan::Union(branches) => {
                let position = self.input.position(branches.len())?;
                self.value(&branches[position], column)
            }
            Plan::Default(constant) => {
                // What it grows by is counted with the item that it is in.
                let (input, schema) = (Input::new(&constant.bytes), self.schema);
                ValueReader { input, schema, growth: Growth::unlimited(), steps: self.steps, nulls: None }
                    .value(&constant.plan, column)
            }
            _ => Err(Refusal::WrongType),
        }
    }

    /// Types that few schemas have, so that the others are found faster.
    fn seldom(&mut self, plan: &Plan, data: &mut Data) -> Result<(), Refusal> {
        match (plan, data) {
            (Plan::Int | Plan::Long, Data::Int8(values)) => values.push(self.narrow(plan)?),
            (Plan::Int | Plan::Long, Data::Int16(values)) => values.push(self.narrow(plan)?),
            (Plan::Long, Data::Int32(values)) => values.push(self.narrow(plan)?),
            (Plan::Real(number), Data::Float32(values)) => values.push(self.single(*number)?),
            (Plan::Date, Data::Date(values)) => values.push(time::day(self.input.int()?)?),
            (Plan::Time(number, from), Data::TimeMilliseconds(values)) => {
                values.push(time::of_day(self.whole(*number)?, *from, 1_000)? as i32);
            }
            (Plan::Time(number, from), Data::TimeMicroseconds(values)) => {
                values.push(time::of_day(self.whole(*number)?, *from, 1_000_000)?);
            }
            (Plan::Text, Data::Date(values)) => values.push(time::date(text(self.input.sized()?)?)?),
            (Plan::Text, Data::TimeMilliseconds(values)) => {
                values.push(time::time(text(self.input.sized()?)?, 1_000)? as i32);
            }
            (Plan::Text, Data::TimeMicroseconds(values)) => {
                values.push(time::time(text(self.input.sized()?)?, 1_000_000)?);
            }
            (Plan::Text, Data::Timestamp(values, clock)) => {
                let TimeNotation::Text(notation) = &clock.notation else { return Err(Refusal::WrongType) };
                values.push(time::timestamp(text(self.input.sized()?)?, notation, clock.per_second())?);
            }
            (Plan::Text, Data::Decimal(values, decimal)) => {
                let number = Text::whole(text(self.input.sized()?)?).ok_or(Refusal::BadText)?;
                values.push(decimal.unscaled(&number)?);
            }
            _ => return Err(Refusal::WrongType),
        }
        Ok(())
    }

    fn narrow<T: TryFrom<i64>>(&mut self, plan: &Plan) -> Result<T, Refusal> {
        let number = if matches!(plan, Plan::Int) { self.input.int()?.into() } else { self.input.long()? };
        T::try_from(number).map_err(|_| Refusal::Overflow)
    }

    #[inline(always)]
    fn whole(&mut self, number: Number) -> Result<i64, Refusal> {
        if number == Number::Int { self.input.int().map(i64::from) } else { self.input.long() }
    }

    #[inline(always)]
    fn double(&mut self, number: Number) -> Result<f64, Refusal> {
        Ok(match number {
            Number::Double => f64::from_le_bytes(self.input.array()?),
            Number::Float => f32::from_le_bytes(self.input.array()?).into(),
            Number::Int => self.input.int()?.into(),
            Number::Long => double_of(self.input.long()?.into())?,
        })
    }

    fn single(&mut self, number: Number) -> Result<f32, Refusal> {
        Ok(match number {
            Number::Double => f64::from_le_bytes(self.input.array()?) as f32,
            Number::Float => f32::from_le_bytes(self.input.array()?),
            Number::Int => single_of(self.input.int()?.into())?,
            Number::Long => single_of(self.input.long()?.into())?,
        })
    }

    fn unscaled(&mut self, Digits { fixed, factor }: Digits) -> Result<i128, Refusal> {
        let bytes = match fixed {
            Some(size) => self.input.take(size)?,
            None => self.input.sized()?,
        };
        let sign = if bytes.first().is_some_and(|byte| *byte >= 0x80) { 0xff } else { 0 };
        let significant = bytes.iter().position(|byte| *byte != sign).map_or(&[][..], |begin| &bytes[begin..]);
        let mut number = [sign; 16];
        let begin = 16_usize.checked_sub(significant.len()).ok_or(Refusal::Overflow)?;
        number[begin..].copy_from_slice(significant);
        let number = i128::from_be_bytes(number);
        // Its sign is that of the whole, or else 128 bits were not enough.
        if (number < 0) != (sign == 0xff) {
            return Err(Refusal::Overflow);
        }
        number.checked_mul(factor).ok_or(Refusal::Overflow)
    }

    fn items(&mut self, item: &Item, list: &mut ListColumn) -> Result<(), Refusal> {
        loop {
            let (count, behind) = self.input.block()?;
            if count == 0 {
                break;
            }
            for _ in 0..count {
                if let Err(refusal) = self.growth.take(item.growth) {
                    return self.fault(PathStep::Item, refusal);
                }
                self.child(PathStep::Item, &item.plan, &mut list.items)?;
            }
            self.input.block_end(behind)?;
        }
        list.end();
        Ok(())
    }

    fn entries(&mut self, item: &Item, map: &mut MapColumn) -> Result<(), Refusal> {
        loop {
            let (count, behind) = self.input.block()?;
            if count == 0 {
                break;
            }
            for _ in 0..count {
                let key = self.input.text_into(&mut map.keys.data);
                if let Err(refusal) = key.and_then(|()| self.growth.take(item.growth)) {
                    return self.fault(PathStep::Entry, refusal);
                }
                map.keys.end();
                self.child(PathStep::Entry, &item.plan, &mut map.values)?;
            }
            self.input.block_end(behind)?;
        }
        if map.has_duplicates() {
            return self.fault(PathStep::Entry, Refusal::Duplicate);
        }
        map.end();
        Ok(())
    }

    #[cold]
    fn fault(&mut self, step: PathStep, refusal: Refusal) -> Result<(), Refusal> {
        self.steps.push(step);
        Err(refusal)
    }
}

/// Says whether a value is what its schema says, whatever the columns are.
#[cold]
pub fn check(schema: &Schema, bytes: &[u8]) -> Result<(), Refusal> {
    let mut input = Input::new(bytes);
    skip(schema, &mut input, schema.root, MOST_NESTED)?;
    input.end()
}

/// Goes behind a value. The depth is limited, because schemas can refer to themselves.
fn skip(schema: &Schema, input: &mut Input<'_>, id: Id, depth: usize) -> Result<(), Refusal> {
    let depth = depth.checked_sub(1).ok_or(Refusal::TooDeep)?;
    match &schema.get(id).kind {
        Kind::Null => Ok(()),
        Kind::Boolean => input.boolean().map(drop),
        Kind::Int => input.int().map(drop),
        Kind::Long => input.long().map(drop),
        Kind::Float => input.take(4).map(drop),
        Kind::Double => input.take(8).map(drop),
        Kind::Bytes | Kind::String => input.sized().map(drop),
        Kind::Fixed(size) => input.take(*size).map(drop),
        Kind::Enum(symbols) => input.position(symbols.len()).map(drop),
        Kind::Union(branches) => {
            let position = input.position(branches.len())?;
            skip(schema, input, branches[position], depth)
        }
        Kind::Record(fields) => fields.iter().try_for_each(|field| skip(schema, input, field.id, depth)),
        Kind::Array(items) => skip_blocks(input, |input| skip(schema, input, *items, depth)),
        Kind::Map(values) => skip_blocks(input, |input| {
            input.sized()?;
            skip(schema, input, *values, depth)
        }),
    }
}

fn skip_blocks<'a>(input: &mut Input<'a>, one: impl Fn(&mut Input<'a>) -> Result<(), Refusal>) -> Result<(), Refusal> {
    loop {
        let (count, behind) = input.block()?;
        if count == 0 {
            return Ok(());
        }
        for _ in 0..count {
            let left = input.left();
            one(input)?;
            if input.left() == left {
                break; // of no bytes, as all that follow
            }
        }
        input.block_end(behind)?;
    }
}

fn push_null(column: &mut Column) -> Result<(), Refusal> {
    if column.push_null() { Ok(()) } else { Err(Refusal::Missing) }
}

#[inline(always)]
fn text(bytes: &[u8]) -> Result<&[u8], Refusal> {
    if is_utf8(bytes, bytes.len()) { Ok(bytes) } else { Err(Refusal::NotUtf8) }
}

fn write_uuid(bytes: [u8; 16], target: &mut Vec<u8>) {
    const DIGITS: [u8; 16] = *b"0123456789abcdef";
    for (position, byte) in bytes.into_iter().enumerate() {
        if matches!(position, 4 | 6 | 8 | 10) {
            target.push(b'-');
        }
        target.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

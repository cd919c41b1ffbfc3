//! One message into the columns of a schema, by a plan.

use std::borrow::Cow;

use super::super::column::{Column, Data};
use super::super::kind::per_second;
use super::super::nested::{ListColumn, MapColumn, StructColumn};
use super::super::number::Number as Text;
use super::super::reason::{Refusal, Step};
use super::super::time;
use super::canonical::canonical;
use super::input::{Input, Wire};
use super::json;
use super::plan::{Entry, FieldPlan, Item, Missing, Plan, Shape, Value};
use super::schema::{Names, Scalar};

/// Bytes that items of lists and maps may take in columns: so many, and for each byte of the value so many more.
const GROWTH: usize = 4 << 10;
const GROWTH_OF_A_BYTE: usize = 64;
/// A scalar that is not there, however it is encoded.
const ZERO: [u8; 8] = [0; 8];
const NANOSECONDS: i64 = 1_000_000_000;

fn growth_of(bytes: usize) -> usize {
    GROWTH + bytes * GROWTH_OF_A_BYTE
}

/// What reads a value.
pub struct ValueReader<'s> {
    /// Whether each message is made canonical before it is read. Without that, [`Refusal::Duplicate`] is the answer to
    /// what is there twice, and any refusal may be of what does not count.
    careful: bool,
    growth_left: usize,
    steps: &'s mut Vec<Step>,
}

impl<'s> ValueReader<'s> {
    /// After an error, `steps` says where it is, the innermost field first.
    pub fn new(bytes: &[u8], careful: bool, steps: &'s mut Vec<Step>) -> Self {
        Self { careful, growth_left: growth_of(bytes.len()), steps }
    }

    /// Bytes that lists and maps took in the columns.
    pub fn growth(&self, of: usize) -> usize {
        growth_of(of) - self.growth_left
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
                    self.value(value, &mut input, field.number, wire, column).map_err(|refusal| (*index, refusal))
                }
                Shape::List(index, item) => match &mut columns.children[*index].data {
                    Data::List(list) => {
                        self.items(field, item, &mut input, wire, list).map_err(|refusal| (*index, refusal))
                    }
                    _ => Err((*index, Refusal::WrongType)),
                },
                Shape::Map(index, entry) => match &mut columns.children[*index].data {
                    Data::Map(map) => {
                        let piece = input.message(number, wire)?;
                        self.entry(entry, piece, map).map_err(|refusal| (*index, refusal))
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
                self.grow(target.data.len() - begin)?;
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
            if !names.takes(ahead.varint()? as i32) {
                *input = ahead;
                return Ok(());
            }
        }
        let read = self.grow(item.growth);
        let read = read.and_then(|()| self.value(&item.value, input, field.number, wire, &mut list.items));
        if let Err(refusal) = read {
            return self.fault(Step::Item, refusal);
        }
        Ok(())
    }

    fn entry(&mut self, entry: &Entry, bytes: &[u8], map: &mut MapColumn) -> Result<(), Refusal> {
        let read = EntryParts::read(entry, bytes).and_then(|found| {
            let Some(found) = found else { return Ok(()) };
            self.grow(entry.item.growth)?;
            map.keys.data.extend_from_slice(&found.key);
            map.keys.end();
            let row = map.values.len();
            match &entry.item.value {
                Value::Scalar(of) => scalar(*of, &mut Input::new(&found.value), &mut map.values.data)?,
                Value::Enum(names) => enumerated(names, &mut Input::new(&found.value), &mut map.values.data)?,
                value => self.inside(value, &found.value, row, &mut map.values.data)?,
            }
            map.values.pushed();
            Ok(())
        });
        if let Err(refusal) = read {
            return self.fault(Step::Entry, refusal);
        }
        Ok(())
    }

    #[inline(always)]
    fn grow(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.growth_left = self.growth_left.checked_sub(bytes).ok_or(Refusal::Overflow)?;
        Ok(())
    }

    #[cold]
    fn fault(&mut self, step: Step, refusal: Refusal) -> Result<(), Refusal> {
        self.steps.push(step);
        Err(refusal)
    }
}

/// An entry of a map.
pub struct EntryParts<'a> {
    /// As text.
    pub key: Vec<u8>,
    /// A scalar as it is encoded, or what is in a message.
    pub value: Cow<'a, [u8]>,
}

impl<'a> EntryParts<'a> {
    /// Reads an entry; None: its value is none of a closed enum, so that it counts as unknown.
    pub fn read(entry: &Entry, bytes: &'a [u8]) -> Result<Option<Self>, Refusal> {
        let is_message = entry.item.value.is_message();
        let mut input = Input::new(bytes);
        let (mut key, mut value): (&[u8], Option<Cow<'_, [u8]>>) = (&ZERO, None);
        let mut known = true;
        while input.left() > 0 {
            let (number, wire) = input.field()?;
            let before = input;
            match number {
                1 if wire == entry.key.wire() => {
                    input.skip(number, wire)?;
                    key = before.taken(&input);
                }
                2 if wire == entry.wire && is_message => {
                    let piece = input.message(number, wire)?;
                    value = Some(match value {
                        Some(before) => {
                            let mut whole = before.into_owned();
                            whole.extend_from_slice(piece);
                            whole.into()
                        }
                        None => piece.into(),
                    });
                }
                2 if wire == entry.wire => {
                    input.skip(number, wire)?;
                    let written = before.taken(&input);
                    if let Some(names) = &entry.closed {
                        known = names.takes(Input::new(written).varint()? as i32);
                    }
                    value = Some(written.into());
                }
                _ => input.skip(number, wire)?,
            }
        }
        if !known {
            return Ok(None);
        }
        let mut text = Vec::new();
        key_text(entry.key, &mut Input::new(key), &mut text)?;
        let value = value.unwrap_or(if is_message { [].as_slice().into() } else { ZERO.as_slice().into() });
        Ok(Some(Self { key: text, value }))
    }
}

impl Value {
    fn is_message(&self) -> bool {
        !matches!(self, Self::Scalar(_) | Self::Enum(_))
    }
}

impl Shape {
    /// Whether it is one message, whose pieces are merged.
    pub fn is_message(&self) -> bool {
        match self {
            Self::Single(_, value) => value.is_message(),
            Self::Sibling { is_message } => *is_message,
            _ => false,
        }
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

#[inline(always)]
fn scalar(of: Scalar, input: &mut Input<'_>, data: &mut Data) -> Result<(), Refusal> {
    match data {
        Data::String(bytes) => {
            bytes.data.extend_from_slice(text(input.sized()?)?);
            bytes.end();
        }
        Data::Int64(values) => values.push(integer(of, input)?),
        Data::Int32(values) => values.push(narrow(of, input)?),
        Data::Bool(bits) => bits.append(input.varint()? != 0),
        Data::Float64(values) => values.push(match of {
            Scalar::Double => f64::from_le_bytes(input.array()?),
            Scalar::Float => f32::from_le_bytes(input.array()?).into(),
            _ => integer(of, input)? as f64,
        }),
        Data::Base64(bytes) => {
            bytes.data.extend_from_slice(input.sized()?);
            bytes.end();
        }
        data => return seldom(of, input, data),
    }
    Ok(())
}

/// Types that few schemas have, so that the others are found faster.
fn seldom(of: Scalar, input: &mut Input<'_>, data: &mut Data) -> Result<(), Refusal> {
    match data {
        Data::Int8(values) => values.push(narrow(of, input)?),
        Data::Int16(values) => values.push(narrow(of, input)?),
        Data::Float32(values) => values.push(f32::from_le_bytes(input.array()?)),
        Data::Decimal(values, decimal) if of == Scalar::String => {
            let number = Text::whole(text(input.sized()?)?).ok_or(Refusal::BadText)?;
            values.push(decimal.unscaled(&number)?);
        }
        Data::Decimal(values, decimal) => {
            let unscaled = wide(of, input)?.checked_mul(10_i128.pow(decimal.scale.into())).ok_or(Refusal::Overflow)?;
            values.push(decimal.fitting(unscaled)?);
        }
        Data::Timestamp(values, clock) if of == Scalar::String => {
            values.push(time::timestamp(text(input.sized()?)?, clock.per_second())?);
        }
        Data::Timestamp(values, clock) => {
            let super::super::kind::TimeNotation::Epoch(unit) = clock.notation else { return Err(Refusal::WrongType) };
            values.push(time::epoch(integer(of, input)?, per_second(unit), clock.per_second())?);
        }
        Data::Date(values) => values.push(time::date(text(input.sized()?)?)?),
        Data::TimeMilliseconds(values) => values.push(time::time(text(input.sized()?)?, 1_000)? as i32),
        Data::TimeMicroseconds(values) => values.push(time::time(text(input.sized()?)?, 1_000_000)?),
        _ => return Err(Refusal::WrongType),
    }
    Ok(())
}

#[inline(always)]
fn integer(of: Scalar, input: &mut Input<'_>) -> Result<i64, Refusal> {
    Ok(match of {
        Scalar::Int64 => input.varint()? as i64,
        Scalar::Int32 => input.varint()? as i32 as i64,
        Scalar::Uint32 => i64::from(input.varint()? as u32),
        Scalar::Sint32 => {
            let number = input.varint()? as u32;
            i64::from((number >> 1) as i32 ^ -((number & 1) as i32))
        }
        Scalar::Sint64 => {
            let number = input.varint()?;
            (number >> 1) as i64 ^ -((number & 1) as i64)
        }
        Scalar::Fixed32 => u32::from_le_bytes(input.array()?).into(),
        Scalar::Sfixed32 => i32::from_le_bytes(input.array()?).into(),
        Scalar::Sfixed64 => i64::from_le_bytes(input.array()?),
        _ => i64::try_from(unsigned(of, input)?).map_err(|_| Refusal::Overflow)?,
    })
}

fn unsigned(of: Scalar, input: &mut Input<'_>) -> Result<u64, Refusal> {
    match of {
        Scalar::Uint64 => input.varint(),
        Scalar::Fixed64 => input.array().map(u64::from_le_bytes),
        _ => Err(Refusal::WrongType),
    }
}

fn wide(of: Scalar, input: &mut Input<'_>) -> Result<i128, Refusal> {
    match of {
        Scalar::Uint64 | Scalar::Fixed64 => unsigned(of, input).map(i128::from),
        _ => integer(of, input).map(i128::from),
    }
}

#[inline(always)]
fn narrow<T: TryFrom<i64>>(of: Scalar, input: &mut Input<'_>) -> Result<T, Refusal> {
    T::try_from(integer(of, input)?).map_err(|_| Refusal::Overflow)
}

fn enumerated(names: &Names, input: &mut Input<'_>, data: &mut Data) -> Result<(), Refusal> {
    let number = input.varint()? as i32;
    match data {
        Data::String(bytes) => {
            match names.get(number) {
                Some(name) => bytes.data.extend_from_slice(name.as_bytes()),
                // A writer knows a name that its schema does not: the number is what there is.
                None => bytes.data.extend_from_slice(number.to_string().as_bytes()),
            }
            bytes.end();
        }
        Data::Int32(values) => values.push(number),
        Data::Int64(values) => values.push(number.into()),
        _ => return Err(Refusal::WrongType),
    }
    Ok(())
}

fn key_text(of: Scalar, input: &mut Input<'_>, target: &mut Vec<u8>) -> Result<(), Refusal> {
    match of {
        Scalar::String => target.extend_from_slice(text(input.sized()?)?),
        Scalar::Bool => target.extend_from_slice(if input.varint()? == 0 { b"false" } else { b"true" }),
        _ => target.extend_from_slice(wide(of, input)?.to_string().as_bytes()),
    }
    Ok(())
}

/// Units since 1970 of a `google.protobuf.Timestamp`; finer ones are cut off.
fn timestamp(bytes: &[u8], per_second: i64) -> Result<i64, Refusal> {
    let mut input = Input::new(bytes);
    let (mut seconds, mut nanoseconds) = (0, 0);
    while input.left() > 0 {
        match input.field()? {
            (1, Wire::Varint) => seconds = input.varint()? as i64,
            (2, Wire::Varint) => nanoseconds = i64::from(input.varint()? as i32),
            (number, wire) => input.skip(number, wire)?,
        }
    }
    if !(0..NANOSECONDS).contains(&nanoseconds) {
        return Err(Refusal::Overflow);
    }
    let whole = time::epoch(seconds, 1, 1)?;
    let units = i128::from(whole) * i128::from(per_second) + i128::from(nanoseconds / (NANOSECONDS / per_second));
    i64::try_from(units).map_err(|_| Refusal::Overflow)
}

/// The last value of field 1.
fn wrapped(of: Scalar, bytes: &[u8]) -> Result<&[u8], Refusal> {
    let mut input = Input::new(bytes);
    let mut found: &[u8] = &ZERO;
    while input.left() > 0 {
        let (number, wire) = input.field()?;
        let before = input;
        input.skip(number, wire)?;
        if number == 1 && wire == of.wire() {
            found = before.taken(&input);
        }
    }
    Ok(found)
}

/// Whether a text that is not there would have to be a date or the like: then there is none.
fn is_other_text(value: &Value, data: &Data) -> bool {
    matches!(value, Value::Scalar(Scalar::String)) && !matches!(data, Data::String(_) | Data::Base64(_))
}

fn push_null(column: &mut Column) -> Result<(), Refusal> {
    if column.push_null() { Ok(()) } else { Err(Refusal::Missing) }
}

#[inline(always)]
fn text(bytes: &[u8]) -> Result<&[u8], Refusal> {
    // Most texts are ASCII, and that is seen faster.
    if bytes.is_ascii() || std::str::from_utf8(bytes).is_ok() { Ok(bytes) } else { Err(Refusal::NotUtf8) }
}

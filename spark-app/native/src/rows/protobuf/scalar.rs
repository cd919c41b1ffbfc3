//! Scalars and enums into columns, by what they are in the message and in the column.

use super::super::column::Data;
use super::super::kind::{TimeNotation, per_second};
use super::super::number::Number as Text;
use super::super::reason::Refusal;
use super::super::time;
use super::input::{Input, Wire};
use super::schema::{Names, Scalar};

/// A scalar that is not there, however it is encoded.
pub const ZERO: [u8; 8] = [0; 8];
const NANOSECONDS: i64 = 1_000_000_000;

/// Appends a scalar to a column.
#[inline(always)]
pub fn scalar(of: Scalar, input: &mut Input<'_>, data: &mut Data) -> Result<(), Refusal> {
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
            let TimeNotation::Text(notation) = &clock.notation else { return Err(Refusal::WrongType) };
            values.push(time::timestamp(text(input.sized()?)?, notation, clock.per_second())?);
        }
        Data::Timestamp(values, clock) => {
            let TimeNotation::Epoch(unit) = clock.notation else { return Err(Refusal::WrongType) };
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

/// Appends the name of a symbol, or its number.
pub fn enumerated(names: &Names, input: &mut Input<'_>, data: &mut Data) -> Result<(), Refusal> {
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

/// Appends the key of a map as text.
pub fn key_text(of: Scalar, input: &mut Input<'_>, target: &mut Vec<u8>) -> Result<(), Refusal> {
    match of {
        Scalar::String => target.extend_from_slice(text(input.sized()?)?),
        Scalar::Bool => target.extend_from_slice(if input.varint()? == 0 { b"false" } else { b"true" }),
        _ => target.extend_from_slice(wide(of, input)?.to_string().as_bytes()),
    }
    Ok(())
}

/// Units since 1970 of a `google.protobuf.Timestamp`; finer ones are cut off.
pub fn timestamp(bytes: &[u8], per_second: i64) -> Result<i64, Refusal> {
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
pub fn wrapped(of: Scalar, bytes: &[u8]) -> Result<&[u8], Refusal> {
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

#[inline(always)]
fn text(bytes: &[u8]) -> Result<&[u8], Refusal> {
    // Most texts are ASCII, and that is seen faster.
    if bytes.is_ascii() || std::str::from_utf8(bytes).is_ok() { Ok(bytes) } else { Err(Refusal::NotUtf8) }
}

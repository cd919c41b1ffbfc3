//! Bools, numbers and texts into columns, by what they are in the struct and in the column.

use super::super::column::Data;
use super::super::kind::{TimeNotation, per_second};
use super::super::number::Number;
use super::super::reason::Refusal;
use super::super::time;
use super::plan::{Names, Value};

/// A value that is not made of others.
#[derive(Debug, Clone, Copy)]
pub enum Token<'a> {
    Bool(bool),
    Integer(i64),
    Double(f64),
    /// A string, or bytes.
    Text(&'a [u8]),
}

/// Appends a value to a column; `names` are those of its enum.
#[inline(always)]
pub fn scalar(token: Token<'_>, names: Option<&Names>, data: &mut Data) -> Result<(), Refusal> {
    match (data, token) {
        (Data::String(bytes), Token::Text(found)) => {
            bytes.data.extend_from_slice(text(found)?);
            bytes.end();
        }
        (Data::Int64(values), Token::Integer(number)) => values.push(number),
        (Data::Int32(values), Token::Integer(number)) => values.push(narrow(number)?),
        (Data::Bool(bits), Token::Bool(bit)) => bits.append(bit),
        (Data::Float64(values), Token::Double(number)) => values.push(number),
        (Data::Base64(bytes), Token::Text(found)) => {
            bytes.data.extend_from_slice(found);
            bytes.end();
        }
        (Data::String(bytes), Token::Integer(number)) => {
            enumerated(number, names, &mut bytes.data)?;
            bytes.end();
        }
        (data, token) => return seldom(token, data),
    }
    Ok(())
}

/// Types that few schemas have, so that the others are found faster.
fn seldom(token: Token<'_>, data: &mut Data) -> Result<(), Refusal> {
    match (data, token) {
        (Data::Int16(values), Token::Integer(number)) => values.push(narrow(number)?),
        (Data::Int8(values), Token::Integer(number)) => values.push(narrow(number)?),
        (Data::Float64(values), Token::Integer(number)) => values.push(number as f64),
        (Data::Decimal(values, decimal), Token::Integer(number)) => values.push(decimal.whole(number.into())?),
        (Data::Decimal(values, decimal), Token::Text(found)) => {
            values.push(decimal.unscaled(&Number::whole(text(found)?).ok_or(Refusal::BadText)?)?);
        }
        (Data::Timestamp(values, clock), Token::Integer(number)) => {
            let TimeNotation::Epoch(unit) = clock.notation else { return Err(Refusal::WrongType) };
            values.push(time::epoch(number, per_second(unit), clock.per_second())?);
        }
        (Data::Timestamp(values, clock), Token::Text(found)) => {
            let TimeNotation::Text(notation) = &clock.notation else { return Err(Refusal::WrongType) };
            values.push(time::timestamp(text(found)?, notation, clock.per_second())?);
        }
        (Data::Date(values), Token::Text(found)) => values.push(time::date(text(found)?)?),
        (Data::TimeMilliseconds(values), Token::Text(found)) => values.push(time::time(text(found)?, 1_000)? as i32),
        (Data::TimeMicroseconds(values), Token::Text(found)) => values.push(time::time(text(found)?, 1_000_000)?),
        _ => return Err(Refusal::WrongType),
    }
    Ok(())
}

/// Appends the key of a map as text.
pub fn key_text(token: Token<'_>, key: &Value, target: &mut Vec<u8>) -> Result<(), Refusal> {
    match (token, key) {
        (Token::Text(found), _) => target.extend_from_slice(text(found)?),
        (Token::Bool(bit), _) => target.extend_from_slice(if bit { b"true" } else { b"false" }),
        (Token::Integer(number), Value::Enum(names)) => enumerated(number, Some(names), target)?,
        (Token::Integer(number), _) => target.extend_from_slice(number.to_string().as_bytes()),
        (Token::Double(_), _) => return Err(Refusal::WrongType),
    }
    Ok(())
}

/// Appends the name of a number in its enum.
fn enumerated(number: i64, names: Option<&Names>, target: &mut Vec<u8>) -> Result<(), Refusal> {
    match names.ok_or(Refusal::WrongType)?.get(number) {
        Some(name) => target.extend_from_slice(name.as_bytes()),
        // A writer knows a name that the schema does not: the number is what there is.
        None => target.extend_from_slice(number.to_string().as_bytes()),
    }
    Ok(())
}

#[inline(always)]
fn narrow<T: TryFrom<i64>>(number: i64) -> Result<T, Refusal> {
    T::try_from(number).map_err(|_| Refusal::Overflow)
}

#[inline(always)]
fn text(bytes: &[u8]) -> Result<&[u8], Refusal> {
    // Most texts are ASCII, and that is seen faster.
    if bytes.is_ascii() || std::str::from_utf8(bytes).is_ok() { Ok(bytes) } else { Err(Refusal::NotUtf8) }
}

//! Values that are text in whatever column they are: what parsers of lines have in common.

use std::borrow::Cow;

use base64_simd::STANDARD;

use super::column::{Column, Data};
use super::faults::Leniency;
use super::judge_whole;
use super::kind::{Clock, TimeNotation, per_second};
use super::number::Number;
use super::reader::compact;
use super::reason::{Refusal, Step};
use super::time;

/// Appends what a text (UTF-8) stands for.
#[inline]
pub fn append(text: &[u8], column: &mut Column) -> Result<(), Refusal> {
    match &mut column.data {
        Data::String(bytes) => {
            bytes.data.extend_from_slice(text);
            bytes.end();
        }
        Data::Int64(values) => values.push(integer(text)?),
        Data::Int32(values) => values.push(integer(text)?),
        Data::Int16(values) => values.push(integer(text)?),
        Data::Int8(values) => values.push(integer(text)?),
        Data::Float64(values) => values.push(number(text)?.double()?),
        Data::Float32(values) => values.push(number(text)?.single()?),
        Data::Bool(bits) => bits.append(boolean(text)?),
        Data::Timestamp(values, clock) => values.push(timestamp(text, clock)?),
        Data::Decimal(values, decimal) => values.push(decimal.unscaled(&number(text)?)?),
        Data::Date(values) => values.push(time::date(text)?),
        Data::TimeMilliseconds(values) => values.push(time::time(text, 1_000)? as i32),
        Data::TimeMicroseconds(values) => values.push(time::time(text, 1_000_000)?),
        Data::Base64(bytes) => {
            STANDARD.decode_append(text, &mut bytes.data).map_err(|_| Refusal::BadText)?;
            bytes.end();
        }
        Data::Json(bytes) => {
            if judge_whole(text).is_some() {
                return Err(Refusal::BadText);
            }
            compact(text, &mut bytes.data);
            bytes.end();
        }
        Data::Struct(_) | Data::List(_) | Data::Map(_) => return Err(Refusal::WrongType),
    }
    column.pushed();
    Ok(())
}

/// Appends what a text stands for as value number `row` of a column; null where it does not fit and may be null instead.
#[inline(always)]
pub fn append_leniently<L: Leniency>(
    text: &[u8],
    row: usize,
    step: Step,
    column: &mut Column,
    lenient: &mut L,
) -> Result<(), Refusal> {
    match append(text, column) {
        Err(refusal) if !L::IS_STRICT && lenient.faults().sets_null(refusal) && column.nullable => {
            column.truncate(row);
            column.push_null();
            lenient.enter(step);
            lenient.adjusted(refusal);
            lenient.leave();
            Ok(())
        }
        read => read,
    }
}

/// A line in UTF-8, in which U+FFFD may stand for what is none.
pub fn in_utf8<'v, L: Leniency>(line: &'v [u8], lenient: &mut L) -> Result<Cow<'v, [u8]>, Refusal> {
    // Most lines are ASCII, and that is seen faster.
    if line.is_ascii() || std::str::from_utf8(line).is_ok() {
        return Ok(line.into());
    }
    if !lenient.faults().replaces_invalid {
        return Err(Refusal::NotUtf8);
    }
    lenient.adjusted(Refusal::NotUtf8);
    Ok(String::from_utf8_lossy(line).into_owned().into_bytes().into())
}

/// Says whether texts can be values of a column: those that are made of others have no text.
pub fn is_readable(column: &Column) -> bool {
    !matches!(column.data, Data::Struct(_) | Data::List(_) | Data::Map(_))
}

#[inline]
fn number(text: &[u8]) -> Result<Number<'_>, Refusal> {
    Number::whole(text).ok_or(Refusal::BadText)
}

#[inline]
fn integer<T: TryFrom<i64>>(text: &[u8]) -> Result<T, Refusal> {
    T::try_from(number(text)?.integer()?).map_err(|_| Refusal::Overflow)
}

fn boolean(text: &[u8]) -> Result<bool, Refusal> {
    match text {
        b"true" | b"True" | b"TRUE" => Ok(true),
        b"false" | b"False" | b"FALSE" => Ok(false),
        _ => Err(Refusal::BadText),
    }
}

/// What a text is from 1970, in the unit of a clock.
pub fn timestamp(text: &[u8], clock: &Clock) -> Result<i64, Refusal> {
    match &clock.notation {
        TimeNotation::Text(notation) => time::timestamp(text, notation, clock.per_second()),
        TimeNotation::Epoch(unit) => time::epoch(integer(text)?, per_second(*unit), clock.per_second()),
    }
}

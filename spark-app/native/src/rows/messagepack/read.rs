//! One MessagePack value into the columns of a schema.

use super::super::column::{Bytes, Column, Data};
use super::super::faults::{Leniency, ReadValue, WrongType};
use super::super::growth::Growth;
use super::super::kind::{Clock, TimeNotation, per_second};
use super::super::nested::{ListColumn, MapColumn, StructColumn};
use super::super::number::{Number, double_of, single_of};
use super::super::reason::{Refusal, Step};
use super::super::rest::{Mark, quoted};
use super::super::{text, time};
use super::input::{Input, Token};
use super::json;

/// The extension type of timestamps.
pub const TIMESTAMP: i8 = -1;

/// What reads a value.
pub struct ValueReader<'a, 's, L> {
    input: Input<'a>,
    refuse_unknown: bool,
    growth: Growth,
    /// After an error, where it is, the innermost field first.
    steps: &'s mut Vec<Step>,
    lenient: &'s mut L,
}

impl<'a, 's, L: Leniency> ValueReader<'a, 's, L> {
    /// Of bytes whose lists and maps may take what `growth` says.
    pub fn new(
        bytes: &'a [u8],
        growth: Growth,
        refuse_unknown: bool,
        steps: &'s mut Vec<Step>,
        lenient: &'s mut L,
    ) -> Self {
        Self { input: Input::new(bytes), refuse_unknown, growth, steps, lenient }
    }

    /// Appends the map that the value is, as row number `row`. After an error the columns must be cut back.
    #[inline]
    pub fn row(&mut self, row: usize, columns: &mut StructColumn) -> Result<(), Refusal> {
        let Token::Map(entries) = self.input.token()? else { return Err(Refusal::NotAnObject) };
        self.members(entries, row, columns, true)?;
        self.input.end()
    }

    /// Reads so many names and values as value number `row` of a struct, or of the row itself.
    fn members(&mut self, entries: u32, row: usize, columns: &mut StructColumn, is_row: bool) -> Result<(), Refusal> {
        self.input.open()?;
        let (mut expected, mut found) = (0, 0);
        let object = self.lenient.mark();
        for _ in 0..entries {
            let before = self.input;
            let Some(index) = self.field(columns, expected)? else {
                if self.refuse_unknown {
                    return Err(Refusal::UnknownField);
                }
                self.unknown(object, before)?;
                continue;
            };
            if columns.children[index].len() > row {
                return self.fault(Step::Field(index), Refusal::Duplicate);
            }
            self.member(object, index, columns)?;
            expected = index + 1;
            found += 1;
        }
        self.input.close();
        self.end_members(object, found, row, columns, is_row)
    }

    /// Reads a name, which may be any value; None: no field has it.
    #[inline]
    fn field(&mut self, columns: &StructColumn, expected: usize) -> Result<Option<usize>, Refusal> {
        match self.input.token()? {
            Token::Text(name) if columns.is_named(expected, name) => Ok(Some(expected)),
            Token::Text(name) => Ok(columns.find(name)),
            other => self.input.skip_rest(other).map(|()| None),
        }
    }

    /// Goes behind a value of the map at a mark that is no field's; its name, which was read, stands before it.
    #[inline(always)]
    fn unknown(&mut self, object: Mark, mut name: Input<'a>) -> Result<(), Refusal> {
        let Some(rest) = self.lenient.rest() else { return self.input.skip() };
        let name = json::key(&mut name)?;
        json::value(&mut self.input, rest.member(object, name.clone(), &name), self.growth.most())
    }

    fn items(&mut self, items: u32, list: &mut ListColumn) -> Result<(), Refusal> {
        self.input.open()?;
        let object = self.lenient.mark();
        for index in 0..items {
            self.item(object, index as usize, list)?;
        }
        self.input.close();
        list.end();
        Ok(())
    }

    fn entries(&mut self, entries: u32, map: &mut MapColumn) -> Result<(), Refusal> {
        self.input.open()?;
        let object = self.lenient.mark();
        for _ in 0..entries {
            if let Err(refusal) = self.entry(object, map) {
                return self.fault(Step::Entry, refusal);
            }
        }
        self.input.close();
        self.end_entries(map)
    }

    fn entry(&mut self, object: Mark, map: &mut MapColumn) -> Result<(), Refusal> {
        let Token::Text(key) = self.input.token()? else { return Err(Refusal::WrongType) };
        match valid(key) {
            Ok(key) => push(&mut map.keys, key),
            Err(refusal) if self.lenient.faults().replaces_invalid => {
                push(&mut map.keys, String::from_utf8_lossy(key).as_bytes());
                self.lenient.enter(Step::Entry);
                self.lenient.adjusted(refusal);
                self.lenient.leave();
            }
            Err(refusal) => return Err(refusal),
        }
        self.growth.take(map.width)?;
        let inside = self.lenient.mark();
        self.child(Step::Entry, &mut map.values)?;
        if let Some(rest) = self.lenient.rest() {
            rest.put_below(object, inside, &quoted(key));
        }
        Ok(())
    }
}

impl<'a, L: Leniency> ReadValue for ValueReader<'a, '_, L> {
    type Leniency = L;
    type Place = Input<'a>;

    fn place(&self) -> Input<'a> {
        self.input
    }

    fn return_to(&mut self, place: Input<'a>) {
        self.input = place;
    }

    fn value(&mut self, column: &mut Column) -> Result<(), Refusal> {
        let token = self.input.token()?;
        if matches!(token, Token::Nil) {
            return if column.push_null() { Ok(()) } else { Err(Refusal::Missing) };
        }
        let row = column.len();
        match (&mut column.data, token) {
            (Data::String(bytes), Token::Text(text) | Token::Bytes(text)) => push(bytes, valid(text)?),
            (Data::Base64(bytes), Token::Text(text) | Token::Bytes(text)) => push(bytes, text),
            (Data::Int64(values), _) => values.push(integer(token)?),
            (Data::Int32(values), _) => values.push(integer(token)?),
            (Data::Int16(values), _) => values.push(integer(token)?),
            (Data::Int8(values), _) => values.push(integer(token)?),
            (Data::Bool(bits), Token::Bool(bit)) => bits.append(bit),
            (Data::Float64(values), _) => values.push(double(token)?),
            (Data::Float32(values), _) => values.push(single(token)?),
            (Data::Timestamp(values, clock), _) => values.push(timestamp(token, clock)?),
            (Data::Struct(columns), Token::Map(entries)) => self.members(entries, row, columns, false)?,
            (Data::List(list), Token::Array(items)) => self.items(items, list)?,
            (Data::Map(map), Token::Map(entries)) => self.entries(entries, map)?,
            (Data::Decimal(values, decimal), Token::Text(text)) => {
                values.push(decimal.unscaled(&Number::whole(text).ok_or(Refusal::BadText)?)?);
            }
            (Data::Decimal(values, decimal), Token::Unsigned(number)) => values.push(decimal.whole(number.into())?),
            (Data::Decimal(values, decimal), Token::Signed(number)) => values.push(decimal.whole(number.into())?),
            (Data::Date(values), Token::Text(text)) => values.push(time::date(text)?),
            (Data::TimeMilliseconds(values), Token::Text(text)) => values.push(time::time(text, 1_000)? as i32),
            (Data::TimeMicroseconds(values), Token::Text(text)) => values.push(time::time(text, 1_000_000)?),
            _ => return Err(Refusal::WrongType),
        }
        column.pushed();
        Ok(())
    }

    fn convert(&mut self, refusal: Refusal, column: &mut Column) -> Option<Result<(), Refusal>> {
        let faults = self.lenient.faults();
        let is_asked_for = match refusal {
            Refusal::WrongType => faults.wrong_type == WrongType::Convert,
            Refusal::NotUtf8 => faults.replaces_invalid,
            _ => false,
        };
        is_asked_for.then(|| self.input.token().and_then(|token| convert(token, column)))
    }

    fn skip(&mut self) -> Result<(), Refusal> {
        self.input.skip()
    }

    #[inline(always)]
    fn state(&mut self) -> (&mut L, &mut Vec<Step>, &mut Growth) {
        (self.lenient, self.steps, &mut self.growth)
    }
}

/// Appends the text that a token is for another type, the number or bool that it is for a text, or a text of which U+FFFD
/// stands for what is no UTF-8.
fn convert(token: Token<'_>, column: &mut Column) -> Result<(), Refusal> {
    match (token, &mut column.data) {
        (Token::Text(text) | Token::Bytes(text), Data::String(bytes)) => {
            push(bytes, String::from_utf8_lossy(text).as_bytes());
        }
        (Token::Text(text), _) => return text::append(text, column),
        (token, Data::String(bytes)) => {
            json::scalar(token, &mut bytes.data).ok_or(Refusal::WrongType)?;
            bytes.end();
        }
        _ => return Err(Refusal::WrongType),
    }
    column.pushed();
    Ok(())
}

#[inline]
fn push(bytes: &mut Bytes, value: &[u8]) {
    bytes.data.extend_from_slice(value);
    bytes.end();
}

#[inline(always)]
fn valid(text: &[u8]) -> Result<&[u8], Refusal> {
    // Most texts are ASCII, and that is seen faster.
    if text.is_ascii() || std::str::from_utf8(text).is_ok() { Ok(text) } else { Err(Refusal::NotUtf8) }
}

#[inline]
fn integer<T: TryFrom<i64> + TryFrom<u64>>(token: Token<'_>) -> Result<T, Refusal> {
    match token {
        Token::Unsigned(number) => T::try_from(number).map_err(|_| Refusal::Overflow),
        Token::Signed(number) => T::try_from(number).map_err(|_| Refusal::Overflow),
        _ => Err(Refusal::WrongType),
    }
}

fn double(token: Token<'_>) -> Result<f64, Refusal> {
    Ok(match token {
        Token::Float64(number) => number,
        Token::Float32(number) => number.into(),
        Token::Unsigned(number) => double_of(number.into())?,
        Token::Signed(number) => double_of(number.into())?,
        _ => return Err(Refusal::WrongType),
    })
}

fn single(token: Token<'_>) -> Result<f32, Refusal> {
    Ok(match token {
        Token::Float64(number) => {
            let single = number as f32;
            if single.is_infinite() && number.is_finite() {
                return Err(Refusal::Overflow);
            }
            single
        }
        Token::Float32(number) => number,
        Token::Unsigned(number) => single_of(number.into())?,
        Token::Signed(number) => single_of(number.into())?,
        _ => return Err(Refusal::WrongType),
    })
}

/// An instant: by MessagePack's own type whatever the notation is, else as the notation says.
fn timestamp(token: Token<'_>, clock: &Clock) -> Result<i64, Refusal> {
    match (token, &clock.notation) {
        (Token::Extension(TIMESTAMP, bytes), _) => {
            let (seconds, nanoseconds) = instant(bytes).ok_or(Refusal::WrongType)?;
            time::instant(seconds, nanoseconds.into(), clock.per_second())
        }
        (Token::Text(text), TimeNotation::Text(notation)) => time::timestamp(text, notation, clock.per_second()),
        (token, TimeNotation::Epoch(unit)) => time::epoch(integer(token)?, per_second(*unit), clock.per_second()),
        _ => Err(Refusal::WrongType),
    }
}

/// Seconds since 1970 and nanoseconds, of a timestamp of 32, 64 or 96 bits.
pub fn instant(bytes: &[u8]) -> Option<(i64, u32)> {
    Some(match *bytes {
        [a, b, c, d] => (u32::from_be_bytes([a, b, c, d]).into(), 0),
        [a, b, c, d, e, f, g, h] => {
            let both = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
            ((both & 0x3_ffff_ffff) as i64, (both >> 34) as u32)
        }
        [a, b, c, d, ref seconds @ ..] => {
            (i64::from_be_bytes(seconds.try_into().ok()?), u32::from_be_bytes([a, b, c, d]))
        }
        _ => return None,
    })
}

//! One JSON object into the columns of a schema.

use super::base64;
use super::column::{Bytes, Column, Data};
use super::growth::Growth;
use super::kind::{Clock, TimeNotation, per_second};
use super::nested::{ListColumn, MapColumn, StructColumn};
use super::number::Number;
use super::reader::{Reader, compact};
use super::reason::{Refusal, Step};
use super::time;

/// Appends the object that `text` is, as row number `row`. After an error the columns must be cut back, and `steps` says
/// where it is. `space` is for strings whose escapes are resolved, kept for its memory.
pub fn read(
    text: &[u8],
    row: usize,
    columns: &mut StructColumn,
    refuse_unknown: bool,
    space: &mut Vec<u8>,
    steps: &mut Vec<Step>,
) -> Result<(), Refusal> {
    let (reader, growth) = (Reader::new(text), Growth::of(text.len()));
    let mut row_reader = RowReader { reader, growth, refuse_unknown, space, steps };
    if row_reader.reader.peek() != Some(b'{') {
        return Err(Refusal::NotAnObject);
    }
    row_reader.members(row, columns)?;
    row_reader.reader.end()
}

struct RowReader<'a, 's> {
    reader: Reader<'a>,
    growth: Growth,
    refuse_unknown: bool,
    space: &'s mut Vec<u8>,
    steps: &'s mut Vec<Step>,
}

impl<'a> RowReader<'a, '_> {
    /// Reads the object that begins here as value number `row` of a struct.
    fn members(&mut self, row: usize, columns: &mut StructColumn) -> Result<(), Refusal> {
        let (mut expected, mut found) = (0, 0);
        let mut more = self.reader.open(b'}')?;
        while more {
            match self.field(columns, expected)? {
                Some(index) => {
                    let child = &mut columns.children[index];
                    if child.len() > row {
                        return self.fault(Step::Field(index), Refusal::Duplicate);
                    }
                    self.reader.colon()?;
                    if let Err(refusal) = self.value(child) {
                        return self.fault(Step::Field(index), refusal);
                    }
                    expected = index + 1;
                    found += 1;
                }
                None if self.refuse_unknown => return Err(Refusal::UnknownField),
                None => {
                    self.reader.colon()?;
                    self.reader.skip()?;
                }
            }
            more = self.reader.more(b'}')?;
        }
        if found == columns.children.len() {
            return Ok(());
        }
        for (index, child) in columns.children.iter_mut().enumerate() {
            if child.len() == row && !child.push_null() {
                return self.fault(Step::Field(index), Refusal::Missing);
            }
        }
        Ok(())
    }

    /// Reads a name; None: no field has it.
    #[inline]
    fn field(&mut self, columns: &StructColumn, expected: usize) -> Result<Option<usize>, Refusal> {
        self.reader.peek();
        if columns.expected(expected).is_some_and(|name| self.reader.take(name)) {
            return Ok(Some(expected));
        }
        let name = self.reader.text(self.space)?;
        Ok(columns.find(name))
    }

    fn value(&mut self, column: &mut Column) -> Result<(), Refusal> {
        let first = self.reader.peek().ok_or(Refusal::NotJson)?;
        if first == b'n' {
            self.reader.literal("null")?;
            return if column.push_null() { Ok(()) } else { Err(Refusal::Missing) };
        }
        let row = column.len();
        match &mut column.data {
            Data::Bool(bits) => bits.append(self.boolean(first)?),
            Data::Int8(values) => values.push(self.integer(first)?),
            Data::Int16(values) => values.push(self.integer(first)?),
            Data::Int32(values) => values.push(self.integer(first)?),
            Data::Int64(values) => values.push(self.integer(first)?),
            Data::Float32(values) => values.push(self.number(first)?.single()?),
            Data::Float64(values) => values.push(self.number(first)?.double()?),
            Data::Decimal(values, decimal) => {
                let number = if first == b'"' { self.number_in_text()? } else { self.number(first)? };
                values.push(decimal.unscaled(&number)?);
            }
            Data::Date(values) => values.push(time::date(self.text(first)?)?),
            Data::TimeMilliseconds(values) => values.push(time::time(self.text(first)?, 1_000)? as i32),
            Data::TimeMicroseconds(values) => values.push(time::time(self.text(first)?, 1_000_000)?),
            Data::Timestamp(values, clock) => values.push(self.timestamp(first, *clock)?),
            Data::String(bytes) => {
                expect(first == b'"')?;
                self.reader.string(&mut bytes.data)?;
                bytes.end();
            }
            Data::Json(bytes) => {
                compact(self.reader.raw()?, &mut bytes.data);
                bytes.end();
            }
            Data::Base64(bytes) => self.base64(first, bytes)?,
            Data::Struct(columns) => {
                expect(first == b'{')?;
                self.members(row, columns)?;
            }
            Data::List(list) => self.items(first, list)?,
            Data::Map(map) => self.entries(first, map)?,
        }
        column.pushed();
        Ok(())
    }

    fn items(&mut self, first: u8, list: &mut ListColumn) -> Result<(), Refusal> {
        expect(first == b'[')?;
        let mut more = self.reader.open(b']')?;
        while more {
            if let Err(refusal) = self.growth.take(list.width).and_then(|()| self.value(&mut list.items)) {
                return self.fault(Step::Item, refusal);
            }
            more = self.reader.more(b']')?;
        }
        list.end();
        Ok(())
    }

    fn entries(&mut self, first: u8, map: &mut MapColumn) -> Result<(), Refusal> {
        expect(first == b'{')?;
        let mut more = self.reader.open(b'}')?;
        while more {
            self.reader.peek();
            self.reader.string(&mut map.keys.data)?;
            map.keys.end();
            self.reader.colon()?;
            if let Err(refusal) = self.growth.take(map.width).and_then(|()| self.value(&mut map.values)) {
                return self.fault(Step::Entry, refusal);
            }
            more = self.reader.more(b'}')?;
        }
        if map.has_duplicates() {
            return self.fault(Step::Entry, Refusal::Duplicate);
        }
        map.end();
        Ok(())
    }

    fn boolean(&mut self, first: u8) -> Result<bool, Refusal> {
        match first {
            b't' => self.reader.literal("true").map(|()| true),
            b'f' => self.reader.literal("false").map(|()| false),
            _ => Err(Refusal::WrongType),
        }
    }

    #[inline]
    fn number(&mut self, first: u8) -> Result<Number<'a>, Refusal> {
        expect(matches!(first, b'-' | b'0'..=b'9'))?;
        self.reader.number()
    }

    #[inline]
    fn integer<T: TryFrom<i64>>(&mut self, first: u8) -> Result<T, Refusal> {
        T::try_from(self.number(first)?.integer()?).map_err(|_| Refusal::Overflow)
    }

    /// Reads a string that is a number; it belongs to the space, not to the text.
    fn number_in_text(&mut self) -> Result<Number<'_>, Refusal> {
        let text = self.reader.text(self.space)?;
        Number::whole(text).ok_or(Refusal::BadText)
    }

    #[inline]
    fn text(&mut self, first: u8) -> Result<&[u8], Refusal> {
        expect(first == b'"')?;
        self.reader.text(self.space)
    }

    #[inline]
    fn timestamp(&mut self, first: u8, clock: Clock) -> Result<i64, Refusal> {
        match clock.notation {
            TimeNotation::Rfc3339 => time::timestamp(self.text(first)?, clock.per_second()),
            TimeNotation::Epoch(unit) => time::epoch(self.integer(first)?, per_second(unit), clock.per_second()),
        }
    }

    fn base64(&mut self, first: u8, bytes: &mut Bytes) -> Result<(), Refusal> {
        base64::decode(self.text(first)?, &mut bytes.data).ok_or(Refusal::BadText)?;
        bytes.end();
        Ok(())
    }

    #[cold]
    fn fault(&mut self, step: Step, refusal: Refusal) -> Result<(), Refusal> {
        self.steps.push(step);
        Err(refusal)
    }
}

/// Says whether a value begins as its type does. How it goes on does not matter when not.
#[inline(always)]
fn expect(fits: bool) -> Result<(), Refusal> {
    if fits { Ok(()) } else { Err(Refusal::WrongType) }
}

//! One JSON object into the columns of a schema.

use base64_simd::STANDARD;

use super::super::column::{Bytes, Column, Data};
use super::super::faults::{Leniency, ReadValue, Strict, WrongType};
use super::super::growth::Growth;
use super::super::kind::{Clock, TimeNotation, per_second};
use super::super::nested::{ListColumn, MapColumn, StructColumn};
use super::super::number::Number;
use super::super::reason::{Refusal, Step};
use super::super::rest::Mark;
use super::super::{text, time};
use super::reader::{Position, Reader, compact};

/// Fields whose names are compared before one is looked up.
const NAMES_TRIED: usize = 3;

/// What reads a text.
pub struct RowReader<'a, 's, L> {
    reader: Reader<'a>,
    growth: Growth,
    refuse_unknown: bool,
    /// For strings whose escapes are resolved, kept for its memory.
    space: &'s mut Vec<u8>,
    /// After an error, where it is, the innermost field first.
    steps: &'s mut Vec<Step>,
    lenient: &'s mut L,
}

impl<'a, 's, L: Leniency> RowReader<'a, 's, L> {
    /// Of a text (UTF-8), whose lists and maps may take what `growth` says.
    pub fn new(
        text: &'a [u8],
        growth: Growth,
        refuse_unknown: bool,
        space: &'s mut Vec<u8>,
        steps: &'s mut Vec<Step>,
        lenient: &'s mut L,
    ) -> Self {
        Self { reader: Reader::new(text), growth, refuse_unknown, space, steps, lenient }
    }

    /// Appends the object that the text is, as row number `row`. After an error the columns must be cut back.
    #[inline]
    pub fn row(&mut self, row: usize, columns: &mut StructColumn) -> Result<(), Refusal> {
        if self.reader.peek() != Some(b'{') {
            return Err(Refusal::NotAnObject);
        }
        self.members(row, columns, true)?;
        self.reader.end()
    }

    /// Appends the value that the text is.
    pub fn only_value(&mut self, column: &mut Column) -> Result<(), Refusal> {
        self.value(column)?;
        self.reader.end()
    }

    /// Reads the object that begins here as value number `row` of a struct, or of the row itself.
    fn members(&mut self, row: usize, columns: &mut StructColumn, is_row: bool) -> Result<(), Refusal> {
        let (mut expected, mut found) = (0, 0);
        let object = self.lenient.mark();
        let mut more = self.reader.open(b'}')?;
        while more {
            self.reader.peek();
            let before = self.reader.position();
            match self.field(columns, expected)? {
                Some(index) => {
                    if columns.children[index].len() > row {
                        return self.fault(Step::Field(index), Refusal::Duplicate);
                    }
                    self.reader.colon()?;
                    self.member(object, index, columns)?;
                    expected = index + 1;
                    found += 1;
                }
                None if self.refuse_unknown => return Err(Refusal::UnknownField),
                None => self.unknown(object, before)?,
            }
            more = self.reader.more(b'}')?;
        }
        self.end_members(object, found, row, columns, is_row)
    }

    /// Goes behind a member of the object at a mark that is no field; its name begins at a position, and was read.
    #[inline(always)]
    fn unknown(&mut self, object: Mark, name: Position) -> Result<(), Refusal> {
        let written = self.reader.since(name);
        self.reader.colon()?;
        let Some(rest) = self.lenient.rest() else { return self.reader.skip() };
        let resolved = Reader::new(written).text(self.space)?.to_vec();
        compact(self.reader.raw()?, rest.member(object, resolved, written));
        Ok(())
    }

    /// Reads a name; None: no field has it.
    #[inline]
    fn field(&mut self, columns: &StructColumn, expected: usize) -> Result<Option<usize>, Refusal> {
        self.reader.peek();
        // Fields mostly come in the order of the schema, some of them left out.
        for position in expected..expected + NAMES_TRIED {
            if columns.expected(position).is_some_and(|name| self.reader.take(name)) {
                return Ok(Some(position));
            }
        }
        let name = self.reader.text(self.space)?;
        Ok(columns.find(name))
    }

    fn items(&mut self, first: u8, list: &mut ListColumn) -> Result<(), Refusal> {
        expect(first == b'[')?;
        let (object, mut index) = (self.lenient.mark(), 0_usize);
        let mut more = self.reader.open(b']')?;
        while more {
            self.item(object, index, list)?;
            index += 1;
            more = self.reader.more(b']')?;
        }
        list.end();
        Ok(())
    }

    fn entries(&mut self, first: u8, map: &mut MapColumn) -> Result<(), Refusal> {
        expect(first == b'{')?;
        let object = self.lenient.mark();
        let mut more = self.reader.open(b'}')?;
        while more {
            self.reader.peek();
            let before = self.reader.position();
            self.reader.string(&mut map.keys.data)?;
            map.keys.end();
            let key = self.reader.since(before);
            self.reader.colon()?;
            let inside = self.lenient.mark();
            if let Err(refusal) = self.growth.take(map.width).and_then(|()| self.child(Step::Entry, &mut map.values)) {
                return self.fault(Step::Entry, refusal);
            }
            if let Some(rest) = self.lenient.rest() {
                rest.put_below(object, inside, key);
            }
            more = self.reader.more(b'}')?;
        }
        self.end_entries(map)
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
    fn timestamp(&mut self, first: u8, clock: &Clock) -> Result<i64, Refusal> {
        match &clock.notation {
            TimeNotation::Text(notation) => time::timestamp(self.text(first)?, notation, clock.per_second()),
            TimeNotation::Epoch(unit) => time::epoch(self.integer(first)?, per_second(*unit), clock.per_second()),
        }
    }

    fn base64(&mut self, first: u8, bytes: &mut Bytes) -> Result<(), Refusal> {
        STANDARD.decode_append(self.text(first)?, &mut bytes.data).map_err(|_| Refusal::BadText)?;
        bytes.end();
        Ok(())
    }
}

impl<'a, L: Leniency> ReadValue for RowReader<'a, '_, L> {
    type Leniency = L;
    type Place = Position;

    fn place(&self) -> Position {
        self.reader.position()
    }

    fn return_to(&mut self, place: Position) {
        self.reader.return_to(place);
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
            Data::Timestamp(values, clock) => values.push(self.timestamp(first, clock)?),
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
                self.members(row, columns, false)?;
            }
            Data::List(list) => self.items(first, list)?,
            Data::Map(map) => self.entries(first, map)?,
        }
        column.pushed();
        Ok(())
    }

    /// A text for another type, or a number or bool for a text.
    fn convert(&mut self, refusal: Refusal, column: &mut Column) -> Option<Result<(), Refusal>> {
        if refusal != Refusal::WrongType || self.lenient.faults().wrong_type != WrongType::Convert {
            return None;
        }
        let read = match (self.reader.peek(), &mut column.data) {
            (Some(b'"'), _) => return Some(self.reader.text(self.space).and_then(|text| text::append(text, column))),
            (Some(b'-' | b'0'..=b'9' | b't' | b'f'), Data::String(bytes)) => self.reader.raw().map(|written| {
                bytes.data.extend_from_slice(written);
                bytes.end();
            }),
            _ => return None,
        };
        Some(read.map(|()| column.pushed()))
    }

    fn skip(&mut self) -> Result<(), Refusal> {
        self.reader.skip()
    }

    #[inline(always)]
    fn state(&mut self) -> (&mut L, &mut Vec<Step>, &mut Growth) {
        (self.lenient, self.steps, &mut self.growth)
    }
}

/// Appends the value that a JSON text is, which nobody has sent, so that nothing is adjusted.
pub fn constant(text: &[u8], space: &mut Vec<u8>, steps: &mut Vec<Step>, column: &mut Column) -> Result<(), Refusal> {
    RowReader::new(text, Growth::unlimited(), false, space, steps, &mut Strict).only_value(column)
}

/// Says whether a value begins as its type does. How it goes on does not matter when not.
#[inline(always)]
fn expect(fits: bool) -> Result<(), Refusal> {
    if fits { Ok(()) } else { Err(Refusal::WrongType) }
}

//! The records inside a batch of magic 2 (`DefaultRecord.java`):
//! length, attributes (one byte, unused), timestamp delta, offset delta, key, value, headers; integers are varints.

use crate::cursor::Cursor;
use crate::error::{Reason, bail};

/// The fewest bytes of a record: one for each of its seven fields.
pub const LEAST_RECORD_BYTES: usize = 7;

/// One record, still in the bytes of its batch.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    pub timestamp_delta: i64,
    pub offset_delta: i32,
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    pub headers: Headers<'a>,
}

impl<'a> Record<'a> {
    /// Takes one record off the cursor. The headers are not yet looked at.
    #[inline(always)]
    pub fn read(cursor: &mut Cursor<'a>) -> Result<Self, Reason> {
        let Some(body) = read_body(cursor) else { return Err(bad_length(cursor)) };
        let Some(record) = Self::read_fields(body) else { return Err(bad_fields()) };
        Ok(record)
    }

    #[inline(always)]
    fn read_fields(body: &'a [u8]) -> Option<Self> {
        let mut fields = Cursor::new(body);
        fields.byte()?;
        let timestamp_delta = fields.varlong()?;
        let offset_delta = fields.varint()?;
        let key = fields.nullable_bytes()?;
        let value = fields.nullable_bytes()?;
        let headers = Headers { count: fields.varint()?, bytes: fields.rest() };
        Some(Self { timestamp_delta, offset_delta, key, value, headers })
    }
}

/// The headers of a record, not yet looked at.
#[derive(Debug, Clone, Copy)]
pub struct Headers<'a> {
    count: i32,
    bytes: &'a [u8],
}

impl<'a> Headers<'a> {
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.count == 0 && self.bytes.is_empty()
    }

    /// Calls `each` with the headers, in order; fails unless they fill the record to its last byte.
    pub fn read(self, mut each: impl FnMut(&'a [u8], Option<&'a [u8]>)) -> Result<(), Reason> {
        let mut cursor = Cursor::new(self.bytes);
        if self.count < 0 || self.count as usize > self.bytes.len() {
            bail!("its number of headers is {}, with {} bytes for them", self.count, self.bytes.len());
        }
        for _ in 0..self.count {
            match (cursor.nullable_bytes(), cursor.nullable_bytes()) {
                (Some(Some(key)), Some(value)) => each(key, value),
                (Some(None), _) => bail!("the key of a header is null"),
                _ => bail!("a header reaches beyond its record"),
            }
        }
        if !cursor.is_empty() {
            bail!("{} bytes follow its last header", cursor.rest().len());
        }
        Ok(())
    }

    #[inline(always)]
    pub fn check(self) -> Result<(), Reason> {
        if self.is_empty() { Ok(()) } else { self.read(|_, _| ()) }
    }
}

#[inline(always)]
fn read_body<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let length = usize::try_from(cursor.varint()?).ok()?;
    cursor.take(length)
}

#[cold]
fn bad_length(cursor: &Cursor<'_>) -> Reason {
    Reason::new(format!("its length is malformed or more than the {} bytes left", cursor.rest().len()))
}

#[cold]
fn bad_fields() -> Reason {
    Reason::new("a field reaches beyond its record, or a varint is too long")
}

//! MessagePack being read, piece by piece.
//!
//! Source: <https://github.com/msgpack/msgpack/blob/master/spec.md>.

use super::super::reader::MOST_NESTED;
use super::super::reason::Refusal;
use crate::cursor::Cursor;

/// What stands at a place of a value: all of it, or how many values follow that it is made of.
#[derive(Debug, Clone, Copy)]
pub enum Token<'a> {
    Nil,
    Bool(bool),
    Unsigned(u64),
    /// Mostly below zero.
    Signed(i64),
    Float32(f32),
    Float64(f64),
    Text(&'a [u8]),
    Bytes(&'a [u8]),
    Array(u32),
    /// So many names and so many values.
    Map(u32),
    /// A type of its own, and its bytes.
    Extension(i8, &'a [u8]),
}

/// What is left of a value, and how deep we are in it.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    bytes: Cursor<'a>,
    depth: usize,
}

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes: Cursor::new(bytes), depth: 0 }
    }

    /// Nothing may follow.
    pub fn end(&self) -> Result<(), Refusal> {
        if self.bytes.is_empty() { Ok(()) } else { Err(Refusal::NotMessagePack) }
    }

    /// What was read since, where this was `before`.
    pub fn since(&self, before: &Self) -> &'a [u8] {
        &before.bytes.rest()[..before.bytes.rest().len() - self.bytes.rest().len()]
    }

    /// Goes into an array or a map.
    #[inline]
    pub fn open(&mut self) -> Result<(), Refusal> {
        self.depth += 1;
        if self.depth > MOST_NESTED { Err(Refusal::TooDeep) } else { Ok(()) }
    }

    #[inline]
    pub fn close(&mut self) {
        self.depth -= 1;
    }

    #[inline(always)]
    pub fn token(&mut self) -> Result<Token<'a>, Refusal> {
        let [first] = self.array()?;
        Ok(match first {
            0x00..=0x7f => Token::Unsigned(first.into()),
            0x80..=0x8f => Token::Map((first & 0x0f).into()),
            0x90..=0x9f => Token::Array((first & 0x0f).into()),
            0xa0..=0xbf => Token::Text(self.take((first & 0x1f).into())?),
            0xe0..=0xff => Token::Signed((first as i8).into()),
            0xc0 => Token::Nil,
            0xc1 => return Err(Refusal::NotMessagePack),
            0xc2 | 0xc3 => Token::Bool(first == 0xc3),
            0xc4..=0xc6 => Token::Bytes(self.sized(first - 0xc4)?),
            0xc7..=0xc9 => {
                let size = self.size(first - 0xc7)?;
                self.extension(size)?
            }
            0xca => Token::Float32(f32::from_be_bytes(self.array()?)),
            0xcb => Token::Float64(f64::from_be_bytes(self.array()?)),
            0xcc => Token::Unsigned(u8::from_be_bytes(self.array()?).into()),
            0xcd => Token::Unsigned(u16::from_be_bytes(self.array()?).into()),
            0xce => Token::Unsigned(u32::from_be_bytes(self.array()?).into()),
            0xcf => Token::Unsigned(u64::from_be_bytes(self.array()?)),
            0xd0 => Token::Signed(i8::from_be_bytes(self.array()?).into()),
            0xd1 => Token::Signed(i16::from_be_bytes(self.array()?).into()),
            0xd2 => Token::Signed(i32::from_be_bytes(self.array()?).into()),
            0xd3 => Token::Signed(i64::from_be_bytes(self.array()?)),
            0xd4..=0xd8 => self.extension(1 << (first - 0xd4))?,
            0xd9..=0xdb => Token::Text(self.sized(first - 0xd9)?),
            0xdc | 0xdd => Token::Array(self.size(first - 0xdb)?),
            0xde | 0xdf => Token::Map(self.size(first - 0xdd)?),
        })
    }

    /// Goes behind the value that begins here. Its depth is limited, so the stack is, too.
    pub fn skip(&mut self) -> Result<(), Refusal> {
        let token = self.token()?;
        self.skip_rest(token)
    }

    /// Goes behind what a token that was read is made of.
    pub fn skip_rest(&mut self, token: Token<'a>) -> Result<(), Refusal> {
        let parts = match token {
            Token::Array(items) => u64::from(items),
            Token::Map(entries) => 2 * u64::from(entries),
            _ => return Ok(()),
        };
        self.open()?;
        for _ in 0..parts {
            self.skip()?;
        }
        self.close();
        Ok(())
    }

    #[inline(always)]
    fn take(&mut self, length: usize) -> Result<&'a [u8], Refusal> {
        self.bytes.take(length).ok_or(Refusal::NotMessagePack)
    }

    #[inline(always)]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Refusal> {
        self.bytes.array().ok_or(Refusal::NotMessagePack)
    }

    /// A size of 2 to the power of `width` bytes.
    #[inline(always)]
    fn size(&mut self, width: u8) -> Result<u32, Refusal> {
        Ok(match width {
            0 => u8::from_be_bytes(self.array()?).into(),
            1 => u16::from_be_bytes(self.array()?).into(),
            _ => u32::from_be_bytes(self.array()?),
        })
    }

    #[inline(always)]
    fn sized(&mut self, width: u8) -> Result<&'a [u8], Refusal> {
        let size = self.size(width)?;
        self.take(size as usize)
    }

    fn extension(&mut self, size: u32) -> Result<Token<'a>, Refusal> {
        let [kind] = self.array()?;
        Ok(Token::Extension(kind as i8, self.take(size as usize)?))
    }
}

//! Avro's binary encoding being read, piece by piece.

use super::super::reason::Refusal;
use crate::cursor::Cursor;
use crate::scan::{append, is_utf8};

/// Which branch of a union a value is of, where the whole value is one.
pub struct Branch(pub i64);

impl Branch {
    #[inline]
    pub fn read(value: &[u8]) -> Option<Self> {
        Input::new(value).long().ok().map(Self)
    }
}

/// What is left of a value.
#[derive(Clone, Copy)]
pub struct Input<'a>(Cursor<'a>);

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(Cursor::new(bytes))
    }

    /// Bytes that are still to be read.
    #[inline(always)]
    pub fn left(&self) -> usize {
        self.0.rest().len()
    }

    /// Nothing may follow.
    pub fn end(&self) -> Result<(), Refusal> {
        if self.0.is_empty() { Ok(()) } else { Err(Refusal::NotAvro) }
    }

    #[inline(always)]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], Refusal> {
        self.0.take(length).ok_or(Refusal::NotAvro)
    }

    #[inline(always)]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Refusal> {
        self.0.array().ok_or(Refusal::NotAvro)
    }

    #[inline(always)]
    pub fn long(&mut self) -> Result<i64, Refusal> {
        self.0.varlong().ok_or(Refusal::NotAvro)
    }

    #[inline(always)]
    pub fn int(&mut self) -> Result<i32, Refusal> {
        i32::try_from(self.long()?).map_err(|_| Refusal::NotAvro)
    }

    #[inline(always)]
    pub fn boolean(&mut self) -> Result<bool, Refusal> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(Refusal::NotAvro),
        }
    }

    /// The position of a branch or a symbol, of which there are so many.
    #[inline(always)]
    pub fn position(&mut self, of: usize) -> Result<usize, Refusal> {
        usize::try_from(self.long()?).ok().filter(|position| *position < of).ok_or(Refusal::NotAvro)
    }

    /// Bytes or a string, behind their length.
    #[inline(always)]
    pub fn sized(&mut self) -> Result<&'a [u8], Refusal> {
        let length = usize::try_from(self.long()?).map_err(|_| Refusal::NotAvro)?;
        self.take(length)
    }

    /// Appends a string, behind its length.
    #[inline(always)]
    pub fn text_into(&mut self, target: &mut Vec<u8>) -> Result<(), Refusal> {
        let length = usize::try_from(self.long()?).map_err(|_| Refusal::NotAvro)?;
        let bytes = self.0.rest();
        self.take(length)?;
        if !is_utf8(bytes, length) {
            return Err(Refusal::NotUtf8);
        }
        append(target, bytes, length);
        Ok(())
    }

    /// The head of a block of items: how many (0 at the end), and how many bytes are left behind them, if it says so.
    #[inline(always)]
    pub fn block(&mut self) -> Result<(u64, Option<usize>), Refusal> {
        let count = self.long()?;
        if count >= 0 {
            return Ok((count.unsigned_abs(), None));
        }
        let bytes = usize::try_from(self.long()?).map_err(|_| Refusal::NotAvro)?;
        let behind = self.left().checked_sub(bytes).ok_or(Refusal::NotAvro)?;
        Ok((count.unsigned_abs(), Some(behind)))
    }

    /// A block that told its size must end there.
    #[inline(always)]
    pub fn block_end(&self, behind: Option<usize>) -> Result<(), Refusal> {
        if behind.is_none_or(|behind| behind == self.left()) { Ok(()) } else { Err(Refusal::NotAvro) }
    }
}

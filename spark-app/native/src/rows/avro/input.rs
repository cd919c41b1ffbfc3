//! Avro's binary encoding being read, piece by piece.

use super::super::reason::Refusal;
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
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Bytes that are still to be read.
    #[inline(always)]
    pub fn left(&self) -> usize {
        self.0.len()
    }

    /// Nothing may follow.
    pub fn end(&self) -> Result<(), Refusal> {
        if self.0.is_empty() { Ok(()) } else { Err(Refusal::NotAvro) }
    }

    #[inline(always)]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], Refusal> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Refusal::NotAvro)?;
        self.0 = rest;
        Ok(taken)
    }

    #[inline(always)]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Refusal> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Refusal::NotAvro)?;
        self.0 = rest;
        Ok(*taken)
    }

    #[inline(always)]
    pub fn long(&mut self) -> Result<i64, Refusal> {
        let [byte] = self.array()?;
        let mut number = u64::from(byte);
        if byte >= 0x80 {
            number = self.long_varint(number & 0x7f)?;
        }
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// The rest of a number of more than one byte.
    #[inline]
    fn long_varint(&mut self, mut number: u64) -> Result<u64, Refusal> {
        let mut shift = 7;
        loop {
            let [byte] = self.array()?;
            if shift == 63 && byte > 1 {
                return Err(Refusal::NotAvro);
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
            shift += 7;
        }
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
        let bytes = self.0;
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

//! Protobuf's wire format being read, piece by piece, as tolerant as the official libraries are.

use super::super::reason::Refusal;
use crate::cursor::Cursor;

/// Groups that may stand in each other where they are skipped, as in the official libraries.
const MOST_GROUPS: usize = 100;
const LONGEST_VARINT: usize = 10;
/// Of tags and lengths, which have 32 bits.
const LONGEST_SHORT_VARINT: usize = 5;

/// How a value is encoded, by the lowest bits of its tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Varint,
    Fixed64,
    Sized,
    Group,
    Fixed32,
}

/// What is left of a message.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a>(Cursor<'a>);

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(Cursor::new(bytes))
    }

    #[inline(always)]
    pub fn left(&self) -> usize {
        self.0.rest().len()
    }

    /// What was read from here up to `behind`.
    pub fn taken(&self, behind: &Self) -> &'a [u8] {
        &self.0.rest()[..self.left() - behind.left()]
    }

    #[inline(always)]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], Refusal> {
        self.0.take(length).ok_or(Refusal::NotProtobuf)
    }

    #[inline(always)]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Refusal> {
        self.0.array().ok_or(Refusal::NotProtobuf)
    }

    /// A number of up to ten bytes; bits beyond the 64th are dropped.
    #[inline(always)]
    pub fn varint(&mut self) -> Result<u64, Refusal> {
        self.varint_of(LONGEST_VARINT)
    }

    #[inline(always)]
    fn varint_of(&mut self, longest: usize) -> Result<u64, Refusal> {
        let mut number = 0;
        for position in 0..longest {
            let [byte] = self.array()?;
            number |= u64::from(byte & 0x7f) << (7 * position);
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Refusal::NotProtobuf)
    }

    #[inline(always)]
    fn short_varint(&mut self) -> Result<u32, Refusal> {
        self.varint_of(LONGEST_SHORT_VARINT)?.try_into().map_err(|_| Refusal::NotProtobuf)
    }

    /// The number of the next field, and how it is encoded; None: a group ends.
    #[inline(always)]
    pub fn tag(&mut self) -> Result<(u32, Option<Wire>), Refusal> {
        let tag = self.short_varint()?;
        let wire = match tag & 7 {
            0 => Some(Wire::Varint),
            1 => Some(Wire::Fixed64),
            2 => Some(Wire::Sized),
            3 => Some(Wire::Group),
            4 => None,
            5 => Some(Wire::Fixed32),
            _ => return Err(Refusal::NotProtobuf),
        };
        let number = tag >> 3;
        if number == 0 { Err(Refusal::NotProtobuf) } else { Ok((number, wire)) }
    }

    /// The next field of a message; here no group may end.
    #[inline(always)]
    pub fn field(&mut self) -> Result<(u32, Wire), Refusal> {
        let (number, wire) = self.tag()?;
        Ok((number, wire.ok_or(Refusal::NotProtobuf)?))
    }

    /// Bytes behind their length.
    #[inline(always)]
    pub fn sized(&mut self) -> Result<&'a [u8], Refusal> {
        let length = self.short_varint()?;
        if length > i32::MAX as u32 {
            return Err(Refusal::NotProtobuf);
        }
        self.take(length as usize)
    }

    /// Goes behind a value.
    #[inline]
    pub fn skip(&mut self, number: u32, wire: Wire) -> Result<(), Refusal> {
        match wire {
            Wire::Varint => self.varint().map(drop),
            Wire::Fixed64 => self.take(8).map(drop),
            Wire::Sized => self.sized().map(drop),
            Wire::Group => self.group(number).map(drop),
            Wire::Fixed32 => self.take(4).map(drop),
        }
    }

    /// What is in a message, behind its length or up to the end of its group.
    #[inline(always)]
    pub fn message(&mut self, number: u32, wire: Wire) -> Result<&'a [u8], Refusal> {
        if wire == Wire::Sized { self.sized() } else { self.group(number) }
    }

    /// What is in the group of this number that has begun.
    fn group(&mut self, number: u32) -> Result<&'a [u8], Refusal> {
        let begin = *self;
        let mut open = vec![number];
        loop {
            let before = *self;
            match self.tag()? {
                (number, None) => {
                    if open.pop() != Some(number) {
                        return Err(Refusal::NotProtobuf);
                    }
                    if open.is_empty() {
                        return Ok(begin.taken(&before));
                    }
                }
                (number, Some(Wire::Group)) => {
                    if open.len() == MOST_GROUPS {
                        return Err(Refusal::TooDeep);
                    }
                    open.push(number);
                }
                (number, Some(wire)) => self.skip(number, wire)?,
            }
        }
    }
}

//! Thrift's binary and compact protocol being read, piece by piece.
//!
//! Source: <https://github.com/apache/thrift/tree/master/doc/specs>.

use super::super::reader::MOST_NESTED;
use super::super::reason::Refusal;
use crate::cursor::Cursor;

/// How a value is encoded. Those that a field of the schema has are compared with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Bool,
    I8,
    I16,
    I32,
    I64,
    Double,
    /// Strings and bytes.
    Sized,
    Struct,
    Map,
    Set,
    List,
    Uuid,
}

/// What is left of a value, and how deep we are in it. A value of so many items is never shorter than one byte for each, so
/// sizes are compared with what is left before anything counts on them.
#[derive(Debug)]
pub struct Input<'a, const COMPACT: bool> {
    bytes: Cursor<'a>,
    depth: usize,
    /// The bool that the head of a compact field has in it.
    flag: Option<bool>,
}

fn there<T>(found: Option<T>) -> Result<T, Refusal> {
    found.ok_or(Refusal::NotThrift)
}

impl<'a, const COMPACT: bool> Input<'a, COMPACT> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes: Cursor::new(bytes), depth: 0, flag: None }
    }

    /// Nothing may follow.
    pub fn end(&self) -> Result<(), Refusal> {
        if self.bytes.is_empty() { Ok(()) } else { Err(Refusal::NotThrift) }
    }

    /// Goes into a struct, a list, a set or a map.
    #[inline]
    pub fn open(&mut self) -> Result<(), Refusal> {
        self.depth += 1;
        if self.depth > MOST_NESTED { Err(Refusal::TooDeep) } else { Ok(()) }
    }

    #[inline]
    pub fn close(&mut self) {
        self.depth -= 1;
    }

    /// The number of the next field of a struct, and how it is encoded; None: the struct ends. `last` is the field before.
    #[inline(always)]
    pub fn field(&mut self, last: &mut i16) -> Result<Option<(i16, Wire)>, Refusal> {
        let head = there(self.bytes.byte())?;
        if head == 0 {
            return Ok(None);
        }
        if !COMPACT {
            *last = i16::from_be_bytes(there(self.bytes.array())?);
            return Ok(Some((*last, binary_wire(head)?)));
        }
        *last = match head >> 4 {
            0 => self.i16()?,
            step => there(last.checked_add(step.into()))?,
        };
        let wire = compact_wire(head & 0x0f)?;
        if wire == Wire::Bool {
            self.flag = Some(head & 0x0f == 1);
        }
        Ok(Some((*last, wire)))
    }

    /// The head of a list or a set: how its items are encoded (None, if there are none), and how many there are.
    #[inline]
    pub fn list(&mut self) -> Result<(Option<Wire>, usize), Refusal> {
        let head = there(self.bytes.byte())?;
        let size = match head >> 4 {
            size @ ..0x0f if COMPACT => size.into(),
            _ => self.size()?,
        };
        if size == 0 {
            return Ok((None, 0));
        }
        let wire = if COMPACT { compact_wire(head & 0x0f)? } else { binary_wire(head)? };
        self.checked(size, 1)?;
        Ok((Some(wire), size))
    }

    /// The head of a map: how its keys and values are encoded (None, if there are none), and how many of each there are.
    #[inline]
    pub fn map(&mut self) -> Result<(Option<(Wire, Wire)>, usize), Refusal> {
        let (heads, size) = if COMPACT {
            let size = self.size()?;
            let both = if size == 0 { 0 } else { there(self.bytes.byte())? };
            ([both >> 4, both & 0x0f], size)
        } else {
            let heads = there(self.bytes.array())?;
            (heads, self.size()?)
        };
        if size == 0 {
            return Ok((None, 0));
        }
        let [key, value] = heads.map(|head| if COMPACT { compact_wire(head) } else { binary_wire(head) });
        self.checked(size, 2)?;
        Ok((Some((key?, value?)), size))
    }

    #[inline(always)]
    pub fn bool(&mut self) -> Result<bool, Refusal> {
        if let (true, Some(flag)) = (COMPACT, self.flag.take()) {
            return Ok(flag);
        }
        match there(self.bytes.byte())? {
            // An item of a list; some writers have 0 for false.
            0 | 2 if COMPACT => Ok(false),
            1 => Ok(true),
            _ if COMPACT => Err(Refusal::NotThrift),
            byte => Ok(byte != 0),
        }
    }

    /// A whole number that is encoded in this way.
    #[inline(always)]
    pub fn integer(&mut self, wire: Wire) -> Result<i64, Refusal> {
        Ok(match wire {
            Wire::I8 => (there(self.bytes.byte())? as i8).into(),
            Wire::I16 => self.i16()?.into(),
            Wire::I32 if COMPACT => there(self.bytes.varint())?.into(),
            Wire::I32 => i32::from_be_bytes(there(self.bytes.array())?).into(),
            _ if COMPACT => there(self.bytes.varlong())?,
            _ => i64::from_be_bytes(there(self.bytes.array())?),
        })
    }

    #[inline(always)]
    pub fn double(&mut self) -> Result<f64, Refusal> {
        let bytes = there(self.bytes.array())?;
        Ok(if COMPACT { f64::from_le_bytes(bytes) } else { f64::from_be_bytes(bytes) })
    }

    /// Bytes behind their length.
    #[inline(always)]
    pub fn sized(&mut self) -> Result<&'a [u8], Refusal> {
        let size = self.size()?;
        there(self.bytes.take(size))
    }

    /// Goes behind a value. Its depth is limited, so the stack is, too.
    pub fn skip(&mut self, wire: Wire) -> Result<(), Refusal> {
        match wire {
            Wire::Bool => self.bool().map(drop),
            Wire::I8 | Wire::I16 | Wire::I32 | Wire::I64 => self.integer(wire).map(drop),
            Wire::Double => self.double().map(drop),
            Wire::Sized => self.sized().map(drop),
            Wire::Uuid => there(self.bytes.take(16)).map(drop),
            Wire::Struct | Wire::List | Wire::Set | Wire::Map => self.skip_parts(wire),
        }
    }

    fn skip_parts(&mut self, wire: Wire) -> Result<(), Refusal> {
        self.open()?;
        match wire {
            Wire::Struct => {
                let mut last = 0;
                while let Some((_, wire)) = self.field(&mut last)? {
                    self.skip(wire)?;
                }
            }
            Wire::Map => {
                if let (Some((key, value)), size) = self.map()? {
                    for _ in 0..size {
                        self.skip(key)?;
                        self.skip(value)?;
                    }
                }
            }
            _ => {
                if let (Some(item), size) = self.list()? {
                    for _ in 0..size {
                        self.skip(item)?;
                    }
                }
            }
        }
        self.close();
        Ok(())
    }

    #[inline(always)]
    fn i16(&mut self) -> Result<i16, Refusal> {
        if COMPACT {
            there(self.bytes.varint().and_then(|number| number.try_into().ok()))
        } else {
            there(self.bytes.array()).map(i16::from_be_bytes)
        }
    }

    #[inline(always)]
    fn size(&mut self) -> Result<usize, Refusal> {
        let size = if COMPACT { self.bytes.unsigned_varint32() } else { self.bytes.array().map(u32::from_be_bytes) };
        there(size.filter(|size| *size <= i32::MAX as u32)).map(|size| size as usize)
    }

    /// So many parts, of so many bytes at least, must be there.
    #[inline(always)]
    fn checked(&self, size: usize, least: usize) -> Result<(), Refusal> {
        if size <= self.bytes.rest().len() / least { Ok(()) } else { Err(Refusal::NotThrift) }
    }
}

fn binary_wire(head: u8) -> Result<Wire, Refusal> {
    Ok(match head {
        2 => Wire::Bool,
        3 => Wire::I8,
        4 => Wire::Double,
        6 => Wire::I16,
        8 => Wire::I32,
        10 => Wire::I64,
        11 => Wire::Sized,
        12 => Wire::Struct,
        13 => Wire::Map,
        14 => Wire::Set,
        15 => Wire::List,
        16 => Wire::Uuid,
        _ => return Err(Refusal::NotThrift),
    })
}

fn compact_wire(head: u8) -> Result<Wire, Refusal> {
    Ok(match head {
        1 | 2 => Wire::Bool,
        3 => Wire::I8,
        4 => Wire::I16,
        5 => Wire::I32,
        6 => Wire::I64,
        7 => Wire::Double,
        8 => Wire::Sized,
        9 => Wire::List,
        10 => Wire::Set,
        11 => Wire::Map,
        12 => Wire::Struct,
        13 => Wire::Uuid,
        _ => return Err(Refusal::NotThrift),
    })
}

//! What stands before a value and names its schema.

use super::adjusted::Adjustments;
use super::fill::{ReadRow, Steps};
use super::inflate::Inflater;
use super::nested::StructColumn;
use super::reason::Refusal;

/// The layouts that are in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Nothing: there is one schema, of id 0.
    Plain,
    /// Of Avro's specification: C3 01 and the CRC-64-AVRO of the schema, the lowest byte first.
    SingleObject,
    /// Confluent's: 0 and a number of 4 bytes, the highest first.
    Confluent,
    /// Apicurio's own: 0 and a number of 8 bytes, the highest first.
    Apicurio,
    /// AWS Glue's: 3, a byte that says how the rest is compressed (0: not, 5: by zlib), and a UUID.
    Glue,
}

/// A value taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header<'a> {
    pub id: u128,
    /// What is behind it.
    pub body: &'a [u8],
    /// Whether that is a zlib stream.
    pub is_deflated: bool,
}

impl Framing {
    pub const WORDS: [(&str, Self); 5] = [
        ("plain", Self::Plain),
        ("singleObject", Self::SingleObject),
        ("confluent", Self::Confluent),
        ("apicurio", Self::Apicurio),
        ("glue", Self::Glue),
    ];

    pub fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, framing)| *framing)
    }

    #[inline]
    pub fn header(self, value: &[u8]) -> Result<Header<'_>, Refusal> {
        self.read(value).ok_or(Refusal::NoHeader)
    }

    #[inline]
    fn read(self, value: &[u8]) -> Option<Header<'_>> {
        let mut is_deflated = false;
        let (id, body) = match self {
            Self::Plain => (0, value),
            Self::SingleObject => {
                let (id, body) = value.strip_prefix(&[0xc3, 0x01])?.split_first_chunk()?;
                (u64::from_le_bytes(*id).into(), body)
            }
            Self::Confluent => {
                let (id, body) = value.strip_prefix(&[0])?.split_first_chunk()?;
                (u32::from_be_bytes(*id).into(), body)
            }
            Self::Apicurio => {
                let (id, body) = value.strip_prefix(&[0])?.split_first_chunk()?;
                (u64::from_be_bytes(*id).into(), body)
            }
            Self::Glue => {
                let ([3, compression], rest) = value.split_first_chunk()? else { return None };
                is_deflated = match compression {
                    0 => false,
                    5 => true,
                    _ => return None,
                };
                let (id, body) = rest.split_first_chunk()?;
                (u128::from_be_bytes(*id), body)
            }
        };
        Some(Header { id, body, is_deflated })
    }
}

/// Reads headers, and inflates what is behind them.
#[derive(Debug)]
pub struct Opener {
    framing: Framing,
    /// Made when it is needed first.
    inflater: Option<Inflater>,
}

impl Opener {
    pub fn new(framing: Framing) -> Self {
        Self { framing, inflater: None }
    }

    /// The id of the schema, and the bytes that it has written.
    #[inline]
    pub fn open<'a>(&'a mut self, value: &'a [u8]) -> Result<(u128, &'a [u8]), Refusal> {
        let Header { id, body, is_deflated } = self.framing.header(value)?;
        if !is_deflated {
            return Ok((id, body));
        }
        Ok((id, self.inflater.get_or_insert_default().whole(body)?))
    }

    /// The same with no more than `N` bytes, and how many these are.
    pub fn peek<const N: usize>(&mut self, value: &[u8]) -> Result<(u128, [u8; N], usize), Refusal> {
        let Header { id, body, is_deflated } = self.framing.header(value)?;
        let mut begin = [0; N];
        let length = if is_deflated {
            self.inflater.get_or_insert_default().begin(body, &mut begin)?
        } else {
            let length = body.len().min(N);
            begin[..length].copy_from_slice(&body[..length]);
            length
        };
        Ok((id, begin, length))
    }
}

/// Reads what is behind headers, whatever these say.
pub struct Behind<R> {
    opener: Opener,
    reader: R,
    /// Of all that was behind them.
    bytes: usize,
}

impl<R: ReadRow> Behind<R> {
    pub fn new(framing: Framing, reader: R) -> Self {
        Self { opener: Opener::new(framing), reader, bytes: 0 }
    }
}

impl<R: ReadRow> ReadRow for Behind<R> {
    #[inline]
    fn read(&mut self, value: &[u8], row: usize, columns: &mut StructColumn, steps: &mut Steps) -> Result<(), Refusal> {
        let (_, body) = self.opener.open(value)?;
        self.reader.read(body, row, columns, steps)?;
        self.bytes += body.len();
        Ok(())
    }

    fn judge_whole(&self, value: &[u8]) -> Option<Refusal> {
        // What has no header is refused for that.
        Opener::new(self.opener.framing).open(value).ok().and_then(|(_, body)| self.reader.judge_whole(body))
    }

    fn bytes(&self) -> usize {
        self.bytes.max(self.reader.bytes())
    }

    fn prepare(&self, columns: &mut StructColumn) {
        self.reader.prepare(columns);
    }

    fn adjustments(&mut self) -> Option<&mut Adjustments> {
        self.reader.adjustments()
    }
}

//! What stands before an Avro value and names its schema.

use super::super::reason::Refusal;
use super::input::Input;

/// The layouts that are in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Nothing: there is one schema, of id 0.
    Plain,
    /// The specification's: C3 01 and the CRC-64-AVRO of the schema, the lowest byte first.
    SingleObject,
    /// Confluent's: 0 and a number of 4 bytes, the highest first.
    Confluent,
    /// Apicurio's own: 0 and a number of 8 bytes, the highest first.
    Apicurio,
    /// AWS Glue's: 3, a byte that says how the rest is compressed (0: not), and a UUID.
    Glue,
}

impl Framing {
    pub const WORDS: [(&str, Self); 5] = [
        ("plain", Self::Plain),
        ("single-object", Self::SingleObject),
        ("confluent", Self::Confluent),
        ("apicurio", Self::Apicurio),
        ("glue", Self::Glue),
    ];

    pub fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, framing)| *framing)
    }

    /// The id of the schema, and the bytes behind the header.
    #[inline]
    pub fn split(self, value: &[u8]) -> Result<(u128, &[u8]), Refusal> {
        self.read(&mut Input::new(value)).ok_or(Refusal::NoHeader)
    }

    #[inline]
    fn read<'a>(self, input: &mut Input<'a>) -> Option<(u128, &'a [u8])> {
        let id = match self {
            Self::Plain => 0,
            Self::SingleObject => {
                magic(input, [0xc3, 0x01])?;
                u64::from_le_bytes(input.array().ok()?).into()
            }
            Self::Confluent => {
                magic(input, [0])?;
                u32::from_be_bytes(input.array().ok()?).into()
            }
            Self::Apicurio => {
                magic(input, [0])?;
                u64::from_be_bytes(input.array().ok()?).into()
            }
            Self::Glue => {
                magic(input, [3, 0])?;
                u128::from_be_bytes(input.array().ok()?)
            }
        };
        Some((id, input.take(input.left()).ok()?))
    }
}

#[inline]
fn magic<const N: usize>(input: &mut Input<'_>, expected: [u8; N]) -> Option<()> {
    input.array().ok().filter(|found| *found == expected).map(drop)
}

/// Which branch of a union a value is of, where the whole value is one.
pub struct Branch(pub i64);

impl Branch {
    #[inline]
    pub fn read(value: &[u8]) -> Option<Self> {
        Input::new(value).long().ok().map(Self)
    }
}

//! What is wrong with a record batch, or with a value.

use std::fmt;

/// Why bytes cannot be a record batch that a broker stored, or no JSON document. Made on cold paths only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(Box<str>);

impl Reason {
    /// The text says what was found and what was expected.
    #[cold]
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A record batch that cannot be what a broker stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorruptBatch {
    /// Base offset of the batch as its header says; -1 when the header itself is nonsense.
    pub offset: i64,
    /// What was found and what was expected.
    pub reason: Reason,
}

impl fmt::Display for CorruptBatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "corrupt record batch at offset {}: {}", self.offset, self.reason)
    }
}

impl std::error::Error for CorruptBatch {}

/// Returns early with a [`Reason`] made by `format!`.
macro_rules! bail {
    ($($text:tt)*) => {
        return Err($crate::error::Reason::new(format!($($text)*)))
    };
}
pub(crate) use bail;

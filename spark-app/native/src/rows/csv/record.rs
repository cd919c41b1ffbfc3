//! The fields of one record.

use super::super::reason::Refusal;
use super::CsvSyntax;

/// What reads records of one syntax.
pub struct Record<'a> {
    pub syntax: &'a CsvSyntax,
    /// Bytes at which a text without quotes is looked at.
    special: [bool; 256],
    /// A field without its quotes and escapes; kept for its memory.
    space: Vec<u8>,
}

impl<'a> Record<'a> {
    pub fn new(syntax: &'a CsvSyntax) -> Self {
        let mut special = [false; 256];
        let all = [Some(syntax.delimiter), syntax.escape, Some(b'\n'), Some(b'\r')];
        all.into_iter().flatten().for_each(|byte| special[usize::from(byte)] = true);
        Self { syntax, special, space: Vec::new() }
    }

    /// Gives `found` the place and the text of each field, None for null; returns how many there are. A line break at the
    /// end belongs to no field.
    #[inline]
    pub fn read(
        &mut self,
        record: &[u8],
        mut found: impl FnMut(usize, Option<&[u8]>) -> Result<(), Refusal>,
    ) -> Result<usize, Refusal> {
        let (mut at, mut place) = (0, 0);
        loop {
            let first = record.get(at).copied();
            let end = if first.is_some() && first == self.syntax.quote {
                let end = self.quoted(record, at + 1)?;
                found(place, Some(&self.space))?;
                end
            } else {
                let end = at + self.plain(&record[at..]);
                let written = &record[at..end];
                let escape = record.get(end).copied().filter(|byte| Some(*byte) == self.syntax.escape);
                if escape.is_some() {
                    let end = self.escaped(record, at)?;
                    let is_null = record[at..end] == *self.syntax.null;
                    found(place, (!is_null).then_some(&self.space))?;
                    end
                } else {
                    found(place, (written != self.syntax.null).then_some(written))?;
                    end
                }
            };
            place += 1;
            match record.get(end..) {
                None | Some([] | b"\n" | b"\r\n" | b"\r") => return Ok(place),
                Some([byte, ..]) if *byte == self.syntax.delimiter => at = end + 1,
                Some(_) => return Err(Refusal::NotCsv),
            }
        }
    }

    /// How many bytes there are before one that is special.
    #[inline]
    fn plain(&self, bytes: &[u8]) -> usize {
        bytes.iter().position(|byte| self.special[usize::from(*byte)]).unwrap_or(bytes.len())
    }

    /// Puts a field without quotes that has escapes into the space; returns where it ends.
    fn escaped(&mut self, record: &[u8], mut at: usize) -> Result<usize, Refusal> {
        self.space.clear();
        loop {
            let plain = self.plain(&record[at..]);
            self.space.extend_from_slice(&record[at..at + plain]);
            at += plain;
            if record.get(at).copied() != self.syntax.escape {
                return Ok(at);
            }
            self.space.push(*record.get(at + 1).ok_or(Refusal::NotCsv)?);
            at += 2;
        }
    }

    /// Puts the field behind a quote into the space; returns where the field ends, behind its other quote.
    fn quoted(&mut self, record: &[u8], mut at: usize) -> Result<usize, Refusal> {
        self.space.clear();
        loop {
            let byte = *record.get(at).ok_or(Refusal::NotCsv)?;
            let next = record.get(at + 1).copied();
            if Some(byte) == self.syntax.escape {
                self.space.push(next.ok_or(Refusal::NotCsv)?);
                at += 2;
            } else if Some(byte) != self.syntax.quote {
                self.space.push(byte);
                at += 1;
            } else if next == self.syntax.quote {
                self.space.push(byte);
                at += 2;
            } else {
                return Ok(at + 1);
            }
        }
    }
}

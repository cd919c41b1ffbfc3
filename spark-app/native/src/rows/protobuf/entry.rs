//! An entry of a map: its key as text, and its value as it is encoded.

use std::borrow::Cow;

use super::super::reason::Refusal;
use super::input::Input;
use super::plan::Entry;
use super::scalar::{ZERO, key_text};

/// An entry of a map.
pub struct EntryParts<'a> {
    /// As text.
    pub key: Vec<u8>,
    /// A scalar as it is encoded, or what is in a message.
    pub value: Cow<'a, [u8]>,
}

impl<'a> EntryParts<'a> {
    /// Reads an entry; None: its value is none of a closed enum, so that it counts as unknown.
    pub fn read(entry: &Entry, bytes: &'a [u8]) -> Result<Option<Self>, Refusal> {
        let is_message = entry.item.value.is_message();
        let mut input = Input::new(bytes);
        let (mut key, mut value): (&[u8], Option<Cow<'_, [u8]>>) = (&ZERO, None);
        let mut known = true;
        while input.left() > 0 {
            let (number, wire) = input.field()?;
            let before = input;
            match number {
                1 if wire == entry.key.wire() => {
                    input.skip(number, wire)?;
                    key = before.taken(&input);
                }
                2 if wire == entry.wire && is_message => {
                    let piece = input.message(number, wire)?;
                    value = Some(match value {
                        Some(before) => {
                            let mut whole = before.into_owned();
                            whole.extend_from_slice(piece);
                            whole.into()
                        }
                        None => piece.into(),
                    });
                }
                2 if wire == entry.wire => {
                    input.skip(number, wire)?;
                    let written = before.taken(&input);
                    if let Some(names) = &entry.closed {
                        known = names.takes(Input::new(written).varint()? as i32);
                    }
                    value = Some(written.into());
                }
                _ => input.skip(number, wire)?,
            }
        }
        if !known {
            return Ok(None);
        }
        let mut text = Vec::new();
        key_text(entry.key, &mut Input::new(key), &mut text)?;
        let value = value.unwrap_or(if is_message { [].as_slice().into() } else { ZERO.as_slice().into() });
        Ok(Some(Self { key: text, value }))
    }
}

//! What a schema does not name, as one JSON object: fields as they are, and below the name of a struct, of a list and an
//! item's index, of a map and a key those that are inside of them.

use std::collections::HashSet;

use super::column::{Column, Data};
use super::reason::Refusal;

/// Up to so many names are compared with each other.
const FEW_NAMES: usize = 8;

/// The members of objects that are not closed yet, one object behind the other.
#[derive(Debug, Default)]
pub struct Rest {
    /// Members with commas between those of one object, without its braces.
    text: Vec<u8>,
    /// Names of unknown fields, their escapes resolved.
    names: Vec<Vec<u8>>,
}

/// Where something begins.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mark {
    text: usize,
    names: usize,
}

impl Rest {
    /// A record begins, perhaps anew.
    pub fn begin(&mut self) {
        self.back_to(Mark::default());
    }

    pub fn mark(&self) -> Mark {
        Mark { text: self.text.len(), names: self.names.len() }
    }

    pub fn back_to(&mut self, mark: Mark) {
        self.text.truncate(mark.text);
        self.names.truncate(mark.names);
    }

    /// Bytes that were written.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Appends a member to the object that begins at a mark, and returns where its value is to be written.
    pub fn member(&mut self, object: Mark, name: Vec<u8>, quoted: &[u8]) -> &mut Vec<u8> {
        if self.text.len() > object.text {
            self.text.push(b',');
        }
        self.text.extend_from_slice(quoted);
        self.text.push(b':');
        self.names.push(name);
        &mut self.text
    }

    /// What was written since `inside` becomes an object, and a member of the one that begins at `object`.
    pub fn put_below(&mut self, object: Mark, inside: Mark, quoted: &[u8]) {
        if self.text.len() == inside.text {
            return;
        }
        let comma = if inside.text > object.text { &b","[..] } else { b"" };
        let before = [comma, quoted, b":{"].concat();
        self.text.splice(inside.text..inside.text, before);
        self.text.push(b'}');
    }

    /// The same of the item of a list with an index.
    pub fn put_item_below(&mut self, object: Mark, inside: Mark, index: usize) {
        if self.text.len() > inside.text {
            self.put_below(object, inside, format!("\"{index}\"").as_bytes());
        }
    }

    /// Closes the members of the struct that begins at a mark: no unknown name may be twice among them.
    pub fn close(&mut self, object: Mark) -> Result<(), Refusal> {
        let names = &self.names[object.names..];
        let is_unique = if names.len() <= FEW_NAMES {
            names.iter().enumerate().all(|(place, name)| !names[..place].contains(name))
        } else {
            let mut seen = HashSet::new();
            names.iter().all(|name| seen.insert(name))
        };
        self.names.truncate(object.names);
        if is_unique { Ok(()) } else { Err(Refusal::Duplicate) }
    }

    /// Appends all members as an object to their column; null if there are none.
    pub fn end(&self, column: &mut Column) {
        match &mut column.data {
            Data::Json(bytes) if !self.text.is_empty() => {
                bytes.data.push(b'{');
                bytes.data.extend_from_slice(&self.text);
                bytes.data.push(b'}');
                bytes.end();
                column.pushed();
            }
            _ => {
                column.push_null();
            }
        }
    }
}

/// A text (UTF-8) in quotes.
pub fn quoted(text: &[u8]) -> Vec<u8> {
    let mut quoted = Vec::new();
    quote(text, &mut quoted);
    quoted
}

/// Appends a text (UTF-8) in quotes.
pub fn quote(text: &[u8], target: &mut Vec<u8>) {
    match std::str::from_utf8(text) {
        Ok(text) => serde_json::to_writer(target, text).expect("a vector takes all bytes"),
        Err(_) => quote(String::from_utf8_lossy(text).as_bytes(), target),
    }
}

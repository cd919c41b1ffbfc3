//! JSON texts put right before they are read once more: what is no UTF-8 replaced, names that are several times left out.
//!
//! Only texts that were refused get here, and only where the manifest asks for it.

use std::borrow::Cow;
use std::collections::HashMap;

use super::super::adjusted::Adjustments;
use super::super::column::{Column, Data};
use super::super::faults::Duplicates;
use super::super::nested::{MapColumn, StructColumn};
use super::super::reason::{Refusal, Step};
use super::reader::Reader;

const REPLACEMENT: &[u8] = b"\\ufffd";

/// A text in which U+FFFD stands for what is no UTF-8, as the Unicode standard recommends (one for each maximal subpart), and
/// `\ufffd` for each escape that is half of a surrogate pair.
pub fn in_utf8(text: &[u8]) -> Cow<'_, [u8]> {
    let whole = match String::from_utf8_lossy(text) {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(whole) => Cow::Owned(whole.into_bytes()),
    };
    match without_halves(&whole) {
        Some(found) => Cow::Owned(found),
        None => whole,
    }
}

/// None: there are none.
fn without_halves(text: &[u8]) -> Option<Vec<u8>> {
    let mut found: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(escape) = text[at..].iter().position(|byte| *byte == b'\\').map(|distance| at + distance) {
        at = match unit(&text[escape..]) {
            Some(0xd800..=0xdbff) if matches!(unit(&text[escape + 6..]), Some(0xdc00..=0xdfff)) => escape + 12,
            Some(0xd800..=0xdfff) => {
                found.get_or_insert_with(|| text.to_vec())[escape..escape + 6].copy_from_slice(REPLACEMENT);
                escape + 6
            }
            _ => text.len().min(escape + 2),
        };
    }
    found
}

/// What a `\u` and four digits stand for, if that is what comes first.
fn unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.first_chunk::<4>()?;
    digits.iter().try_fold(0, |code, digit| Some(code * 16 + char::from(*digit).to_digit(16)?))
}

/// Leaves out all but the first or the last value of names that are several times in a struct, or a map.
pub struct Deduplication<'a, 's> {
    reader: Reader<'a>,
    which: Duplicates,
    /// Whether unknown fields are kept, so that their names count, too.
    keeps_unknown: bool,
    target: Vec<u8>,
    space: &'s mut Vec<u8>,
    adjustments: &'s mut Adjustments,
}

/// An object of which names count.
enum Object<'c> {
    Struct(&'c StructColumn),
    Map(&'c MapColumn),
}

struct Member {
    /// Its escapes resolved.
    name: Vec<u8>,
    /// Name and value as they are in the target.
    text: std::ops::Range<usize>,
    /// Values in it that were adjusted.
    adjusted: Vec<i32>,
}

impl<'a, 's> Deduplication<'a, 's> {
    /// Of a text in UTF-8.
    pub fn new(
        text: &'a [u8],
        which: Duplicates,
        keeps_unknown: bool,
        space: &'s mut Vec<u8>,
        adjustments: &'s mut Adjustments,
    ) -> Self {
        Self { reader: Reader::new(text), which, keeps_unknown, target: Vec::new(), space, adjustments }
    }

    /// The text, none if no name is twice. An error if it is not one JSON object.
    pub fn text(mut self, columns: &StructColumn) -> Result<Option<Vec<u8>>, Refusal> {
        let before = self.adjustments.count();
        if self.reader.peek() != Some(b'{') {
            return Err(Refusal::NotAnObject);
        }
        self.object(&Object::Struct(columns))?;
        self.reader.end()?;
        Ok((self.adjustments.count() > before).then_some(self.target))
    }

    fn value(&mut self, column: &Column) -> Result<(), Refusal> {
        match (&column.data, self.reader.peek()) {
            (Data::Struct(columns), Some(b'{')) => self.object(&Object::Struct(columns)),
            (Data::Map(map), Some(b'{')) => self.object(&Object::Map(map)),
            (Data::List(list), Some(b'[')) => {
                self.target.push(b'[');
                self.adjustments.enter(Step::Item);
                let mut more = self.reader.open(b']')?;
                while more {
                    self.value(&list.items)?;
                    more = self.reader.more(b']')?;
                    self.target.extend_from_slice(if more { b"," } else { b"" });
                }
                self.adjustments.leave();
                self.target.push(b']');
                Ok(())
            }
            _ => {
                self.target.extend_from_slice(self.reader.raw()?);
                Ok(())
            }
        }
    }

    fn object(&mut self, object: &Object<'_>) -> Result<(), Refusal> {
        let begin = self.target.len();
        let mut members = Vec::new();
        let mut more = self.reader.open(b'}')?;
        while more {
            members.push(self.member(object)?);
            more = self.reader.more(b'}')?;
        }
        let is_kept = self.judged(object, &members);
        let texts = self.target.split_off(begin);
        let mut sign = b'{';
        for (member, is_kept) in members.into_iter().zip(is_kept) {
            if is_kept {
                self.target.push(sign);
                self.target.extend_from_slice(&texts[member.text.start - begin..member.text.end - begin]);
                self.adjustments.put_back(member.adjusted);
                sign = b',';
            }
        }
        self.target.extend_from_slice(if sign == b'{' { b"{}" } else { b"}" });
        Ok(())
    }

    fn member(&mut self, object: &Object<'_>) -> Result<Member, Refusal> {
        let (begin, adjusted) = (self.target.len(), self.adjustments.count());
        self.reader.peek();
        let before = self.reader.position();
        let name = self.reader.text(self.space)?.to_vec();
        self.target.extend_from_slice(self.reader.since(before));
        self.reader.colon()?;
        self.target.push(b':');
        match object.find(&name) {
            Some((step, column)) => {
                self.adjustments.enter(step);
                self.value(column)?;
                self.adjustments.leave();
            }
            None => self.target.extend_from_slice(self.reader.raw()?),
        }
        Ok(Member { name, text: begin..self.target.len(), adjusted: self.adjustments.take_from(adjusted) })
    }

    /// Says which members stay, and notes why the others do not.
    fn judged(&mut self, object: &Object<'_>, members: &[Member]) -> Vec<bool> {
        let mut is_kept = vec![true; members.len()];
        let mut seen: HashMap<&[u8], usize> = HashMap::new();
        for (place, member) in members.iter().enumerate() {
            let found = object.find(&member.name);
            if found.is_none() && !self.keeps_unknown {
                continue;
            }
            let Some(before) = seen.insert(&member.name, place) else { continue };
            let is_first = self.which == Duplicates::First;
            if is_first {
                seen.insert(&member.name, before);
            }
            is_kept[if is_first { place } else { before }] = false;
            self.adjustments.add_at(found.map(|(step, _)| step), Refusal::Duplicate);
        }
        is_kept
    }
}

impl<'c> Object<'c> {
    /// The column of a member, unless nothing knows it.
    fn find(&self, name: &[u8]) -> Option<(Step, &'c Column)> {
        match self {
            Self::Struct(columns) => columns.find(name).map(|index| (Step::Field(index), &columns.children[index])),
            Self::Map(map) => Some((Step::Entry, &*map.values)),
        }
    }
}

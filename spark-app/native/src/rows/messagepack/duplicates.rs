//! Leaves out all but the first or the last value of names that are several times in a struct, or a map.
//!
//! Only values that were refused get here, and only where the manifest asks for it; as [`super::super::json`] for JSON.

use std::collections::HashMap;
use std::ops::Range;

use super::super::adjusted::Adjustments;
use super::super::column::{Column, Data};
use super::super::faults::Duplicates;
use super::super::nested::{MapColumn, StructColumn};
use super::super::reason::{Refusal, Step};
use super::input::{Input, Token};
use super::json;

pub struct Deduplication<'a, 's> {
    pub input: Input<'a>,
    pub which: Duplicates,
    /// Whether unknown fields are kept, so that their names count, too.
    pub keeps_unknown: bool,
    /// Whether keys that are no UTF-8 count as what they become.
    pub replaces_invalid: bool,
    pub target: Vec<u8>,
    pub adjustments: &'s mut Adjustments,
}

/// A map of which names count.
enum Names<'c> {
    Struct(&'c StructColumn),
    Map(&'c MapColumn),
}

struct Member<'c> {
    /// None: it does not count.
    name: Option<Vec<u8>>,
    column: Option<(Step, &'c Column)>,
    /// Name and value as they are in the target.
    bytes: Range<usize>,
    /// Values in it that were adjusted.
    adjusted: Vec<i32>,
}

impl Deduplication<'_, '_> {
    /// The value, none if no name is twice. An error if it is not one map.
    pub fn value(mut self, columns: &StructColumn) -> Result<Option<Vec<u8>>, Refusal> {
        let before = self.adjustments.count();
        let Token::Map(entries) = self.input.token()? else { return Err(Refusal::NotAnObject) };
        self.map(entries, &Names::Struct(columns))?;
        self.input.end()?;
        Ok((self.adjustments.count() > before).then_some(self.target))
    }

    fn inner(&mut self, column: &Column) -> Result<(), Refusal> {
        let before = self.input;
        match (&column.data, self.input.token()?) {
            (Data::Struct(columns), Token::Map(entries)) => self.map(entries, &Names::Struct(columns)),
            (Data::Map(map), Token::Map(entries)) => self.map(entries, &Names::Map(map)),
            (Data::List(list), Token::Array(items)) => {
                self.input.open()?;
                self.target.push(0xdd);
                self.target.extend_from_slice(&items.to_be_bytes());
                self.adjustments.enter(Step::Item);
                for _ in 0..items {
                    self.inner(&list.items)?;
                }
                self.adjustments.leave();
                self.input.close();
                Ok(())
            }
            (_, token) => {
                self.input.skip_rest(token)?;
                self.target.extend_from_slice(self.input.since(&before));
                Ok(())
            }
        }
    }

    fn map(&mut self, entries: u32, names: &Names<'_>) -> Result<(), Refusal> {
        self.input.open()?;
        let begin = self.target.len();
        let mut members = Vec::new();
        for _ in 0..entries {
            members.push(self.member(names)?);
        }
        self.input.close();
        let is_kept = self.judged(&members);
        let bytes = self.target.split_off(begin);
        self.target.push(0xdf);
        let kept = is_kept.iter().filter(|is_kept| **is_kept).count() as u32;
        self.target.extend_from_slice(&kept.to_be_bytes());
        for (member, is_kept) in members.into_iter().zip(is_kept) {
            if is_kept {
                self.target.extend_from_slice(&bytes[member.bytes.start - begin..member.bytes.end - begin]);
                self.adjustments.put_back(member.adjusted);
            }
        }
        Ok(())
    }

    fn member<'c>(&mut self, names: &Names<'c>) -> Result<Member<'c>, Refusal> {
        let (begin, adjusted, before) = (self.target.len(), self.adjustments.count(), self.input);
        let token = self.input.token()?;
        self.input.skip_rest(token)?;
        let column = names.find(token);
        let name = match (names, token) {
            (Names::Map(_), Token::Text(key)) if self.replaces_invalid => {
                Some(String::from_utf8_lossy(key).into_owned().into_bytes())
            }
            (Names::Map(_), Token::Text(key)) => Some(key.to_vec()),
            // Not in quotes: a field and what is unknown are never the same name, whatever that becomes as text.
            (Names::Struct(_), Token::Text(name)) if column.is_some() => Some(name.to_vec()),
            (Names::Struct(_), _) if self.keeps_unknown => Some(json::key(&mut { before })?),
            _ => None,
        };
        self.target.extend_from_slice(self.input.since(&before));
        if let Some((step, column)) = column {
            self.adjustments.enter(step);
            self.inner(column)?;
            self.adjustments.leave();
        } else {
            let before = self.input;
            self.input.skip()?;
            self.target.extend_from_slice(self.input.since(&before));
        }
        let adjusted = self.adjustments.take_from(adjusted);
        Ok(Member { name, column, bytes: begin..self.target.len(), adjusted })
    }

    /// Says which members stay, and notes why the others do not.
    fn judged(&mut self, members: &[Member<'_>]) -> Vec<bool> {
        let mut is_kept = vec![true; members.len()];
        let mut seen: HashMap<&[u8], usize> = HashMap::new();
        for (place, member) in members.iter().enumerate() {
            let Some(name) = &member.name else { continue };
            let Some(before) = seen.insert(name, place) else { continue };
            let is_first = self.which == Duplicates::First;
            if is_first {
                seen.insert(name, before);
            }
            is_kept[if is_first { place } else { before }] = false;
            self.adjustments.add_at(member.column.map(|(step, _)| step), Refusal::Duplicate);
        }
        is_kept
    }
}

impl<'c> Names<'c> {
    /// The column of a value with this name, unless nothing knows it.
    fn find(&self, name: Token<'_>) -> Option<(Step, &'c Column)> {
        match (self, name) {
            (Self::Struct(columns), Token::Text(name)) => {
                columns.find(name).map(|index| (Step::Field(index), &columns.children[index]))
            }
            (Self::Map(map), Token::Text(_)) => Some((Step::Entry, &*map.values)),
            _ => None,
        }
    }
}

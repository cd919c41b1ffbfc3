//! Levels of nested columns: how much of the way to a value is there, and in which list it goes on.
//!
//! Source: "Dremel made simple with Parquet" and the specification's "Nested Encoding".

use std::ops::Range;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};

/// One level for each slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Levels {
    /// The same for all.
    Same(u8),
    Each(Vec<u8>),
}

impl Levels {
    #[inline]
    fn of(&self, slot: usize) -> u8 {
        match self {
            Self::Same(level) => *level,
            Self::Each(levels) => levels[slot],
        }
    }

    fn to_vec(&self, slots: usize) -> Vec<u8> {
        match self {
            Self::Same(level) => vec![*level; slots],
            Self::Each(levels) => levels.clone(),
        }
    }
}

/// The slots of some rows in a column or in a group of columns: values, and what stands for those that are not there.
#[derive(Debug, Clone)]
pub struct Slots {
    pub count: usize,
    pub definition: Levels,
    pub repetition: Levels,
    /// Where the values of slots that have one are in the array, ascending.
    pub present: Vec<Range<usize>>,
    /// The definition level of those slots.
    full: u8,
    /// The repetition level of items that do not begin the innermost list.
    inner: u8,
}

impl Slots {
    pub fn of_rows(rows: Range<usize>) -> Self {
        let levels = Levels::Same(0);
        let (definition, repetition) = (levels.clone(), levels);
        Self { count: rows.len(), definition, repetition, present: vec![rows], full: 0, inner: 0 }
    }

    /// The slots of a field that may be null.
    fn optional(&self, nulls: Option<&NullBuffer>) -> Self {
        let full = self.full + 1;
        let nulls = nulls.filter(|nulls| self.present.iter().any(|range| has_null(nulls, range)));
        let mut present = self.present.clone();
        let definition = match (nulls, &self.definition) {
            (None, Levels::Same(level)) => Levels::Same(level + u8::from(*level == self.full)),
            (None, Levels::Each(levels)) => {
                Levels::Each(levels.iter().map(|level| level + u8::from(*level == self.full)).collect())
            }
            (Some(nulls), levels) => {
                let mut levels = levels.to_vec(self.count);
                let slots = levels.iter_mut().filter(|level| **level == self.full);
                present.clear();
                for (level, at) in slots.zip(self.present.iter().cloned().flatten()) {
                    if nulls.is_valid(at) {
                        *level = full;
                        append(&mut present, at..at + 1);
                    }
                }
                Levels::Each(levels)
            }
        };
        Self { count: self.count, definition, repetition: self.repetition.clone(), present, full, inner: self.inner }
    }

    /// The slots of the items of lists, of which list `i` ends before item `ends[i + 1]`.
    fn repeated(&self, ends: &[i32]) -> Self {
        let (full, inner) = (self.full + 1, self.inner + 1);
        let items = self.present.iter().map(|range| (ends[range.end] - ends[range.start]) as usize).sum::<usize>();
        let mut definition = Vec::with_capacity(self.count + items);
        let mut repetition = Vec::with_capacity(self.count + items);
        let mut present = Vec::with_capacity(1);
        let mut lists = self.present.iter().cloned().flatten();
        for slot in 0..self.count {
            let level = self.definition.of(slot);
            let list = if level == self.full { lists.next() } else { None };
            let items = list.map_or(0..0, |list| ends[list] as usize..ends[list + 1] as usize);
            repetition.push(self.repetition.of(slot));
            if items.is_empty() {
                definition.push(level);
                continue;
            }
            definition.extend(std::iter::repeat_n(full, items.len()));
            repetition.extend(std::iter::repeat_n(inner, items.len() - 1));
            append(&mut present, items);
        }
        let count = definition.len();
        let (definition, repetition) = (Levels::Each(definition), Levels::Each(repetition));
        Self { count, definition, repetition, present, full, inner }
    }

    /// Slots without a value.
    pub fn nulls(&self) -> usize {
        self.count - self.present.iter().map(Range::len).sum::<usize>()
    }
}

/// Calls `each` with the slots and the array of every column of a field, in the order of the schema.
///
/// An error says which field is null and may not be.
pub fn columns(
    field: &Field,
    array: &dyn Array,
    slots: &Slots,
    each: &mut impl FnMut(&Slots, &dyn Array) -> Result<(), String>,
) -> Result<(), String> {
    let optional;
    let slots = if field.is_nullable() {
        optional = slots.optional(array.nulls());
        &optional
    } else if array.nulls().is_some_and(|nulls| slots.present.iter().any(|range| has_null(nulls, range))) {
        return Err(format!("{} is null and may not be", field.name()));
    } else {
        slots
    };
    match field.data_type() {
        DataType::Struct(fields) => {
            let children = array.as_struct_opt().map(|array| array.columns()).unwrap_or_default();
            if children.len() != fields.len() {
                return Err(other_type(field, array));
            }
            fields.iter().zip(children).try_for_each(|(field, child)| columns(field, child, slots, each))
        }
        DataType::List(item) => {
            let list = array.as_list_opt::<i32>().ok_or_else(|| other_type(field, array))?;
            columns(item, list.values(), &slots.repeated(list.value_offsets()), each)
        }
        DataType::Map(entries, _) => {
            let map = array.as_map_opt().ok_or_else(|| other_type(field, array))?;
            columns(entries, map.entries(), &slots.repeated(map.value_offsets()), each)
        }
        _ => each(slots, array),
    }
}

pub fn other_type(field: &Field, array: &dyn Array) -> String {
    format!("{} is of the type {} instead of {}", field.name(), array.data_type(), field.data_type())
}

fn has_null(nulls: &NullBuffer, range: &Range<usize>) -> bool {
    nulls.null_count() > 0 && nulls.slice(range.start, range.len()).null_count() > 0
}

fn append(ranges: &mut Vec<Range<usize>>, range: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range),
    }
}

//! Columns of structs, lists and maps.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, SchemaRef};

use super::column::{Bytes, Column, Ends, Filled};

/// Up to so many entries of a map are compared with each other; more are sorted.
const FEW_ENTRIES: usize = 8;

/// A column for each field.
pub struct StructColumn {
    pub children: Vec<Column>,
    names: Vec<Name>,
    /// The same, those that have to be escaped, too.
    quoted: Vec<Name>,
    positions: HashMap<Box<[u8]>, usize, BuildHasherDefault<NameHasher>>,
}

/// A name as most writers write it, quotes included; empty when it has to be escaped.
type Name = Box<[u8]>;

impl StructColumn {
    pub fn new(fields: &Fields, children: Vec<Column>) -> Self {
        Self {
            children,
            names: fields.iter().map(|field| unescaped(field.name())).collect(),
            quoted: fields.iter().map(|field| quoted(field.name())).collect(),
            positions: fields.iter().map(|field| field.name().as_bytes().into()).zip(0..).collect(),
        }
    }

    /// The name that comes at this position, with its quotes: fields mostly come in the order of the schema.
    #[inline]
    pub fn expected(&self, position: usize) -> Option<&[u8]> {
        self.names.get(position).map(|name| &**name).filter(|name| !name.is_empty())
    }

    /// The name of the field at a position, in quotes as JSON has it.
    pub fn quoted(&self, position: usize) -> &[u8] {
        self.quoted.get(position).map(|name| &**name).unwrap_or_default()
    }

    /// From now on the last field is found under no name.
    pub fn hide_last(&mut self) {
        if self.names.len() == self.children.len() {
            let last = self.names.len() - 1;
            self.names.truncate(last);
            self.positions.retain(|_, position| *position < last);
        }
    }

    /// Says whether the field at a position has this name; false, too, for names that JSON has to escape.
    #[inline]
    pub fn is_named(&self, position: usize, name: &[u8]) -> bool {
        matches!(self.names.get(position).map(|name| &**name), Some([_, own @ .., _]) if own == name)
    }

    /// The position of the field with this name.
    pub fn find(&self, name: &[u8]) -> Option<usize> {
        self.positions.get(name).copied()
    }

    pub fn finish(self, nulls: Option<NullBuffer>, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
        let fields = fields_of(data_type)?;
        Ok(Arc::new(StructArray::try_new(fields.clone(), arrays(self.children, fields)?, nulls)?))
    }

    /// The same as a batch of so many rows.
    pub fn into_batch(self, schema: &SchemaRef, rows: usize) -> Result<RecordBatch, ArrowError> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(schema.clone(), arrays(self.children, schema.fields())?, &options)
    }
}

impl Filled for StructColumn {
    fn push_default(&mut self) {
        self.children.iter_mut().for_each(Column::push_absent);
    }

    fn truncate(&mut self, length: usize) {
        self.children.iter_mut().for_each(|child| child.truncate(length));
    }
}

fn arrays(children: Vec<Column>, fields: &Fields) -> Result<Vec<ArrayRef>, ArrowError> {
    children.into_iter().zip(fields).map(|(child, field)| child.finish(field.data_type())).collect()
}

fn quoted(name: &str) -> Name {
    serde_json::to_vec(name).expect("a vector takes all bytes, and text is JSON").into()
}

/// The same, or nothing for a name that is escaped there.
fn unescaped(name: &str) -> Name {
    let found = quoted(name);
    if found.len() == name.len() + 2 { found } else { Name::default() }
}

/// FNV-1a. Only names of the schema are put in, so nobody can make them collide.
#[derive(Default)]
struct NameHasher(u64);

impl Hasher for NameHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Lists, their items in a column.
pub struct ListColumn {
    pub items: Box<Column>,
    /// Bytes that any item takes.
    pub width: usize,
    ends: Ends,
}

impl ListColumn {
    pub fn new(items: Column, width: usize) -> Self {
        Self { items: Box::new(items), width, ends: Ends::with_capacity(0) }
    }

    /// What was appended to the items since the last call is a list.
    #[inline]
    pub fn end(&mut self) {
        self.ends.push(self.items.len());
    }

    pub fn finish(self, nulls: Option<NullBuffer>, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
        let DataType::List(item) = data_type else { return Err(other_type(data_type)) };
        let items = self.items.finish(item.data_type())?;
        Ok(Arc::new(ListArray::try_new(item.clone(), self.ends.finish(), items, nulls)?))
    }
}

impl Filled for ListColumn {
    fn push_default(&mut self) {
        self.end();
    }

    fn truncate(&mut self, length: usize) {
        self.ends.truncate(length);
        self.items.truncate(self.ends.last());
    }
}

/// Maps of strings, their entries in two columns.
pub struct MapColumn {
    pub keys: Bytes,
    pub values: Box<Column>,
    /// Bytes that any value takes.
    pub width: usize,
    ends: Ends,
    /// Entries of one map, sorted; kept for its memory.
    sorted: Vec<usize>,
}

impl MapColumn {
    pub fn new(values: Column, width: usize) -> Self {
        let (keys, ends) = (Bytes::with_capacity(0), Ends::with_capacity(0));
        Self { keys, values: Box::new(values), width, ends, sorted: Vec::new() }
    }

    /// Says whether a key is twice among the entries since the last call of [`MapColumn::end`].
    pub fn has_duplicates(&mut self) -> bool {
        let (begin, end) = (self.ends.last(), self.keys.len());
        if end - begin <= FEW_ENTRIES {
            let known = |index: usize| (begin..index).any(|before| self.keys.value(before) == self.keys.value(index));
            return (begin..end).any(known);
        }
        self.sorted.clear();
        self.sorted.extend(begin..end);
        self.sorted.sort_unstable_by_key(|index| self.keys.value(*index));
        self.sorted.windows(2).any(|pair| self.keys.value(pair[0]) == self.keys.value(pair[1]))
    }

    /// What was appended to the keys and the values since the last call is a map.
    #[inline]
    pub fn end(&mut self) {
        self.ends.push(self.keys.len());
    }

    pub fn finish(self, nulls: Option<NullBuffer>, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
        let DataType::Map(entries, sorted) = data_type else { return Err(other_type(data_type)) };
        let (fields, _, value) = entry_fields(entries)?;
        let arrays: Vec<ArrayRef> = vec![Arc::new(self.keys.strings(None)?), self.values.finish(value.data_type())?];
        let pairs = StructArray::try_new(fields.clone(), arrays, None)?;
        Ok(Arc::new(MapArray::try_new(entries.clone(), self.ends.finish(), pairs, nulls, *sorted)?))
    }
}

impl Filled for MapColumn {
    fn push_default(&mut self) {
        self.end();
    }

    fn truncate(&mut self, length: usize) {
        self.ends.truncate(length);
        self.keys.truncate(self.ends.last());
        self.values.truncate(self.ends.last());
    }
}

fn fields_of(data_type: &DataType) -> Result<&Fields, ArrowError> {
    match data_type {
        DataType::Struct(fields) => Ok(fields),
        other => Err(other_type(other)),
    }
}

/// The fields of a map's entries: all, that of the keys, that of the values.
pub fn entry_fields(entries: &FieldRef) -> Result<(&Fields, &FieldRef, &FieldRef), ArrowError> {
    let fields = fields_of(entries.data_type())?;
    match &fields[..] {
        [key, value] => Ok((fields, key, value)),
        _ => Err(other_type(entries.data_type())),
    }
}

fn other_type(data_type: &DataType) -> ArrowError {
    ArrowError::SchemaError(format!("a column is not of the type {data_type}"))
}

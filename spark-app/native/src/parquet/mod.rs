//! Rows to files of Apache Parquet, for format `parquet`; docs/formats.md says what is in them, docs/design/parquet.md why
//! this is written here.
//!
//! Pages are compressed as soon as they are full, so that of a row group only what will be stored waits in memory. When
//! files become others than before for the same rows, raise [`CREATED_BY`] and `RULES` in `formats/parquet/write.py`.

mod bloom;
mod bounds;
mod chunk;
mod cuts;
mod dictionary;
mod footer;
mod hybrid;
mod levels;
mod pages;
mod schema;
mod thrift;
mod values;

use std::collections::HashMap;
use std::ops::Range;

use arrow_array::{Array, RecordBatch};
use arrow_schema::SchemaRef;

use chunk::{Chunk, Settings};
use cuts::Cuts;
use footer::{Column, Group, Sorting};
use levels::Slots;
pub use pages::Compression;
use schema::Tree;

/// Who wrote a file, as its footer says.
pub const CREATED_BY: &str = "logpersister version 1.0.0";

const MAGIC: &[u8] = b"PAR1";

/// What files are written with.
#[derive(Debug, Clone)]
pub struct Options {
    pub compression: Compression,
    /// Keys and values that make a row group.
    pub row_group_bytes: usize,
    pub page_bytes: usize,
    pub page_index: bool,
    /// Dotted names of columns without a dictionary, or of groups of them.
    pub without_dictionary: Vec<String>,
    /// Dotted names of columns, and for how many different values of a row group their filters are.
    pub bloom_filters: HashMap<String, usize>,
    /// By what rows are sorted that are written together, the first first; then they are a row group. Empty: by nothing.
    pub sorted_by: Vec<SortedBy>,
}

/// A column by which the rows of each row group are sorted, as the footer tells readers.
#[derive(Debug, Clone)]
pub struct SortedBy {
    /// Its dotted name.
    pub column: String,
    pub descending: bool,
    pub nulls_first: bool,
}

/// One file.
pub struct ParquetWriter {
    schema: SchemaRef,
    tree: Tree,
    chunks: Vec<Box<dyn Chunk>>,
    compression: Compression,
    cuts: Cuts,
    sorting: Vec<Sorting>,
    groups: Vec<Group>,
    rows_of_group: usize,
    /// Bytes written so far.
    position: usize,
}

/// Bytes of a file that stand one after the other.
pub type Pieces = Vec<Vec<u8>>;

impl ParquetWriter {
    /// An error names a field that cannot be written.
    pub fn new(schema: SchemaRef, options: &Options) -> Result<Self, String> {
        let tree = Tree::new(schema.fields())?;
        let chunks = tree.leaves.iter().map(|leaf| leaf.chunk(options.of(leaf))).collect();
        let sorting: Vec<_> = options.sorted_by.iter().map(|by| Sorting::new(by, &tree)).collect::<Result<_, _>>()?;
        let group_bytes = if sorting.is_empty() { options.row_group_bytes } else { usize::MAX };
        let cuts = Cuts::new(group_bytes, options.page_bytes);
        let compression = options.compression;
        Ok(Self { schema, tree, chunks, compression, cuts, sorting, groups: Vec::new(), rows_of_group: 0, position: 0 })
    }

    /// Takes in rows, whose columns are those of the schema in its order, and of which each counts as so many bytes of a row
    /// group; returns what of the file is ready. Where rows are sorted, those of one call are a row group, and at most
    /// 1,048,576. An error says which column is another one; then nothing more can be written.
    pub fn write(&mut self, rows: &RecordBatch, sizes: &[i64]) -> Result<Pieces, String> {
        if rows.num_rows() != sizes.len() || rows.num_columns() != self.schema.fields().len() {
            return Err(format!(
                "{} rows of {} columns, and {} sizes",
                rows.num_rows(),
                rows.num_columns(),
                sizes.len()
            ));
        }
        for (field, column) in self.schema.fields().iter().zip(rows.columns()) {
            if !column.data_type().equals_datatype(field.data_type()) {
                return Err(levels::other_type(field, column));
            }
        }
        let mut pieces = self.begin();
        let mut row = 0;
        while row < sizes.len() {
            let cut = self.cuts.next(&sizes[row..]);
            self.append(rows, row..row + cut.rows)?;
            row += cut.rows;
            if cut.ends_stripe {
                self.chunks.iter_mut().try_for_each(|chunk| chunk.settle())?;
            }
            if cut.ends_group {
                self.end_group(&mut pieces)?;
            }
        }
        if !self.sorting.is_empty() && self.cuts.end_group() {
            self.end_group(&mut pieces)?;
        }
        Ok(pieces)
    }

    /// Returns the rest of the file. Nothing may be written afterwards.
    pub fn finish(&mut self) -> Result<Pieces, String> {
        let mut pieces = self.begin();
        if self.cuts.end_group() {
            self.end_group(&mut pieces)?;
        }
        let footer = footer::write(&self.tree, &self.sorting, &mut self.groups, self.position);
        self.position += footer.len();
        pieces.push(footer);
        Ok(pieces)
    }

    fn begin(&mut self) -> Pieces {
        if self.position > 0 {
            return Vec::new();
        }
        self.position = MAGIC.len();
        vec![MAGIC.to_vec()]
    }

    fn append(&mut self, rows: &RecordBatch, range: Range<usize>) -> Result<(), String> {
        let count = range.len();
        self.rows_of_group += count;
        let slots = Slots::of_rows(range);
        let mut chunks = self.chunks.iter_mut();
        for (field, column) in self.schema.fields().iter().zip(rows.columns()) {
            levels::columns(field, column, &slots, &mut |slots, array: &dyn Array| {
                let is_taken = chunks.next().is_some_and(|chunk| chunk.append(slots, array, count));
                if is_taken { Ok(()) } else { Err(levels::other_type(field, array)) }
            })?;
        }
        Ok(())
    }

    fn end_group(&mut self, pieces: &mut Pieces) -> Result<(), String> {
        let mut group =
            Group { rows: std::mem::take(&mut self.rows_of_group), begin: self.position, columns: Vec::new() };
        let mut filters = Vec::new();
        for (chunk, leaf) in self.chunks.iter_mut().zip(&self.tree.leaves) {
            let mut written = chunk.finish()?;
            filters.push(written.filter.take());
            let column = Column::place(leaf, self.compression, written, self.position, pieces);
            self.position += column.bytes();
            group.columns.push(column);
        }
        for (column, filter) in group.columns.iter_mut().zip(filters) {
            if let Some(filter) = filter {
                let bytes = filter.bytes();
                let length = bytes.len();
                column.place_filter(bytes, self.position, pieces);
                self.position += length;
            }
        }
        self.groups.push(group);
        Ok(())
    }
}

impl Options {
    fn of(&self, leaf: &schema::Leaf) -> Settings {
        let path = leaf.dotted();
        let is_below =
            |around: &String| path.strip_prefix(&**around).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        Settings {
            compression: self.compression,
            page_bytes: self.page_bytes,
            page_index: self.page_index,
            dictionary: !self.without_dictionary.iter().any(is_below),
            bloom_filter: self.bloom_filters.get(&path).copied(),
            definition: leaf.definition,
            repetition: leaf.repetition,
        }
    }
}

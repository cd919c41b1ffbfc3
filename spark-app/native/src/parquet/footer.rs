//! The end of a file: where its pages are, and what they hold.
//!
//! Source: `parquet.thrift` of Apache Parquet (`FileMetaData`, `ColumnIndex`, `OffsetIndex`).

use super::chunk::{Facts, Written};
use super::pages::{Compression, Encoding};
use super::schema::{Leaf, Physical, Tree};
use super::thrift::{self, Fields};
use super::{CREATED_BY, MAGIC, Pieces, SortedBy};

/// Of the format: with logical types and dictionaries of today.
const FORMAT_VERSION: i32 = 2;
/// Types of pages.
const DATA_PAGE: i32 = 0;
const DICTIONARY_PAGE: i32 = 2;

/// Least and greatest value.
type Ends = (Vec<u8>, Vec<u8>);

/// A part of the file.
#[derive(Debug, Clone, Copy)]
struct Span {
    begin: usize,
    length: usize,
}

/// A row group of a file.
#[derive(Debug)]
pub struct Group {
    pub rows: usize,
    pub begin: usize,
    pub columns: Vec<Column>,
}

/// A column of a row group.
#[derive(Debug)]
pub struct Column {
    path: Vec<String>,
    physical: Physical,
    compression: Compression,
    slots: usize,
    nulls: usize,
    bounds: Option<Ends>,
    /// Its pages with their headers; without compression they would have other lengths.
    span: Span,
    uncompressed: usize,
    /// Of the dictionary, in bytes.
    dictionary: Option<usize>,
    /// Data pages that are places in the dictionary, and others.
    looked_up: usize,
    plain: usize,
    filter: Option<Span>,
    index: Option<Index>,
}

/// What is told of each page.
#[derive(Debug)]
struct Index {
    pages: Vec<(Span, Facts)>,
    ascending: bool,
    descending: bool,
    /// Where it stands in the file.
    bounds_span: Option<Span>,
    places_span: Option<Span>,
}

/// A column by which the rows of each row group are sorted.
#[derive(Debug)]
pub struct Sorting {
    /// Its place among the columns.
    column: usize,
    descending: bool,
    nulls_first: bool,
}

impl Sorting {
    /// An error names a column that there is not.
    pub fn new(by: &SortedBy, tree: &Tree) -> Result<Self, String> {
        let column = tree.leaves.iter().position(|leaf| leaf.dotted() == by.column);
        let column = column.ok_or_else(|| format!("{}: there is no such column to sort by", by.column))?;
        Ok(Self { column, descending: by.descending, nulls_first: by.nulls_first })
    }

    fn write(&self, fields: &mut Fields<'_>) {
        fields.count32(1, self.column);
        fields.boolean(2, self.descending);
        fields.boolean(3, self.nulls_first);
    }
}

impl Column {
    /// Puts the pages of a column behind the others of the file, which end at `begin`.
    pub fn place(leaf: &Leaf, compression: Compression, written: Written, begin: usize, pieces: &mut Pieces) -> Self {
        let dictionary = written.dictionary.as_ref().map(|page| page.bytes.len());
        let data = written.pages.iter().map(|(page, _)| page);
        let uncompressed = data.chain(&written.dictionary).map(|page| page.uncompressed).sum();
        let looked_up = written.pages.iter().filter(|(_, facts)| facts.encoding == Encoding::Dictionary).count();
        let plain = written.pages.len() - looked_up;
        let mut end = begin + dictionary.unwrap_or_default();
        pieces.extend(written.dictionary.map(|page| page.bytes));
        let mut pages = Vec::with_capacity(written.pages.len());
        for (page, facts) in written.pages {
            pages.push((Span { begin: end, length: page.bytes.len() }, facts));
            end += page.bytes.len();
            pieces.push(page.bytes);
        }
        let (ascending, descending) = (written.ascending, written.descending);
        let index = Index { pages, ascending, descending, bounds_span: None, places_span: None };
        Self {
            path: leaf.path.clone(),
            physical: leaf.physical,
            compression,
            slots: written.slots,
            nulls: written.nulls,
            bounds: written.bounds,
            span: Span { begin, length: end - begin },
            uncompressed,
            dictionary,
            looked_up,
            plain,
            filter: None,
            index: written.has_index.then_some(index),
        }
    }

    /// Puts the Bloom filter of a column behind its row group.
    pub fn place_filter(&mut self, bytes: Vec<u8>, begin: usize, pieces: &mut Pieces) {
        self.filter = Some(Span { begin, length: bytes.len() });
        pieces.push(bytes);
    }

    pub fn bytes(&self) -> usize {
        self.span.length
    }

    fn data_begin(&self) -> usize {
        self.span.begin + self.dictionary.unwrap_or_default()
    }

    fn write(&self, fields: &mut Fields<'_>) {
        // Deprecated; the metadata is in the footer alone.
        fields.integer64(2, 0);
        fields.structure(3, |fields| self.write_metadata(fields));
        let Some(index) = &self.index else { return };
        for (span, id) in [(index.places_span, 4), (index.bounds_span, 6)] {
            if let Some(span) = span {
                fields.count64(id, span.begin);
                fields.count32(id + 1, span.length);
            }
        }
    }

    fn write_metadata(&self, fields: &mut Fields<'_>) {
        fields.integer32(1, self.physical as i32);
        let mut encodings = vec![Encoding::Rle as i32];
        let mut counts = Vec::new();
        if self.dictionary.is_some() || self.plain > 0 {
            encodings.insert(0, Encoding::Plain as i32);
        }
        if self.dictionary.is_some() {
            encodings.push(Encoding::Dictionary as i32);
            counts.push((DICTIONARY_PAGE, Encoding::Plain, 1));
        }
        counts.push((DATA_PAGE, Encoding::Dictionary, self.looked_up));
        counts.push((DATA_PAGE, Encoding::Plain, self.plain));
        counts.retain(|(_, _, pages)| *pages > 0);
        fields.integers32(2, &encodings);
        fields.binaries(3, &self.path);
        fields.integer32(4, self.compression.number());
        fields.count64(5, self.slots);
        fields.count64(6, self.uncompressed);
        fields.count64(7, self.span.length);
        fields.count64(9, self.data_begin());
        if self.dictionary.is_some() {
            fields.count64(11, self.span.begin);
        }
        fields.structure(12, |fields| {
            fields.count64(3, self.nulls);
            if let Some((least, greatest)) = &self.bounds {
                fields.binary(5, greatest);
                fields.binary(6, least);
                fields.boolean(7, true);
                fields.boolean(8, true);
            }
        });
        fields.structures(13, &counts, |fields, (page, encoding, pages)| {
            fields.integer32(1, *page);
            fields.integer32(2, *encoding as i32);
            fields.count32(3, *pages);
        });
        if let Some(filter) = self.filter {
            fields.count64(14, filter.begin);
            fields.count32(15, filter.length);
        }
    }
}

impl Index {
    /// The bounds of all pages; None: those of a page with values are not known.
    fn bounds(&self) -> Option<Vec<u8>> {
        let facts = || self.pages.iter().map(|(_, facts)| facts);
        let empty: Vec<bool> = facts().map(|facts| facts.nulls == facts.slots).collect();
        if facts().zip(&empty).any(|(facts, is_empty)| !is_empty && facts.bounds.is_none()) {
            return None;
        }
        let (least, greatest): (Vec<_>, Vec<_>) = facts()
            .map(|facts| facts.bounds.as_ref().map_or((&[][..], &[][..]), |(least, greatest)| (least, greatest)))
            .unzip();
        let nulls: Vec<i64> = facts().map(|facts| facts.nulls as i64).collect();
        let order = if self.ascending { 1 } else { 2 * i32::from(self.descending) };
        let mut bytes = Vec::new();
        thrift::structure(&mut bytes, |fields| {
            fields.booleans(1, &empty);
            fields.binaries(2, &least);
            fields.binaries(3, &greatest);
            fields.integer32(4, order);
            fields.integers64(5, &nulls);
        });
        Some(bytes)
    }

    /// Where each page is.
    fn places(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut row = 0;
        thrift::structure(&mut bytes, |fields| {
            fields.structures(1, &self.pages, |fields, (span, facts)| {
                fields.count64(1, span.begin);
                fields.count32(2, span.length);
                fields.count64(3, row);
                row += facts.rows;
            });
        });
        bytes
    }
}

/// Returns what stands behind the last row group, which ends at `begin`.
pub fn write(tree: &Tree, sorting: &[Sorting], groups: &mut [Group], begin: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for index in indexes(groups) {
        index.bounds_span = index.bounds().map(|bounds| append(&mut bytes, &bounds, begin));
    }
    for index in indexes(groups) {
        index.places_span = Some(append(&mut bytes, &index.places(), begin));
    }
    let before = bytes.len();
    thrift::structure(&mut bytes, |fields| {
        fields.integer32(1, FORMAT_VERSION);
        tree.write(2, fields);
        fields.count64(3, groups.iter().map(|group| group.rows).sum());
        let numbered: Vec<_> = groups.iter().zip(0_usize..).collect();
        fields.structures(4, &numbered, |fields, (group, number)| group.write(fields, sorting, *number));
        fields.binary(6, CREATED_BY.as_bytes());
        // Each column has the order of its type.
        fields.structures(7, &tree.leaves, |fields, _| fields.structure(1, |_| ()));
    });
    let length = u32::try_from(bytes.len() - before).expect("row groups are some hundred kB each in the footer");
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(MAGIC);
    bytes
}

fn indexes(groups: &mut [Group]) -> impl Iterator<Item = &mut Index> {
    groups.iter_mut().flat_map(|group| &mut group.columns).filter_map(|column| column.index.as_mut())
}

fn append(bytes: &mut Vec<u8>, part: &[u8], begin: usize) -> Span {
    let span = Span { begin: begin + bytes.len(), length: part.len() };
    bytes.extend_from_slice(part);
    span
}

impl Group {
    fn write(&self, fields: &mut Fields<'_>, sorting: &[Sorting], number: usize) {
        fields.structures(1, &self.columns, |fields, column| column.write(fields));
        fields.count64(2, self.columns.iter().map(|column| column.uncompressed).sum());
        fields.count64(3, self.rows);
        if !sorting.is_empty() {
            fields.structures(4, sorting, |fields, by| by.write(fields));
        }
        fields.count64(5, self.begin);
        fields.count64(6, self.columns.iter().map(Column::bytes).sum());
        if let Ok(number) = i16::try_from(number) {
            fields.integer16(7, number);
        }
    }
}

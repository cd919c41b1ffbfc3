//! A column of a row group: values become pages while they come.

use std::ops::Range;

use arrow_array::Array;

use super::bloom::Filter;
use super::bounds::Bounds;
use super::dictionary::Dictionary;
use super::hybrid;
use super::levels::{Levels, Slots};
use super::pages::{Compression, Content, Encoding, Page, page};
use super::values::Kind;

/// Values after which it must have saved something: unique ones are not looked up for the whole row group.
const VALUES_ON_TRIAL: usize = 1 << 16;

/// What a column is written with.
#[derive(Debug, Clone)]
pub struct Settings {
    pub compression: Compression,
    pub page_bytes: usize,
    /// Whether each page has bounds of its own.
    pub page_index: bool,
    pub dictionary: bool,
    /// For how many different values there is a Bloom filter.
    pub bloom_filter: Option<usize>,
    /// Levels of a value that is there, and of an item of the innermost list that does not begin it.
    pub definition: u8,
    pub repetition: u8,
}

/// One column of a row group.
pub trait Chunk: Send {
    /// Takes in the slots of some rows. False: the array has another type.
    fn append(&mut self, slots: &Slots, array: &dyn Array, rows: usize) -> bool;

    /// Ends the page if it is large enough. What was appended before decides, not how often this is called between.
    fn settle(&mut self) -> Result<(), String>;

    /// Ends the last page, and begins anew with the next row group.
    fn finish(&mut self) -> Result<Written, String>;
}

/// The pages of a column of a row group, and what is known of them.
#[derive(Debug, Default)]
pub struct Written {
    pub dictionary: Option<Page>,
    pub pages: Vec<(Page, Facts)>,
    pub slots: usize,
    pub nulls: usize,
    pub bounds: Option<(Vec<u8>, Vec<u8>)>,
    pub filter: Option<Filter>,
    /// Whether the facts of pages are told.
    pub has_index: bool,
    /// Whether the bounds of pages with values ascend, or descend.
    pub ascending: bool,
    pub descending: bool,
}

/// What is known of a page.
#[derive(Debug, Clone)]
pub struct Facts {
    pub encoding: Encoding,
    pub rows: usize,
    pub slots: usize,
    pub nulls: usize,
    /// The least and the greatest value, where each page has them.
    pub bounds: Option<(Vec<u8>, Vec<u8>)>,
}

/// [`Chunk`] of values of one kind.
pub struct ValueChunk<K> {
    kind: K,
    settings: Settings,
    /// Whether values are places in the dictionary.
    looks_up: bool,
    on_trial: bool,
    dictionary: Dictionary,
    /// Of the page: places in the dictionary, or plain values.
    places: Vec<u32>,
    plain: Vec<u8>,
    definition: Vec<(u32, usize)>,
    repetition: Vec<(u32, usize)>,
    facts: Facts,
    bounds: Bounds,
    /// Of the row group: bytes of all values in the plain encoding, and how many.
    plain_bytes: usize,
    values: usize,
    filter: Option<Filter>,
    of_pages: Vec<Bounds>,
    written: Written,
}

impl<K: Kind> ValueChunk<K> {
    pub fn new(kind: K, settings: Settings) -> Self {
        let mut chunk = Self {
            kind,
            settings,
            looks_up: false,
            on_trial: false,
            dictionary: Dictionary::new(),
            places: Vec::new(),
            plain: Vec::new(),
            definition: Vec::new(),
            repetition: Vec::new(),
            facts: Facts { encoding: Encoding::Plain, rows: 0, slots: 0, nulls: 0, bounds: None },
            bounds: Bounds::default(),
            plain_bytes: 0,
            values: 0,
            filter: None,
            of_pages: Vec::new(),
            written: Written::default(),
        };
        chunk.begin();
        chunk
    }

    fn begin(&mut self) {
        self.looks_up = K::HAS_DICTIONARY && self.settings.dictionary;
        self.on_trial = self.looks_up;
        self.dictionary.clear();
        self.filter = self.settings.bloom_filter.map(Filter::new);
        self.of_pages.clear();
        (self.plain_bytes, self.values) = (0, 0);
    }

    /// Looks up values as long as they have places; the others are put as they are.
    fn look_up(&mut self, column: &K::Column, range: Range<usize>) {
        match self.dictionary.look_up(&self.kind, column, range.clone(), &mut self.places) {
            None => self.plain_bytes += self.kind.size(column, range),
            Some(first) => {
                self.plain_bytes += self.kind.size(column, range.start..first);
                self.give_up();
                self.put(column, first..range.end);
            }
        }
    }

    fn put(&mut self, column: &K::Column, range: Range<usize>) {
        self.plain_bytes += self.kind.size(column, range.clone());
        self.bounds.widen(&self.kind, range.clone().map(|at| self.kind.item(column, at)));
        self.kind.put_all(column, range.clone(), &mut self.plain);
        if let Some(filter) = &mut self.filter {
            filter_items(filter, &self.kind, range.map(|at| self.kind.item(column, at)));
        }
    }

    /// Whether dictionary and places take less than the values.
    fn saves(&self) -> bool {
        self.dictionary.bytes.len() + self.values * self.width() as usize / 8 < self.plain_bytes
    }

    /// Bits of a place.
    fn width(&self) -> u32 {
        hybrid::width(self.dictionary.len().saturating_sub(1) as u32).max(1)
    }

    /// Looks up no more values, and puts those of this page as they are.
    fn give_up(&mut self) {
        let items = self.places.iter().map(|place| self.dictionary.value(&self.kind, *place));
        self.bounds.widen(&self.kind, items.clone());
        items.for_each(|item| self.kind.put(item, &mut self.plain));
        if self.written.pages.is_empty() {
            self.filter_dictionary();
            self.dictionary.clear();
        }
        self.places.clear();
        self.looks_up = false;
    }

    fn filter_dictionary(&mut self) {
        if let Some(filter) = &mut self.filter {
            filter_items(filter, &self.kind, self.dictionary.values(&self.kind));
        }
    }

    fn page_bytes(&self) -> usize {
        if self.looks_up { self.places.len() * self.width() as usize / 8 } else { self.plain.len() }
    }

    fn end_page(&mut self) -> Result<(), String> {
        if self.facts.slots == 0 {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(self.page_bytes() + 64);
        levels(&mut self.repetition, self.settings.repetition, &mut bytes);
        levels(&mut self.definition, self.settings.definition, &mut bytes);
        self.facts.encoding = if self.looks_up { Encoding::Dictionary } else { Encoding::Plain };
        if self.looks_up {
            let width = self.width();
            bytes.push(width as u8);
            hybrid::encode(width, hybrid::runs(&self.places), &mut bytes);
            if self.settings.page_index {
                let items = self.places.iter().map(|place| self.dictionary.value(&self.kind, *place));
                self.bounds.widen(&self.kind, items);
            }
        } else if K::IS_BITS {
            let bits = self.plain.chunks(8).map(|bits| bits.iter().rev().fold(0, |byte, bit| byte << 1 | bit));
            bytes.extend(bits);
        } else {
            bytes.extend_from_slice(&self.plain);
        }
        self.places.clear();
        self.plain.clear();
        self.add_page(&bytes)
    }

    fn add_page(&mut self, bytes: &[u8]) -> Result<(), String> {
        let content = Content::Data { slots: self.facts.slots, encoding: self.facts.encoding };
        let page = page(content, bytes, self.settings.compression)?;
        let mut facts = std::mem::replace(
            &mut self.facts,
            Facts { encoding: Encoding::Plain, rows: 0, slots: 0, nulls: 0, bounds: None },
        );
        let bounds = std::mem::take(&mut self.bounds);
        if self.settings.page_index {
            facts.bounds = bounds.told();
        }
        self.of_pages.push(bounds);
        self.written.slots += facts.slots;
        self.written.nulls += facts.nulls;
        self.written.pages.push((page, facts));
        Ok(())
    }

    /// The bounds of all values.
    fn whole(&self) -> Bounds {
        let mut whole = Bounds::default();
        for bounds in &self.of_pages {
            whole.join(&self.kind, bounds);
        }
        whole.widen(&self.kind, self.dictionary.values(&self.kind));
        whole
    }
}

impl<K: Kind + Send> Chunk for ValueChunk<K> {
    fn append(&mut self, slots: &Slots, array: &dyn Array, rows: usize) -> bool {
        let Some(column) = self.kind.column(array) else { return false };
        add_runs(&mut self.definition, &slots.definition, slots.count);
        add_runs(&mut self.repetition, &slots.repetition, slots.count);
        let nulls = slots.nulls();
        self.facts.rows += rows;
        self.facts.slots += slots.count;
        self.facts.nulls += nulls;
        self.values += slots.count - nulls;
        for range in &slots.present {
            if self.looks_up {
                self.look_up(&column, range.clone());
            } else {
                self.put(&column, range.clone());
            }
        }
        true
    }

    fn settle(&mut self) -> Result<(), String> {
        let is_tried = self.values >= VALUES_ON_TRIAL || self.plain_bytes >= self.settings.page_bytes;
        if self.looks_up && self.on_trial && is_tried {
            self.on_trial = false;
            if !self.saves() {
                self.give_up();
            }
        }
        if self.looks_up && self.dictionary.is_full() {
            self.end_page()?;
            self.looks_up = false;
        }
        if self.page_bytes() >= self.settings.page_bytes { self.end_page() } else { Ok(()) }
    }

    fn finish(&mut self) -> Result<Written, String> {
        if self.looks_up && self.on_trial && !self.saves() {
            self.give_up();
        }
        self.end_page()?;
        self.filter_dictionary();
        self.written.bounds = self.whole().told();
        if self.settings.page_index {
            self.written.has_index = true;
            self.written.ascending = Bounds::ascend(&self.kind, self.of_pages.iter());
            self.written.descending = Bounds::ascend(&self.kind, self.of_pages.iter().rev());
        }
        if self.dictionary.len() > 0 {
            let content = Content::Dictionary { values: self.dictionary.len() };
            self.written.dictionary = Some(page(content, &self.dictionary.bytes, self.settings.compression)?);
        }
        self.written.filter = self.filter.take();
        let written = std::mem::take(&mut self.written);
        self.begin();
        Ok(written)
    }
}

fn filter_items<'a, K: Kind>(filter: &mut Filter, kind: &K, items: impl Iterator<Item = K::Item<'a>>) {
    let mut plain = Vec::new();
    for item in items {
        for same in [Some(item), K::alias(item)].into_iter().flatten() {
            plain.clear();
            kind.put(same, &mut plain);
            filter.insert(kind.hashed(&plain));
        }
    }
}

/// Appends levels, unless all are zero by the schema, behind their length.
fn levels(runs: &mut Vec<(u32, usize)>, most: u8, bytes: &mut Vec<u8>) {
    if most > 0 {
        let begin = bytes.len();
        bytes.extend_from_slice(&[0; 4]);
        hybrid::encode(hybrid::width(most.into()), runs.iter().copied(), bytes);
        let length = (bytes.len() - begin - 4) as u32;
        bytes[begin..begin + 4].copy_from_slice(&length.to_le_bytes());
    }
    runs.clear();
}

fn add_runs(runs: &mut Vec<(u32, usize)>, levels: &Levels, slots: usize) {
    let mut add = |level: u8, count: usize| match runs.last_mut() {
        Some((last, found)) if *last == u32::from(level) => *found += count,
        _ => runs.push((level.into(), count)),
    };
    match levels {
        Levels::Same(level) if slots > 0 => add(*level, slots),
        Levels::Same(_) => {}
        Levels::Each(levels) => levels.chunk_by(|one, next| one == next).for_each(|run| add(run[0], run.len())),
    }
}

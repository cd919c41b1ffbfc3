//! Typed rows of texts of one form: each field is what a named group of a pattern has found.

use std::sync::Arc;

use arrow_array::BinaryArray;
use arrow_schema::{ArrowError, SchemaRef};
use regex::{CaptureLocations, Regex, RegexBuilder};

use super::adjusted::Adjustments;
use super::faults::{Leniency, Strict};
use super::fill::{self, ReadRow, Steps};
use super::lenient::{self, Lenient};
use super::nested::StructColumn;
use super::reason::{Refusal, Step};
use super::text::{self, in_utf8};
use super::{Faults, Options, Rows, UnknownFields};

/// Bytes of a compiled pattern.
const LARGEST: usize = 16 << 20;

/// Makes rows of a schema from texts that a pattern matches as a whole.
#[derive(Debug, Clone)]
pub struct RegexParser {
    schema: SchemaRef,
    pattern: Arc<Pattern>,
    options: Options,
}

#[derive(Debug)]
struct Pattern {
    regex: Regex,
    /// The group of each column.
    groups: Vec<usize>,
    /// A text that stands for null.
    null: Option<Vec<u8>>,
}

impl RegexParser {
    /// An error says which field or what part of the pattern cannot be read, and why.
    pub fn new(schema: SchemaRef, pattern: &str, null: Option<Vec<u8>>, faults: Faults) -> Result<Self, String> {
        let options = Options { unknown_fields: UnknownFields::Drop, faults };
        let columns = lenient::columns(&schema, options)?;
        let regex = RegexBuilder::new(&format!(r"\A(?:{})\z", in_ascii(pattern)))
            .size_limit(LARGEST)
            .build()
            .map_err(|error| error.to_string())?;
        let mut groups = Vec::new();
        for (field, column) in schema.fields().iter().zip(&columns.children) {
            if !text::is_readable(column) {
                return Err(format!("{}: no text of a group is {}", field.name(), field.data_type()));
            }
            let group = regex.capture_names().position(|name| name == Some(field.name()));
            groups.push(group.ok_or_else(|| format!("the pattern has no group {}", field.name()))?);
        }
        Ok(Self { schema, pattern: Arc::new(Pattern { regex, groups, null }), options })
    }

    /// Reads all values. Total, as [`super::RowParser::parse`] is, and in time that is linear in the length of a value.
    pub fn parse(&self, values: &BinaryArray) -> Result<Rows, ArrowError> {
        let (pattern, found) = (&*self.pattern, self.pattern.regex.capture_locations());
        if lenient::is_strict(self.options, lenient::NO_DEFAULTS) {
            return fill::rows(&self.schema, values, &mut Reader { pattern, found, lenient: Strict, bytes: 0 });
        }
        let lenient = Lenient::new(self.options, lenient::NO_DEFAULTS);
        fill::rows(&self.schema, values, &mut Reader { pattern, found, lenient, bytes: 0 })
    }
}

struct Reader<'a, L> {
    pattern: &'a Pattern,
    found: CaptureLocations,
    lenient: L,
    /// No column has more bytes than this; 0: none is longer than its value.
    bytes: usize,
}

impl<L: Leniency> Reader<'_, L> {
    #[inline(always)]
    fn line(&mut self, line: &str, row: usize, columns: &mut StructColumn, steps: &mut Steps) -> Result<(), Refusal> {
        let Pattern { regex, groups, null } = self.pattern;
        regex.captures_read(&mut self.found, line).ok_or(Refusal::NoMatch)?;
        for (index, (group, column)) in groups.iter().zip(&mut columns.children).enumerate() {
            let part = self.found.get(*group).map(|(begin, end)| &line.as_bytes()[begin..end]);
            let read = match part.filter(|part| null.as_deref() != Some(*part)) {
                Some(part) => text::append_leniently(part, row, Step::Field(index), column, &mut self.lenient),
                None if column.push_null() => Ok(()),
                None => Err(Refusal::Missing),
            };
            if read.is_err() {
                steps.push(Step::Field(index));
                return read;
            }
        }
        Ok(())
    }
}

impl<L: Leniency> ReadRow for Reader<'_, L> {
    #[inline]
    fn read(&mut self, value: &[u8], row: usize, columns: &mut StructColumn, steps: &mut Steps) -> Result<(), Refusal> {
        if L::IS_STRICT {
            return self.line(std::str::from_utf8(value).map_err(|_| Refusal::NotUtf8)?, row, columns, steps);
        }
        self.lenient.begin();
        let text = in_utf8(value, &mut self.lenient)?;
        self.line(std::str::from_utf8(&text).map_err(|_| Refusal::NotUtf8)?, row, columns, steps)?;
        self.bytes += text.len();
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn adjustments(&mut self) -> Option<&mut Adjustments> {
        self.lenient.adjustments()
    }
}

/// The same pattern, whose classes (`\d`, `\w`, `\s`) and `\b` are of ASCII, as in RE2. So no tables of Unicode decide what a
/// row is, and none are compiled.
fn in_ascii(pattern: &str) -> String {
    let mut text = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        match characters.next() {
            Some('d') => text.push_str("[0-9]"),
            Some('D') => text.push_str("[^0-9]"),
            Some('w') => text.push_str("[0-9A-Za-z_]"),
            Some('W') => text.push_str("[^0-9A-Za-z_]"),
            Some('s') => text.push_str(r"[\t\n\x0b\x0c\r ]"),
            Some('S') => text.push_str(r"[^\t\n\x0b\x0c\r ]"),
            Some('b') => text.push_str(r"(?-u:\b)"),
            other => {
                text.push('\\');
                text.extend(other);
            }
        }
    }
    text
}

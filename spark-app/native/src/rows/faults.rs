//! What becomes of values that do not fit, where somebody has decided for something else than refusing the record.

use super::Options;
use super::adjusted::Adjustments;
use super::column::Column;
use super::growth::Growth;
use super::nested::{ListColumn, MapColumn, StructColumn};
use super::reason::{Refusal, Step};
use super::rest::{Mark, Rest};

/// What becomes of a value of another kind than the type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WrongType {
    #[default]
    Refuse,
    SetNull,
    /// Texts are read as in a column of CSV, numbers and bools become texts; what cannot be read is refused.
    Convert,
}

/// Which value counts of a name that is several times in one struct or map.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Duplicates {
    #[default]
    Refuse,
    First,
    Last,
}

/// By default each fault refuses the record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    pub wrong_type: WrongType,
    pub overflow_sets_null: bool,
    pub bad_text_sets_null: bool,
    pub duplicates: Duplicates,
    /// Whether U+FFFD takes the place of what is no UTF-8.
    pub replaces_invalid: bool,
}

impl Faults {
    /// By the words of the manifest, such as `wrongType` and `setNull`.
    pub fn from_words<'a>(words: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, String> {
        let mut faults = Self::default();
        for (fault, action) in words {
            match (fault, action) {
                ("wrongType", "setNull") => faults.wrong_type = WrongType::SetNull,
                ("wrongType", "convert") => faults.wrong_type = WrongType::Convert,
                ("overflow", "setNull") => faults.overflow_sets_null = true,
                ("badText", "setNull") => faults.bad_text_sets_null = true,
                ("duplicates", "first") => faults.duplicates = Duplicates::First,
                ("duplicates", "last") => faults.duplicates = Duplicates::Last,
                ("invalidUtf8", "replace") => faults.replaces_invalid = true,
                ("wrongType" | "overflow" | "badText" | "duplicates" | "invalidUtf8", "refuse") => {}
                _ => return Err(format!("{fault} cannot be {action}")),
            }
        }
        Ok(faults)
    }

    pub fn sets_null(&self, refusal: Refusal) -> bool {
        match refusal {
            Refusal::WrongType => self.wrong_type == WrongType::SetNull,
            Refusal::Overflow => self.overflow_sets_null,
            Refusal::BadText => self.bad_text_sets_null,
            _ => false,
        }
    }
}

/// What a parser does with a record beside reading it. Nothing, by default, and at no cost.
pub trait Leniency {
    /// Whether it does nothing.
    const IS_STRICT: bool;

    fn options(&self) -> Options {
        Options::default()
    }

    #[inline(always)]
    fn faults(&self) -> Faults {
        self.options().faults
    }

    /// Changes columns before they are filled.
    fn prepare(&self, _: &mut StructColumn) {}

    /// A record begins.
    fn begin(&mut self) {}

    /// What is read from now on is one step further inside.
    fn enter(&mut self, _: Step) {}

    fn leave(&mut self) {}

    /// The value at this place was adjusted instead of being refused.
    fn adjusted(&mut self, _: Refusal) {}

    /// What was adjusted; None: nothing ever is.
    fn adjustments(&mut self) -> Option<&mut Adjustments> {
        None
    }

    /// What becomes of the fields that the schema does not have; None: they are left out.
    fn rest(&mut self) -> Option<&mut Rest> {
        None
    }

    fn mark(&mut self) -> Mark {
        self.rest().map(|rest| rest.mark()).unwrap_or_default()
    }

    /// Appends what a row has besides its members: what is unknown, and defaults.
    fn end_row(&mut self, _row: usize, _: &mut StructColumn, _: &mut Vec<Step>) -> Result<(), Refusal> {
        Ok(())
    }

    /// Bytes that the record has in columns beyond its own: of what is unknown, and of defaults.
    fn added(&self) -> usize {
        0
    }
}

/// Reads values one by one, and may go back to where one began.
pub trait ReadValue {
    type Leniency: Leniency;
    type Place: Copy;

    fn place(&self) -> Self::Place;

    fn return_to(&mut self, place: Self::Place);

    /// Appends the value that begins here. After an error the column must be cut back.
    fn value(&mut self, column: &mut Column) -> Result<(), Refusal>;

    /// Appends the value that begins here, which was refused, as it is to be read instead; None: not at all.
    fn convert(&mut self, refusal: Refusal, column: &mut Column) -> Option<Result<(), Refusal>>;

    /// Goes behind the value that begins here.
    fn skip(&mut self) -> Result<(), Refusal>;

    /// What is done beside reading; after an error, where it is, the innermost field first; and what lists and maps may take.
    fn state(&mut self) -> (&mut Self::Leniency, &mut Vec<Step>, &mut Growth);

    #[inline(always)]
    fn lenient(&mut self) -> &mut Self::Leniency {
        self.state().0
    }

    #[cold]
    fn fault(&mut self, step: Step, refusal: Refusal) -> Result<(), Refusal> {
        self.state().1.push(step);
        Err(refusal)
    }

    /// Appends the value of a field of the object at a mark.
    #[inline(always)]
    fn member(&mut self, object: Mark, index: usize, columns: &mut StructColumn) -> Result<(), Refusal> {
        let inside = self.lenient().mark();
        if let Err(refusal) = self.child(Step::Field(index), &mut columns.children[index]) {
            return self.fault(Step::Field(index), refusal);
        }
        if let Some(rest) = self.lenient().rest() {
            rest.put_below(object, inside, columns.quoted(index));
        }
        Ok(())
    }

    /// Ends the object at a mark, of which so many fields were read as value number `row` of a struct, or as the row itself.
    #[inline(always)]
    fn end_members(
        &mut self,
        object: Mark,
        found: usize,
        row: usize,
        columns: &mut StructColumn,
        is_row: bool,
    ) -> Result<(), Refusal> {
        let (lenient, steps, growth) = self.state();
        if let Some(rest) = lenient.rest() {
            rest.close(object)?;
        }
        if !Self::Leniency::IS_STRICT && is_row {
            growth.take(lenient.rest().map_or(0, |rest| rest.len()))?;
            lenient.end_row(row, columns, steps)?;
        }
        if found == columns.children.len() {
            return Ok(());
        }
        for (index, child) in columns.children.iter_mut().enumerate() {
            if child.len() == row && !child.push_null() {
                return self.fault(Step::Field(index), Refusal::Missing);
            }
        }
        Ok(())
    }

    /// Appends item number `index` of the list at a mark.
    #[inline(always)]
    fn item(&mut self, object: Mark, index: usize, list: &mut ListColumn) -> Result<(), Refusal> {
        let (lenient, _, growth) = self.state();
        let (inside, grown) = (lenient.mark(), growth.take(list.width));
        if let Err(refusal) = grown.and_then(|()| self.child(Step::Item, &mut list.items)) {
            return self.fault(Step::Item, refusal);
        }
        if let Some(rest) = self.lenient().rest() {
            rest.put_item_below(object, inside, index);
        }
        Ok(())
    }

    /// Ends a map whose entries were read.
    #[inline]
    fn end_entries(&mut self, map: &mut MapColumn) -> Result<(), Refusal> {
        if map.has_duplicates() {
            return self.fault(Step::Entry, Refusal::Duplicate);
        }
        map.end();
        Ok(())
    }

    /// Appends the value that begins here, one step further inside; one that does not fit may be adjusted.
    #[inline(always)]
    fn child(&mut self, step: Step, column: &mut Column) -> Result<(), Refusal> {
        if Self::Leniency::IS_STRICT {
            return self.value(column);
        }
        let (row, place, mark) = (column.len(), self.place(), self.lenient().mark());
        self.lenient().enter(step);
        let mut read = self.value(column);
        // What is inside of the value was told where it was refused.
        if let (Err(refusal), true) = (read, self.state().1.is_empty()) {
            column.truncate(row);
            self.return_to(place);
            if let Some(rest) = self.lenient().rest() {
                rest.back_to(mark);
            }
            read = self.amend(refusal, column);
        }
        self.lenient().leave();
        read
    }

    /// Appends the value that begins here, which was refused, otherwise or as null.
    #[cold]
    fn amend(&mut self, refusal: Refusal, column: &mut Column) -> Result<(), Refusal> {
        let (row, place, mut refusal) = (column.len(), self.place(), refusal);
        match self.convert(refusal, column) {
            None => {}
            Some(Ok(())) => {
                self.lenient().adjusted(refusal);
                return Ok(());
            }
            Some(Err(other)) => {
                column.truncate(row);
                self.return_to(place);
                refusal = other;
            }
        }
        if !self.lenient().faults().sets_null(refusal) || !column.nullable {
            return Err(refusal);
        }
        self.skip()?;
        column.push_null();
        self.lenient().adjusted(refusal);
        Ok(())
    }
}

/// Sets values to null that do not fit, for parsers that stand behind a value when they refuse it.
#[derive(Debug)]
pub struct Nulls {
    faults: Faults,
    pub adjustments: Adjustments,
}

impl Nulls {
    /// None: nothing is set to null.
    pub fn of(faults: Faults) -> Option<Self> {
        let sets_any = faults.overflow_sets_null || faults.bad_text_sets_null;
        sets_any.then(|| Self { faults, adjustments: Adjustments::default() })
    }

    /// Whether a value that was refused could have been set to null somewhere.
    pub fn helps(&self, refusal: Refusal) -> bool {
        self.faults.sets_null(refusal)
    }

    /// Appends null as value number `row`, if the value may be null.
    pub fn set(&mut self, refusal: Refusal, row: usize, column: &mut Column) -> Result<(), Refusal> {
        if !self.helps(refusal) || !column.nullable {
            return Err(refusal);
        }
        column.truncate(row);
        column.push_null();
        self.adjustments.add(refusal);
        Ok(())
    }
}

/// Each fault refuses the record, and what the schema does not have is left out.
pub struct Strict;

impl Leniency for Strict {
    const IS_STRICT: bool = true;
}

//! Values that were adjusted instead of being refused: why, and where. Nothing of the values.

use std::collections::HashMap;

use arrow_array::{Int32Array, Int64Array};
use arrow_schema::Fields;

use super::reason::{Refusal, Step, path};

/// The adjusted values of a column of records.
#[derive(Debug)]
pub struct Adjusted {
    /// Why each kind would have been refused, and the field; empty: none is concerned.
    pub kinds: Vec<(Refusal, String)>,
    /// Of each value the record, ascending; and its kind.
    pub records: Int64Array,
    pub kind_of: Int32Array,
}

impl Default for Adjusted {
    fn default() -> Self {
        Adjustments::default().finish(&Fields::empty())
    }
}

/// The same while records are read.
#[derive(Debug, Default)]
pub struct Adjustments {
    /// Where in a record we are, from the outside in.
    place: Vec<Step>,
    /// Kinds of the record that is being read.
    pending: Vec<i32>,
    kinds: Vec<(Refusal, Vec<Step>)>,
    /// By place.
    known: HashMap<Vec<Step>, Vec<(Refusal, i32)>>,
    records: Vec<i64>,
    kind_of: Vec<i32>,
}

impl Adjustments {
    /// A record begins, perhaps anew.
    pub fn begin(&mut self) {
        self.place.clear();
        self.pending.clear();
    }

    pub fn enter(&mut self, step: Step) {
        self.place.push(step);
    }

    pub fn leave(&mut self) {
        self.place.pop();
    }

    /// The value at this place was adjusted.
    #[cold]
    pub fn add(&mut self, refusal: Refusal) {
        let kinds = match self.known.get(&self.place) {
            Some(kinds) => kinds.iter().find(|(known, _)| *known == refusal).map(|(_, kind)| *kind),
            None => None,
        };
        let kind = kinds.unwrap_or_else(|| {
            let kind = self.kinds.len() as i32;
            self.kinds.push((refusal, self.place.clone()));
            self.known.entry(self.place.clone()).or_default().push((refusal, kind));
            kind
        });
        self.pending.push(kind);
    }

    /// The same of the value one step further inside, if there is one.
    pub fn add_at(&mut self, step: Option<Step>, refusal: Refusal) {
        let inside = self.place.len();
        self.place.extend(step);
        self.add(refusal);
        self.place.truncate(inside);
    }

    /// How many values of this record were adjusted so far.
    pub fn count(&self) -> usize {
        self.pending.len()
    }

    /// Takes out those from a count on.
    pub fn take_from(&mut self, count: usize) -> Vec<i32> {
        self.pending.split_off(count)
    }

    pub fn put_back(&mut self, taken: Vec<i32>) {
        self.pending.extend(taken);
    }

    /// The record is a row.
    pub fn accept(&mut self, record: usize) {
        self.records.extend(self.pending.iter().map(|_| record as i64));
        self.kind_of.append(&mut self.pending);
    }

    pub fn finish(&mut self, fields: &Fields) -> Adjusted {
        let told = |(refusal, mut place): (Refusal, Vec<Step>)| {
            place.reverse();
            (refusal, path(fields, &place))
        };
        Adjusted {
            kinds: std::mem::take(&mut self.kinds).into_iter().map(told).collect(),
            records: std::mem::take(&mut self.records).into(),
            kind_of: std::mem::take(&mut self.kind_of).into(),
        }
    }
}

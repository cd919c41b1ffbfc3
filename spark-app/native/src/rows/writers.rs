//! Schemas by which values were written, by the ids in their headers.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use super::reason::Refusal;

/// By id; None: values of it are refused.
type ById<W> = HashMap<u128, Option<Arc<W>>>;

/// The schemas that a parser has learned, from any thread.
#[derive(Debug)]
pub struct Writers<W>(RwLock<Arc<ById<W>>>);

impl<W> Default for Writers<W> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<W> Writers<W> {
    /// From now on values of this id are read by this schema; None: they are refused.
    pub fn set(&self, id: u128, writer: Option<W>) {
        let mut writers = self.0.write().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut writers).insert(id, writer.map(Arc::new));
    }

    /// Those that are known now, for a column of values.
    pub fn learned(&self) -> Learned<W> {
        let writers = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        Learned { writers, last: None, unknown: BTreeSet::new() }
    }
}

/// The schemas of a column of values, and the ids that nobody has said anything of.
pub struct Learned<W> {
    writers: Arc<ById<W>>,
    /// The one of the value before: mostly it is the same.
    last: Option<(u128, Option<Arc<W>>)>,
    unknown: BTreeSet<u128>,
}

impl<W> Learned<W> {
    #[inline]
    pub fn of(&mut self, id: u128) -> Result<&W, Refusal> {
        if self.last.as_ref().is_none_or(|(last, _)| *last != id) {
            let Some(writer) = self.writers.get(&id) else {
                self.unknown.insert(id);
                return Err(Refusal::UnknownSchema);
            };
            self.last = Some((id, writer.clone()));
        }
        self.last.as_ref().and_then(|(_, writer)| writer.as_deref()).ok_or(Refusal::OtherSchema)
    }

    /// Ids that were asked for and are not known, ascending.
    pub fn unknown(self) -> Vec<u128> {
        self.unknown.into_iter().collect()
    }
}

//! The least and the greatest of some values.

use super::values::Kind;

/// Bytes of a bound beyond which it is not told, as in other writers: a footer would have a long text twice for each column.
pub const MOST_BYTES: usize = 4 << 10;

/// As statistics have them; none while no value has come.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    ends: Option<(Vec<u8>, Vec<u8>)>,
    /// Whether a NaN has come. It may be in no bound, and some readers take it for the greatest value: with bounds of the
    /// other values they would pass over it.
    has_unordered: bool,
}

impl Bounds {
    pub fn widen<'a, K: Kind>(&mut self, kind: &K, items: impl Iterator<Item = K::Item<'a>>) {
        let mut items = items.filter(|item| {
            self.has_unordered |= !K::is_ordered(*item);
            K::is_ordered(*item)
        });
        let Some(first) = items.next() else { return };
        let (mut least, mut greatest) = (first, first);
        for item in items {
            if K::is_less(item, least) {
                least = item;
            }
            if K::is_less(greatest, item) {
                greatest = item;
            }
        }
        match &mut self.ends {
            None => self.ends = Some((kind.bound(least, false), kind.bound(greatest, true))),
            Some((lower, upper)) => {
                if K::is_less(least, kind.bounding(lower)) {
                    *lower = kind.bound(least, false);
                }
                if K::is_less(kind.bounding(upper), greatest) {
                    *upper = kind.bound(greatest, true);
                }
            }
        }
    }

    /// Takes in all that other bounds have taken in.
    pub fn join<K: Kind>(&mut self, kind: &K, other: &Self) {
        self.has_unordered |= other.has_unordered;
        let ends = other.ends.iter().flat_map(|(lower, upper)| [kind.bounding(lower), kind.bounding(upper)]);
        self.widen(kind, ends);
    }

    /// The bounds, where there are some and they are short enough.
    pub fn told(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let ends = self.ends.as_ref().filter(|_| !self.has_unordered);
        ends.filter(|(lower, upper)| lower.len() <= MOST_BYTES && upper.len() <= MOST_BYTES).cloned()
    }

    /// Whether neither the lower nor the upper ones fall.
    pub fn ascend<'a, K: Kind>(kind: &K, bounds: impl Iterator<Item = &'a Self>) -> bool {
        let mut bounds = bounds.filter_map(|bounds| bounds.ends.as_ref());
        let Some(mut before) = bounds.next() else { return true };
        bounds.all(|next| {
            let falls = |one: &[u8], other: &[u8]| K::is_less(kind.bounding(other), kind.bounding(one));
            let ascends = !falls(&before.0, &next.0) && !falls(&before.1, &next.1);
            before = next;
            ascends
        })
    }
}

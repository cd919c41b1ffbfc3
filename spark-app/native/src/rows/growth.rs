//! How much more than its own bytes a value may take in columns. Where an item of a list can be shorter than what it
//! becomes (a map without entries is one byte, `{}` may be a struct of many fields), a short value could take all memory.

use super::reason::Refusal;

/// Bytes that items of lists and entries of maps may take: so many, and for each byte of the value so many more.
const GROWTH: usize = 4 << 10;
const GROWTH_OF_A_BYTE: usize = 64;
/// No value takes more, however long it is: a few kB that compress well may be one of 500 MB, and columns end at 2 GiB.
const MOST_GROWTH: usize = 1 << 30;

/// What the lists and maps of one value may take in columns, and have taken.
#[derive(Debug, Clone, Copy)]
pub struct Growth {
    most: usize,
    taken: usize,
}

impl Growth {
    /// Of a value of so many bytes.
    pub fn of(bytes: usize) -> Self {
        Self { most: (GROWTH + bytes * GROWTH_OF_A_BYTE).min(MOST_GROWTH), taken: 0 }
    }

    /// Of what is counted elsewhere.
    pub fn unlimited() -> Self {
        Self { most: usize::MAX, taken: 0 }
    }

    /// An item or an entry takes so many bytes.
    #[inline(always)]
    pub fn take(&mut self, bytes: usize) -> Result<(), Refusal> {
        let taken = self.taken.saturating_add(bytes);
        if taken > self.most {
            return Err(Refusal::Overflow);
        }
        self.taken = taken;
        Ok(())
    }

    pub fn most(&self) -> usize {
        self.most
    }

    pub fn taken(&self) -> usize {
        self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_takes_no_more_than_columns_can_hold() {
        assert_eq!([0, 10, 1 << 29].map(|bytes| Growth::of(bytes).most), [GROWTH, GROWTH + 640, MOST_GROWTH]);
    }

    #[test]
    fn what_is_refused_takes_nothing() {
        let mut growth = Growth::of(0);
        growth.take(GROWTH - 1).unwrap();
        assert_eq!(
            [growth.take(2), growth.take(1), growth.take(1)],
            [Err(Refusal::Overflow), Ok(()), Err(Refusal::Overflow)]
        );
        assert_eq!(growth.taken(), GROWTH);
    }
}

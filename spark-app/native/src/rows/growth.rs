//! How much more than its own bytes a value may take in columns. Where an item of a list can be shorter than what it
//! becomes (a map without entries is one byte), a short value could take all memory.

/// Bytes that items of lists and entries of maps may take: so many, and for each byte of the value so many more.
const GROWTH: usize = 4 << 10;
const GROWTH_OF_A_BYTE: usize = 64;
/// No value takes more, however long it is: a few kB that compress well may be one of 500 MB, and columns end at 2 GiB.
const MOST_GROWTH: usize = 1 << 30;

pub fn growth_of(bytes: usize) -> usize {
    (GROWTH + bytes * GROWTH_OF_A_BYTE).min(MOST_GROWTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_takes_no_more_than_columns_can_hold() {
        assert_eq!([0, 10, 1 << 29].map(growth_of), [GROWTH, GROWTH + 640, MOST_GROWTH]);
    }
}

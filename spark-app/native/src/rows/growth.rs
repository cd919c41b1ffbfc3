//! How much more than its own bytes a value may take in columns. Where an item of a list can be shorter than what it
//! becomes (a map without entries is one byte), a short value could take all memory.

/// Bytes that items of lists and entries of maps may take: so many, and for each byte of the value so many more.
const GROWTH: usize = 4 << 10;
const GROWTH_OF_A_BYTE: usize = 64;

pub fn growth_of(bytes: usize) -> usize {
    GROWTH + bytes * GROWTH_OF_A_BYTE
}

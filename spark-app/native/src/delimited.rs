//! Values as lines: each with a delimiter behind it, for format `text`.

use arrow_array::BinaryArray;
use arrow_buffer::Buffer;

use crate::blocks::Blocks;

/// The lines of one object.
#[derive(Debug)]
pub struct Delimited {
    delimiter: Vec<u8>,
    blocks: Blocks,
}

impl Delimited {
    pub fn new(delimiter: Vec<u8>) -> Self {
        Self { delimiter, blocks: Blocks::default() }
    }

    /// Takes in values; null ones are left out. Returns the blocks that are whole.
    pub fn add(&mut self, values: &BinaryArray) -> Vec<Buffer> {
        for value in values.iter().flatten() {
            self.blocks.put(value);
            self.blocks.put(&self.delimiter);
        }
        self.blocks.whole()
    }

    /// Lends the bytes behind the last whole block, which are forgotten then.
    pub fn rest<T>(&mut self, read: impl FnOnce(&[u8]) -> T) -> T {
        self.blocks.rest(read)
    }
}

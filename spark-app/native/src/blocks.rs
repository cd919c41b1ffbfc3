//! Bytes on their way out, in blocks of one size. The memory of a block is used again: fresh pages cost more than what fills
//! them.

use std::mem::take;
use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow_buffer::Buffer;
use bytes::Bytes;

/// Bytes of a block: what is sent at once, and whole chunks of a compressor.
const BLOCK_BYTES: usize = 1 << 20;
/// Blocks that wait to be used again, at most: those of two parts of an object.
const MOST_WAITING: usize = 32;

static WAITING: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

fn waiting() -> MutexGuard<'static, Vec<Vec<u8>>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A block that is read by others. Its memory waits to be used again once nobody does.
struct Block(Vec<u8>);

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let mut waiting = waiting();
        if waiting.len() < MOST_WAITING {
            self.0.clear();
            waiting.push(take(&mut self.0));
        }
    }
}

/// Gathers bytes into blocks.
#[derive(Debug, Default)]
pub struct Blocks {
    /// The block that is being filled; without memory before its first byte.
    open: Vec<u8>,
    whole: Vec<Buffer>,
}

impl Blocks {
    pub fn put(&mut self, mut bytes: &[u8]) {
        while self.open.len() + bytes.len() >= BLOCK_BYTES {
            let (now, later) = bytes.split_at(BLOCK_BYTES - self.open.len());
            self.append(now);
            self.whole.push(Buffer::from(Bytes::from_owner(Block(take(&mut self.open)))));
            bytes = later;
        }
        self.append(bytes);
    }

    /// Returns the blocks that are whole; each is returned once.
    pub fn whole(&mut self) -> Vec<Buffer> {
        take(&mut self.whole)
    }

    /// Lends the bytes behind the last whole block, which are forgotten then.
    pub fn rest<T>(&mut self, read: impl FnOnce(&[u8]) -> T) -> T {
        let rest = Block(take(&mut self.open));
        read(&rest.0)
    }

    fn append(&mut self, bytes: &[u8]) {
        if self.open.capacity() == 0 {
            self.open = waiting().pop().unwrap_or_else(|| Vec::with_capacity(BLOCK_BYTES));
        }
        self.open.extend_from_slice(bytes);
    }
}

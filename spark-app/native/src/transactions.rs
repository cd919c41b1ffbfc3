//! Which batches of a fetch response belong to aborted transactions.
//!
//! The rules are the Java client's (`CompletedFetch.nextFetchedRecord`): a transaction of the response's list begins
//! for the batches from its first offset on, and ends at its producer's abort marker.

use std::collections::HashSet;

use crate::batch::BatchHeader;
use crate::cursor::Cursor;
use crate::error::{Reason, bail};
use crate::records::Record;

/// One aborted transaction of a fetch response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aborted {
    pub producer_id: i64,
    pub first_offset: i64,
}

/// Follows the batches of one response, in their order.
#[derive(Debug, Default)]
pub struct AbortedTransactions {
    /// Those not yet reached, the next one last.
    ahead: Vec<Aborted>,
    open: HashSet<i64>,
}

impl AbortedTransactions {
    pub fn new(mut aborted: Vec<Aborted>) -> Self {
        aborted.sort_by_key(|transaction| std::cmp::Reverse(transaction.first_offset));
        Self { ahead: aborted, open: HashSet::new() }
    }

    /// Opens the transactions that have begun by the end of the batch.
    pub fn reach(&mut self, header: &BatchHeader) {
        while let Some(next) = self.ahead.pop_if(|next| next.first_offset <= header.last_offset) {
            self.open.insert(next.producer_id);
        }
    }

    pub fn is_aborted(&self, header: &BatchHeader) -> bool {
        header.is_transactional() && header.has_producer_id() && self.open.contains(&header.producer_id)
    }

    /// Whether a marker of the batch's producer could end anything.
    pub fn is_open(&self, header: &BatchHeader) -> bool {
        header.has_producer_id() && self.open.contains(&header.producer_id)
    }

    /// Ends the producer's transaction if the control batch is an abort marker.
    pub fn pass_marker(&mut self, header: &BatchHeader, records: &[u8]) -> Result<(), Reason> {
        if header.records > 0 && is_abort_marker(records)? {
            self.open.remove(&header.producer_id);
        }
        Ok(())
    }
}

/// Reads the key of the first control record: version i16, type i16; type 0 is an abort (`ControlRecordType.java`).
fn is_abort_marker(records: &[u8]) -> Result<bool, Reason> {
    let record = Record::read(&mut Cursor::new(records))?;
    let Some([version_high, version_low, type_high, type_low, ..]) = record.key else {
        bail!("the key of a control record has {} bytes, at least 4 are expected", record.key.map_or(0, <[u8]>::len));
    };
    let version = i16::from_be_bytes([*version_high, *version_low]);
    if version < 0 {
        bail!("the version of a control record is {version}");
    }
    Ok(i16::from_be_bytes([*type_high, *type_low]) == 0)
}

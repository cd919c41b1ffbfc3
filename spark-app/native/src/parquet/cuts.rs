//! Where row groups end, and where pages may: it depends on the rows from the file's begin, not on how batches are cut.

/// Rows of a row group, however small they are.
const MOST_ROWS: usize = 1 << 20;
/// Pages may end after so many rows, or after an eighth of a page.
const ROWS_OF_STRIPE: usize = 2_048;
const STRIPES_OF_PAGE: usize = 8;

/// Counts rows and what they take.
#[derive(Debug)]
pub struct Cuts {
    group_bytes: usize,
    stripe_bytes: usize,
    group: Count,
    stripe: Count,
}

#[derive(Debug, Default)]
struct Count {
    rows: usize,
    bytes: usize,
}

/// The next rows of a batch.
#[derive(Debug, PartialEq, Eq)]
pub struct Cut {
    pub rows: usize,
    /// Whether pages may end behind them.
    pub ends_stripe: bool,
    pub ends_group: bool,
}

impl Cuts {
    pub fn new(group_bytes: usize, page_bytes: usize) -> Self {
        let stripe_bytes = page_bytes.div_ceil(STRIPES_OF_PAGE);
        Self { group_bytes, stripe_bytes, group: Count::default(), stripe: Count::default() }
    }

    /// Takes in rows, each of which counts as so many bytes, up to the next cut; at least one.
    pub fn next(&mut self, sizes: &[i64]) -> Cut {
        for (row, size) in sizes.iter().enumerate() {
            let size = usize::try_from(*size).unwrap_or_default();
            self.group.add(size);
            self.stripe.add(size);
            let ends_group = self.group.bytes >= self.group_bytes || self.group.rows == MOST_ROWS;
            let ends_stripe =
                ends_group || self.stripe.bytes >= self.stripe_bytes || self.stripe.rows == ROWS_OF_STRIPE;
            if ends_group {
                self.group = Count::default();
            }
            if ends_stripe {
                self.stripe = Count::default();
                return Cut { rows: row + 1, ends_stripe, ends_group };
            }
        }
        Cut { rows: sizes.len(), ends_stripe: false, ends_group: false }
    }

    /// Ends the row group here; returns whether it has rows.
    pub fn end_group(&mut self) -> bool {
        self.stripe = Count::default();
        std::mem::take(&mut self.group).rows > 0
    }
}

impl Count {
    fn add(&mut self, size: usize) {
        self.rows += 1;
        self.bytes += size;
    }
}

//! Each value gets the answer, the row and the path that it gets alone, whatever stands beside it.

use logpersister_native::{REASONS, Rows};

/// How often each verdict was met.
pub struct Verdicts([usize; REASONS.len()]);

impl Default for Verdicts {
    fn default() -> Self {
        Self([0; REASONS.len()])
    }
}

impl Verdicts {
    /// Parses values together and alone; returns what they are together.
    pub fn add(&mut self, values: &[Vec<u8>], about: &str, parse: impl Fn(&[&Vec<u8>]) -> Rows) -> Rows {
        let together = parse(&values.iter().collect::<Vec<_>>());
        let mut row_number = 0;
        for (index, value) in values.iter().enumerate() {
            let alone = parse(&[value]);
            let about = || format!("{about}, {value:?}");
            assert_eq!(alone.reasons.value(0), together.reasons.value(index), "{}", about());
            assert_eq!(alone.paths.iter().next(), together.paths.iter().nth(index), "{}", about());
            if alone.reasons.value(0) == 0 {
                assert_eq!(alone.batch, together.batch.slice(row_number, 1), "{}", about());
                row_number += 1;
            }
            self.0[usize::from(alone.reasons.value(0))] += 1;
            let adjusted = together.adjusted.records.values().iter().filter(|record| **record == index as i64).count();
            assert_eq!(alone.adjusted.records.len(), adjusted, "{}", about());
        }
        together
    }

    /// Enough were good, and each of these reasons was met more than once.
    pub fn check(&self, good: usize, reasons: &[&str]) {
        assert!(self.0[0] > good, "{} are good", self.0[0]);
        for reason in reasons {
            let number = REASONS.iter().position(|known| known == reason).unwrap();
            assert!(self.0[number] > 1, "{reason} was hardly met: {:?}", self.0);
        }
    }
}

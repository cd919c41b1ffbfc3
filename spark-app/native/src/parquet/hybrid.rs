//! Parquet's hybrid of run lengths and packed bits, for levels and for places in a dictionary.
//!
//! Source: `Encodings.md` of Apache Parquet, "Run Length Encoding / Bit-Packing Hybrid".

use super::thrift::unsigned;

/// Shorter runs are packed: a run takes a byte and its value, eight values take as many bytes as a value has bits.
const LEAST_RUN: usize = 8;
/// Values that are packed together at most. Readers make room for all of them at once, and some count them in six bits.
const MOST_PACKED: usize = 63 * 8;

/// Appends runs of equal values, each below 2^`width`.
pub fn encode(width: u32, runs: impl Iterator<Item = (u32, usize)>, bytes: &mut Vec<u8>) {
    let mut packed = Packed { width, values: [0; MOST_PACKED], count: 0 };
    for (value, mut count) in runs {
        // Values are packed in eights: what is begun is filled up first.
        let gap = packed.count.next_multiple_of(8) - packed.count;
        if count >= LEAST_RUN + gap {
            packed.push(value, gap, bytes);
            packed.flush(bytes);
            run(width, value, count - gap, bytes);
            count = 0;
        }
        packed.push(value, count, bytes);
    }
    packed.flush(bytes);
}

/// The runs of values that stand one after the other.
pub fn runs(values: &[u32]) -> impl Iterator<Item = (u32, usize)> {
    values.chunk_by(|one, next| one == next).map(|run| (run[0], run.len()))
}

/// Bits that values up to this one need.
pub fn width(most: u32) -> u32 {
    u32::BITS - most.leading_zeros()
}

fn run(width: u32, value: u32, count: usize, bytes: &mut Vec<u8>) {
    unsigned(bytes, (count as u64) << 1);
    bytes.extend_from_slice(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
}

struct Packed {
    width: u32,
    values: [u32; MOST_PACKED],
    count: usize,
}

impl Packed {
    fn push(&mut self, value: u32, count: usize, bytes: &mut Vec<u8>) {
        for _ in 0..count {
            if self.count == MOST_PACKED {
                self.flush(bytes);
            }
            self.values[self.count] = value;
            self.count += 1;
        }
    }

    fn flush(&mut self, bytes: &mut Vec<u8>) {
        if self.count == 0 {
            return;
        }
        let whole = self.count.next_multiple_of(8);
        self.values[self.count..whole].fill(0);
        unsigned(bytes, (whole as u64 / 8) << 1 | 1);
        let (mut bits, mut held) = (0_u64, 0);
        for value in &self.values[..whole] {
            bits |= u64::from(*value) << held;
            held += self.width;
            if held >= 32 {
                bytes.extend_from_slice(&(bits as u32).to_le_bytes());
                bits >>= 32;
                held -= 32;
            }
        }
        // Eight values fill whole bytes.
        bytes.extend_from_slice(&bits.to_le_bytes()[..held as usize / 8]);
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(width: u32, bytes: &[u8]) -> Vec<u32> {
        let (mut values, mut at) = (Vec::new(), 0);
        while at < bytes.len() {
            let (mut header, mut shift) = (0_u64, 0);
            loop {
                header |= u64::from(bytes[at] & 0x7f) << shift;
                shift += 7;
                at += 1;
                if bytes[at - 1] < 0x80 {
                    break;
                }
            }
            let count = header as usize >> 1;
            if header & 1 == 0 {
                let length = width.div_ceil(8) as usize;
                let value = bytes[at..at + length].iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
                values.extend(std::iter::repeat_n(value, count));
                at += length;
            } else {
                let bit = |place: usize| u32::from(bytes[at + place / 8] >> (place % 8) & 1);
                for value in 0..count * 8 {
                    values.push((0..width as usize).map(|one| bit(value * width as usize + one) << one).sum());
                }
                at += count * width as usize;
            }
        }
        values
    }

    #[test]
    fn what_is_encoded_is_decoded_and_filled_up_to_eights() {
        for width in 1..=20 {
            let most = (1 << width) - 1;
            for seed in 0..40_u32 {
                let mut values = Vec::new();
                let mut state = seed * 7919 + width;
                while values.len() < (seed * seed) as usize {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let run = if state >> 28 < 4 { (state >> 20 & 0x3f) as usize } else { 1 };
                    values.extend(std::iter::repeat_n(state >> 3 & most, run));
                }
                let mut bytes = Vec::new();
                encode(width, runs(&values), &mut bytes);
                let found = decoded(width, &bytes);
                assert_eq!(found[..values.len()], values);
                assert!(found.len() < values.len() + 8 && found[values.len()..].iter().all(|value| *value == 0));
            }
        }
    }

    #[test]
    fn runs_are_told_once() {
        let mut bytes = Vec::new();
        encode(1, [(1, 1_000)].into_iter(), &mut bytes);
        assert_eq!(bytes, [0xd0, 0x0f, 1]);
        bytes.clear();
        encode(3, [(5, 3), (2, 100)].into_iter(), &mut bytes);
        assert_eq!(bytes, [3, 0b0110_1101, 0b0010_0101, 0b0100_1001, 0xbe, 1, 2]);
    }

    #[test]
    fn widths_are_those_of_the_largest_value() {
        assert_eq!([0, 1, 2, 255, 256].map(width), [0, 1, 2, 8, 9]);
    }
}

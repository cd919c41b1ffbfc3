//! Split block Bloom filters.
//!
//! Source: `BloomFilter.md` of Apache Parquet, and `doc/xxhash_spec.md` of xxHash (XXH64).

use super::thrift;

const BLOCK_BYTES: usize = 32;
const MOST_BYTES: usize = 128 << 20;
/// Of other values: the share that passes.
const FALSE_POSITIVES: f64 = 0.01;
const SALT: [u32; 8] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// Eight words of 32 bits each; a value sets one bit of each word of one block.
#[derive(Debug)]
pub struct Filter(Vec<[u32; 8]>);

impl Filter {
    /// For so many different values.
    pub fn new(distinct: usize) -> Self {
        let bits = -8.0 * distinct as f64 / (1.0 - FALSE_POSITIVES.powf(1.0 / 8.0)).ln();
        let bytes = ((bits / 8.0) as usize).clamp(BLOCK_BYTES, MOST_BYTES).next_power_of_two();
        Self(vec![[0; 8]; bytes / BLOCK_BYTES])
    }

    /// Takes in a value, whose bytes are those of the plain encoding without a length.
    pub fn insert(&mut self, value: &[u8]) {
        let hash = xxh64(value);
        let block = (((hash >> 32) * self.0.len() as u64) >> 32) as usize;
        for (word, salt) in self.0[block].iter_mut().zip(SALT) {
            *word |= 1 << ((hash as u32).wrapping_mul(salt) >> 27);
        }
    }

    /// The filter as it stands in a file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        thrift::structure(&mut bytes, |fields| {
            fields.count32(1, self.0.len() * BLOCK_BYTES);
            // Split blocks, XXH64, not compressed: unions whose first field is an empty struct.
            (2..=4).for_each(|id| fields.structure(id, |fields| fields.structure(1, |_| ())));
        });
        bytes.extend(self.0.iter().flatten().flat_map(|word| word.to_le_bytes()));
        bytes
    }
}

const PRIME_1: u64 = 0x9e37_79b1_85eb_ca87;
const PRIME_2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const PRIME_3: u64 = 0x1656_67b1_9e37_79f9;
const PRIME_4: u64 = 0x85eb_ca77_c2b2_ae63;
const PRIME_5: u64 = 0x27d4_eb2f_1656_67c5;

/// XXH64 with the seed 0.
fn xxh64(bytes: &[u8]) -> u64 {
    let (stripes, rest) = bytes.as_chunks::<32>();
    let mut hash = if stripes.is_empty() {
        PRIME_5
    } else {
        let mut lanes = [PRIME_1.wrapping_add(PRIME_2), PRIME_2, 0, 0_u64.wrapping_sub(PRIME_1)];
        for stripe in stripes {
            for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<8>().0) {
                *lane = round(*lane, u64::from_le_bytes(*word));
            }
        }
        let turned = lanes.iter().zip([1, 7, 12, 18]).map(|(lane, turn)| lane.rotate_left(turn));
        let merged = turned.fold(0_u64, u64::wrapping_add);
        lanes.iter().fold(merged, |hash, lane| (hash ^ round(0, *lane)).wrapping_mul(PRIME_1).wrapping_add(PRIME_4))
    };
    hash = hash.wrapping_add(bytes.len() as u64);
    let (words, rest) = rest.as_chunks::<8>();
    for word in words {
        hash ^= round(0, u64::from_le_bytes(*word));
        hash = hash.rotate_left(27).wrapping_mul(PRIME_1).wrapping_add(PRIME_4);
    }
    let (halves, rest) = rest.as_chunks::<4>();
    for half in halves {
        hash ^= u64::from(u32::from_le_bytes(*half)).wrapping_mul(PRIME_1);
        hash = hash.rotate_left(23).wrapping_mul(PRIME_2).wrapping_add(PRIME_3);
    }
    for byte in rest {
        hash ^= u64::from(*byte).wrapping_mul(PRIME_5);
        hash = hash.rotate_left(11).wrapping_mul(PRIME_1);
    }
    hash = (hash ^ hash >> 33).wrapping_mul(PRIME_2);
    hash = (hash ^ hash >> 29).wrapping_mul(PRIME_3);
    hash ^ hash >> 32
}

fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(PRIME_2)).rotate_left(31).wrapping_mul(PRIME_1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_reference() {
        let text = b"Nobody inspects the spammish repetition";
        let found = [xxh64(b""), xxh64(b"a"), xxh64(b"abc"), xxh64(text)];
        assert_eq!(found, [0xef46_db37_51d8_e999, 0xd24e_c4f1_a98c_6e5b, 0x44bc_2cf5_ad77_0999, 0xfbce_a83c_8a37_8bf1]);
    }

    #[test]
    fn filters_are_as_large_as_their_values_need() {
        let bytes = [1, 1_000, 50_000, 100_000_000].map(|distinct| Filter::new(distinct).0.len() * BLOCK_BYTES);
        assert_eq!(bytes, [32, 2 << 10, 64 << 10, 128 << 20]);
    }
}

//! zlib streams in values. What comes out is bounded by what is in Kafka, as what rows take is (`growth.rs`).

use flate2::{Decompress, FlushDecompress, Status};

use super::reason::Refusal;

/// A stream may become so many bytes, and for each byte of it so many more.
const MOST: usize = 4 << 10;
const MOST_OF_A_BYTE: usize = 64;
/// No stream becomes more, however long it is: values of 30 MB that compress well would be 2 GB.
const MOST_OF_A_STREAM: usize = 64 << 20;

/// Inflates one stream after the other.
#[derive(Debug)]
pub struct Inflater {
    state: Decompress,
    /// The last one; kept for its memory.
    bytes: Vec<u8>,
}

impl Default for Inflater {
    fn default() -> Self {
        Self { state: Decompress::new(true), bytes: Vec::new() }
    }
}

impl Inflater {
    /// All of a stream, which must end where its bytes end.
    pub fn whole(&mut self, stream: &[u8]) -> Result<&[u8], Refusal> {
        let most = most_of(stream.len());
        self.state.reset(true);
        self.bytes.clear();
        loop {
            // One byte more than there may be, so that a stream of just the most can be told from a longer one.
            let room = (2 * self.bytes.capacity()).max(4 * stream.len()).clamp(64, most + 1) - self.bytes.len();
            self.bytes.reserve_exact(room);
            let read = self.state.total_in() as usize;
            let before = self.bytes.len();
            let status = self
                .state
                .decompress_vec(&stream[read..], &mut self.bytes, FlushDecompress::None)
                .map_err(|_| Refusal::BadCompression)?;
            let is_stuck = self.bytes.len() == before && self.state.total_in() as usize == read;
            if status == Status::StreamEnd {
                let is_whole = self.state.total_in() as usize == stream.len() && self.bytes.len() <= most;
                return if is_whole { Ok(&self.bytes) } else { Err(Refusal::BadCompression) };
            }
            if is_stuck || self.bytes.len() > most {
                return Err(Refusal::BadCompression);
            }
        }
    }

    /// The first bytes of a stream, as far as there is room, and how many these are.
    pub fn begin(&mut self, stream: &[u8], room: &mut [u8]) -> Result<usize, Refusal> {
        self.state.reset(true);
        let status = self.state.decompress(stream, room, FlushDecompress::None);
        status.map(|_| self.state.total_out() as usize).map_err(|_| Refusal::BadCompression)
    }
}

fn most_of(stream: usize) -> usize {
    (MOST + stream.saturating_mul(MOST_OF_A_BYTE)).min(MOST_OF_A_STREAM)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    fn deflated(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn streams_are_inflated_one_after_the_other() {
        let mut inflater = Inflater::default();
        let texts = [b"".to_vec(), b"abc".to_vec(), vec![0; 4000], (0..=255).cycle().take(100_000).collect()];
        for text in texts.iter().chain(texts.iter().rev()) {
            let stream = deflated(text);
            assert_eq!(inflater.whole(&stream).is_ok(), text.len() <= most_of(stream.len()));
            let mut begin = [9; 3];
            let length = inflater.begin(&stream, &mut begin).unwrap();
            assert_eq!(begin[..length], text[..text.len().min(3)]);
        }
        assert_eq!(inflater.whole(&deflated(b"abc")), Ok(&b"abc"[..]));
    }

    #[test]
    fn what_is_no_whole_stream_is_refused() {
        let mut inflater = Inflater::default();
        let stream = deflated(&[7; 3000]);
        let mut wrong_sum = stream.clone();
        *wrong_sum.last_mut().unwrap() ^= 1;
        let with_rest = [&stream[..], b"x"].concat();
        for bad in [&b""[..], b"abc", &stream[..stream.len() - 1], &wrong_sum, &with_rest] {
            assert_eq!(inflater.whole(bad), Err(Refusal::BadCompression), "{bad:?}");
        }
        assert_eq!(inflater.whole(&stream).map(<[u8]>::len), Ok(3000));
    }

    #[test]
    fn a_short_stream_of_many_bytes_is_refused() {
        let mut inflater = Inflater::default();
        // zlib makes so many of a byte that the bound is met somewhere.
        let fits: Vec<bool> =
            (0..60_000).step_by(500).map(|bytes| inflater.whole(&deflated(&vec![0; bytes])).is_ok()).collect();
        assert!(fits.is_sorted_by(|before, after| before >= after) && fits[0] && !fits[fits.len() - 1]);
        let stream = deflated(&vec![0; 100_000_000]);
        assert_eq!(inflater.whole(&stream), Err(Refusal::BadCompression));
        assert!(inflater.bytes.capacity() <= most_of(stream.len()) + 1);
    }

    #[test]
    fn a_long_stream_takes_no_more_memory_than_any() {
        let mut inflater = Inflater::default();
        let noise: Vec<u8> = (0..1u32 << 18).flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
        for (zeros, fits) in [(MOST_OF_A_STREAM - noise.len(), true), (MOST_OF_A_STREAM - noise.len() + 1, false)] {
            let stream = deflated(&[&noise[..], &vec![0; zeros]].concat());
            assert!(MOST_OF_A_BYTE * stream.len() > MOST_OF_A_STREAM, "only the bound of all streams is met");
            assert_eq!(inflater.whole(&stream).is_ok(), fits);
        }
        assert!(inflater.bytes.capacity() <= MOST_OF_A_STREAM + 1);
    }
}

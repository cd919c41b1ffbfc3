//! Record batches for tests, and a generator of random numbers that a seed replays.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::io::Write;

pub const HEADER_BYTES: usize = 61;
pub const CODECS: [u8; 5] = [0, 1, 2, 3, 4];

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

pub fn varint(target: &mut Vec<u8>, number: i64) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    while rest >= 0x80 {
        target.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    target.push(rest as u8);
}

fn nullable(target: &mut Vec<u8>, bytes: Option<&[u8]>) {
    varint(target, bytes.map_or(-1, |bytes| bytes.len() as i64));
    target.extend(bytes.unwrap_or_default());
}

pub fn record(delta: i64, key: Option<&[u8]>, value: Option<&[u8]>, headers: usize) -> Vec<u8> {
    let mut body = vec![0];
    varint(&mut body, delta * 3);
    varint(&mut body, delta);
    nullable(&mut body, key);
    nullable(&mut body, value);
    varint(&mut body, headers as i64);
    for index in 0..headers {
        nullable(&mut body, Some(b"header"));
        nullable(&mut body, [None, Some(&b"1"[..]), Some(b"")][index % 3]);
    }
    let mut whole = Vec::new();
    varint(&mut whole, body.len() as i64);
    whole.extend(body);
    whole
}

/// Records of every shape: null, empty, short and long, with and without headers.
pub fn records(random: &mut Random, count: usize) -> Vec<u8> {
    let text = b"some text that compresses, some text that does not follow; ".repeat(10);
    let mut all = Vec::new();
    for delta in 0..count {
        let (key, value) = (random.below(20), random.below(text.len()));
        let key = [None, Some(&text[..key])][random.below(2)];
        let value = if random.below(8) == 0 { None } else { Some(&text[text.len() - value..]) };
        let headers = if random.below(4) == 0 { random.below(4) } else { 0 };
        all.extend(record(delta as i64, key, value, headers));
    }
    all
}

pub fn compress(codec: u8, data: &[u8]) -> Vec<u8> {
    match codec {
        0 => data.to_vec(),
        1 => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap()
        }
        2 => {
            let mut stream = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".to_vec();
            for block in data.chunks(700) {
                let block = snap::raw::Encoder::new().compress_vec(block).unwrap();
                stream.extend((block.len() as u32).to_be_bytes());
                stream.extend(block);
            }
            stream
        }
        3 => {
            let mut frame = vec![0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82];
            for block in data.chunks(64 << 10).map(lz4_flex::block::compress) {
                frame.extend((block.len() as u32).to_le_bytes());
                frame.extend(block);
            }
            frame.extend([0; 4]);
            frame
        }
        4 => zstd::stream::encode_all(data, 1).unwrap(),
        _ => panic!("no codec {codec}"),
    }
}

pub struct Header {
    pub base_offset: i64,
    pub attributes: i16,
    pub last_offset_delta: i32,
    pub producer_id: i64,
    pub count: i32,
}

pub fn batch(header: &Header, compressed: &[u8]) -> Vec<u8> {
    let mut batch = header.base_offset.to_be_bytes().to_vec();
    batch.extend(((HEADER_BYTES - 12 + compressed.len()) as u32).to_be_bytes());
    batch.extend([0, 0, 0, 7, 2, 0, 0, 0, 0]);
    batch.extend(header.attributes.to_be_bytes());
    batch.extend(header.last_offset_delta.to_be_bytes());
    batch.extend(1_700_000_000_000_i64.to_be_bytes());
    batch.extend(1_700_000_000_999_i64.to_be_bytes());
    batch.extend(header.producer_id.to_be_bytes());
    batch.extend([0; 6]);
    batch.extend(header.count.to_be_bytes());
    batch.extend(compressed);
    fix_checksum(&mut batch);
    batch
}

pub fn fix_checksum(batch: &mut [u8]) {
    if batch.len() >= HEADER_BYTES {
        let checksum = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, &batch[21..]) as u32;
        batch[17..21].copy_from_slice(&checksum.to_be_bytes());
    }
}

/// Changes some bytes: flips, replaces, removes, repeats, inserts, cuts.
pub fn mutate(random: &mut Random, data: &mut Vec<u8>) {
    const ODD: [u8; 8] = [0, 1, 0x7f, 0x80, 0xff, 0xfe, 0x0f, 0x10];
    for _ in 0..=random.below(3) {
        if data.is_empty() {
            return;
        }
        let at = random.below(data.len());
        match random.below(7) {
            0 => data[at] ^= 1 << random.below(8),
            1 => data[at] = ODD[random.below(ODD.len())],
            2 => data[at] = random.next() as u8,
            3 => {
                let end = data.len().min(at + 1 + random.below(9));
                data.drain(at..end);
            }
            4 => {
                let end = data.len().min(at + 1 + random.below(9));
                let copy = data[at..end].to_vec();
                data.splice(at..at, copy);
            }
            5 => {
                let noise = random.next().to_le_bytes();
                data.splice(at..at, noise[..1 + random.below(8)].iter().copied());
            }
            _ if random.below(4) == 0 => data.truncate(at),
            _ => data[at] = data[at].wrapping_add(1),
        }
    }
}

use std::io::Write;

use super::{Codec, Decompressor};

const LIMIT: usize = 1 << 20;

fn text(bytes: usize) -> Vec<u8> {
    b"offset=%d the quick brown fox jumps over the lazy dog, ".iter().copied().cycle().take(bytes).collect()
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn snappy(data: &[u8]) -> Vec<u8> {
    snap::raw::Encoder::new().compress_vec(data).unwrap()
}

fn xerial(data: &[u8]) -> Vec<u8> {
    let mut stream = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".to_vec();
    for block in data.chunks(32 << 10).map(snappy) {
        stream.extend((block.len() as u32).to_be_bytes());
        stream.extend(block);
    }
    stream
}

/// Blocks of 64 KiB; `flags` as in the frame header, without the version.
fn lz4(data: &[u8], flags: u8) -> Vec<u8> {
    let linked = flags & 0x20 == 0;
    let mut frame = vec![0x04, 0x22, 0x4d, 0x18, 0x40 | flags, 0x40];
    frame.extend(std::iter::repeat_n(0, if flags & 0x08 != 0 { 8 } else { 0 } + 1));
    for (index, block) in data.chunks(64 << 10).enumerate() {
        let window = if linked { &data[(index.saturating_sub(1)) << 16..index << 16] } else { &[] };
        let packed = lz4_flex::block::compress_with_dict(block, window);
        if packed.len() < block.len() {
            frame.extend((packed.len() as u32).to_le_bytes());
            frame.extend(packed);
        } else {
            frame.extend((block.len() as u32 | 0x8000_0000).to_le_bytes());
            frame.extend(block);
        }
        frame.extend(std::iter::repeat_n(0, if flags & 0x10 != 0 { 4 } else { 0 }));
    }
    frame.extend(std::iter::repeat_n(0, if flags & 0x04 != 0 { 8 } else { 4 }));
    frame
}

fn zstd(data: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(data, 1).unwrap()
}

/// As Java's streams write it: without the size of the content.
fn zstd_stream(data: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(data, 1).unwrap()
}

type Compress = fn(&[u8]) -> Vec<u8>;

fn samples() -> Vec<(Codec, Compress)> {
    vec![
        (Codec::None, <[u8]>::to_vec),
        (Codec::Gzip, gzip),
        (Codec::Snappy, snappy),
        (Codec::Snappy, xerial),
        (Codec::Lz4, |data| lz4(data, 0x20)),
        (Codec::Lz4, |data| lz4(data, 0x20 | 0x10 | 0x08 | 0x04)),
        (Codec::Lz4, |data| lz4(data, 0)),
        (Codec::Zstd, zstd),
        (Codec::Zstd, zstd_stream),
    ]
}

#[test]
fn one_decompressor_reads_all_codecs_and_sizes_in_turn() {
    let mut decompressor = Decompressor::default();
    let noise = (0..100_000_u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
    for data in [0, 1, 1000, 70_000, 3, 400_000, LIMIT].map(text).into_iter().chain([noise]) {
        for (codec, compress) in samples() {
            let compressed = compress(&data);
            let decompressed = decompressor.decompress(codec, &compressed, LIMIT).unwrap();
            assert!(decompressed == data, "{codec:?} of {} bytes", data.len());
        }
    }
}

#[test]
fn streams_that_follow_each_other_are_one() {
    for (codec, compress) in samples().into_iter().filter(|(codec, _)| *codec != Codec::None) {
        let twice = [compress(&text(500)), compress(&text(70_000))].concat();
        let mut decompressor = Decompressor::default();
        match decompressor.decompress(codec, &twice, LIMIT) {
            Ok(decompressed) => assert!(decompressed == [text(500), text(70_000)].concat(), "{codec:?}"),
            // A raw block of snappy says how long it is.
            Err(_) => assert!(codec == Codec::Snappy && !twice.starts_with(b"\x82SNAPPY")),
        }
    }
}

#[test]
fn the_limit_holds_and_bounds_the_buffer() {
    let data = text(8 * LIMIT);
    for (codec, compress) in samples() {
        let compressed = compress(&data);
        let mut decompressor = Decompressor::default();
        let reason = decompressor.decompress(codec, &compressed, LIMIT).unwrap_err().to_string();
        assert!(reason.contains("more than 1048576 bytes") || reason.contains("claims"), "{codec:?}: {reason}");
        assert!(
            decompressor.output.buffer.len() <= LIMIT + (64 << 10),
            "{codec:?}: {}",
            decompressor.output.buffer.len()
        );
        assert!(decompressor.decompress(codec, &compress(&text(LIMIT)), LIMIT).is_ok(), "{codec:?}");
    }
}

#[test]
fn anything_cut_off_is_refused() {
    let data = text(5000);
    for (codec, compress) in samples().into_iter().filter(|(codec, _)| *codec != Codec::None) {
        let compressed = compress(&data);
        // No bytes at all are an empty stream to zstd.
        for length in 1..compressed.len() {
            let mut decompressor = Decompressor::default();
            if let Ok(decompressed) = decompressor.decompress(codec, &compressed[..length], LIMIT) {
                // Between two blocks of xerial's framing nothing is missing; the count of records tells.
                assert!(codec == Codec::Snappy && data.starts_with(decompressed), "{codec:?} cut at {length}");
            }
        }
    }
}

#[test]
fn sizes_that_lie_allocate_nothing() {
    let mut decompressor = Decompressor::default();
    let claims_4_gib = [0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0];
    assert!(decompressor.decompress(Codec::Snappy, &claims_4_gib, usize::MAX >> 1).is_err());
    // A zstd frame whose content size is 2^60.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0x01, 0, 0];
    assert!(decompressor.decompress(Codec::Zstd, &frame, 1 << 30).is_err());
    assert!(decompressor.output.buffer.len() <= 1 << 17, "{}", decompressor.output.buffer.len());
}

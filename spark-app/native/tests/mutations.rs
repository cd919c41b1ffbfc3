//! Batches changed at random give rows in order or an error: no panic, no hang, no memory beyond the limits.
//! For longer runs there is the fuzz target in `fuzz/`.

mod common;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use common::{CODECS, HEADER_BYTES, Header, Random};
use logpersister_native::{Aborted, Request, Run, decode, select};

const COUNT: usize = 12;
const BASE: i64 = 1000;

fn request(random: &mut Random) -> Request {
    let start = BASE - 5 + random.below(20) as i64;
    Request {
        wanted: start..start + 1 + random.below(60) as i64,
        aborted: (0..random.below(3)).map(|id| Aborted { producer_id: id as i64, first_offset: BASE }).collect(),
        keys: random.below(2) == 0,
        headers: random.below(2) == 0,
        max_bytes: [1, 1000, 1 << 20][random.below(3)],
        max_batch_bytes: 1 << 20,
    }
}

fn check(data: &[u8], request: Request, seed: u64) {
    let wanted = request.wanted.clone();
    let (keys, headers) = (request.keys, request.headers);
    let selected = select(data, request.clone());
    let reads_all = request.max_bytes > data.len() << 8;
    let Ok(Run { batch, next_offset, bytes_used, legacy, .. }) = decode(data, request) else { return };
    if reads_all && legacy.is_empty() {
        let selected = selected.unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
        assert_eq!((selected.records, selected.next_offset), (batch.num_rows() as u64, next_offset), "seed {seed}");
        assert!(selected.kept.iter().all(|kept| kept.end <= bytes_used), "seed {seed}");
    }
    let offsets = batch.column(0).as_primitive::<Int64Type>().values();
    assert!(offsets.windows(2).all(|pair| pair[0] < pair[1]), "seed {seed}: {offsets:?}");
    assert!(offsets.iter().all(|offset| wanted.contains(offset) && *offset < next_offset), "seed {seed}");
    assert!(next_offset >= wanted.start && bytes_used <= data.len(), "seed {seed}");
    assert!(keys || batch.column(2).null_count() == batch.num_rows(), "seed {seed}");
    assert_eq!(batch.num_columns(), 4 + usize::from(headers), "seed {seed}");
    for column in batch.columns() {
        column.to_data().validate_full().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}

/// Two good batches around a changed one.
fn response(random: &mut Random, changed: &[u8], last_offset: i64) -> Vec<u8> {
    let mut good = |base_offset| {
        let codec = CODECS[random.below(5)];
        let records = common::records(random, 3);
        let header = Header { base_offset, attributes: codec.into(), last_offset_delta: 2, producer_id: 1, count: 3 };
        common::batch(&header, &common::compress(codec, &records))
    };
    [&good(BASE - 3)[..], changed, &good(last_offset + 1)].concat()
}

fn header(random: &mut Random, codec: u8) -> Header {
    // None, transactional, control, log append time, delete horizon.
    let flags = [0, 0, 0x10, 0x30, 0x08, 0x40][random.below(6)];
    Header {
        base_offset: BASE,
        attributes: i16::from(codec) | flags,
        last_offset_delta: COUNT as i32 - 1,
        producer_id: random.below(3) as i64 - 1,
        count: COUNT as i32,
    }
}

fn run(seeds: u64, change: impl Fn(&mut Random, Header, u8, Vec<u8>) -> Vec<u8>) {
    for seed in 0..seeds {
        let mut random = Random(seed);
        let codec = CODECS[seed as usize % 5];
        let records = common::records(&mut random, COUNT);
        let header = header(&mut random, codec);
        let changed = change(&mut random, header, codec, records);
        let data = response(&mut random, &changed, BASE + COUNT as i64 - 1);
        check(&data, request(&mut random), seed);
    }
}

#[test]
fn records_changed_before_compression() {
    run(8_000, |random, header, codec, mut records| {
        common::mutate(random, &mut records);
        common::batch(&header, &common::compress(codec, &records))
    });
}

/// Written by Kafka's Java client (`tests/unit/reader/java/MakeBatches.java`): 20 records from offset 1000.
const JAVA: [&[u8]; 5] = [
    include_bytes!("../../../tests/unit/reader/java/none.batch"),
    include_bytes!("../../../tests/unit/reader/java/gzip.batch"),
    include_bytes!("../../../tests/unit/reader/java/snappy.batch"),
    include_bytes!("../../../tests/unit/reader/java/lz4.batch"),
    include_bytes!("../../../tests/unit/reader/java/zstd.batch"),
];

#[test]
fn real_batches_changed_anywhere() {
    for seed in 0..8_000 {
        let mut random = Random(seed);
        let mut batch = JAVA[seed as usize % JAVA.len()].to_vec();
        common::mutate(&mut random, &mut batch);
        if seed % 4 != 0 {
            common::fix_checksum(&mut batch);
        }
        let data = response(&mut random, &batch, BASE + 19);
        check(&data, request(&mut random), seed);
    }
}

#[test]
fn compressed_records_changed() {
    run(8_000, |random, header, codec, records| {
        let mut compressed = common::compress(codec, &records);
        common::mutate(random, &mut compressed);
        common::batch(&header, &compressed)
    });
}

#[test]
fn header_changed_with_a_right_checksum() {
    run(8_000, |random, header, codec, records| {
        let mut batch = common::batch(&header, &common::compress(codec, &records));
        let mut front = batch[..HEADER_BYTES].to_vec();
        common::mutate(random, &mut front);
        front.resize(HEADER_BYTES, 0);
        batch[..HEADER_BYTES].copy_from_slice(&front);
        common::fix_checksum(&mut batch);
        batch
    });
}

#[test]
fn anything_changed_under_the_checksum_is_found() {
    for seed in 0..4_000 {
        let mut random = Random(seed);
        let codec = CODECS[seed as usize % 5];
        let records = common::records(&mut random, COUNT);
        let header = Header { attributes: codec.into(), ..header(&mut random, codec) };
        let mut batch = common::batch(&header, &common::compress(codec, &records));
        let at = 17 + random.below(batch.len() - 17);
        batch[at] ^= 1 << random.below(8);
        let request = Request { wanted: 0..i64::MAX, ..request(&mut random) };
        let error = decode(&batch, request).expect_err("a wrong checksum");
        assert_eq!(error.offset, BASE, "seed {seed}");
        assert!(error.reason.to_string().contains("CRC-32C"), "seed {seed}: {error}");
    }
}

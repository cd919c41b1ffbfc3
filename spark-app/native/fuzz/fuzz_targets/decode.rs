//! Any bytes, with the checksums made right, so that what stands behind them is reached: rows in order, or an error.

#![no_main]

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use libfuzzer_sys::fuzz_target;
use logpersister_native::{Aborted, Request, decode, select};

const OPTIONS: usize = 4;

fuzz_target!(|input: &[u8]| {
    let Some((options, data)) = input.split_at_checked(OPTIONS) else { return };
    let mut data = data.to_vec();
    fix_checksums(&mut data);
    let start = i64::from(options[0]);
    let request = Request {
        wanted: start..start + 1 + (i64::from(options[1]) << (options[2] & 0x3f).min(48)),
        aborted: (0..i64::from(options[3] >> 4)).map(|id| Aborted { producer_id: id, first_offset: 0 }).collect(),
        keys: options[3] & 1 != 0,
        headers: options[3] & 2 != 0,
        max_bytes: 1 << 20,
        max_batch_bytes: 1 << 20,
    };
    let wanted = request.wanted.clone();
    let selected = select(&data, request.clone());
    let Ok(run) = decode(&data, request) else { return };
    if run.next_offset >= wanted.end && run.legacy.is_empty() {
        assert_eq!(selected.map(|found| found.records).ok(), Some(run.batch.num_rows() as u64));
    }
    assert!(run.next_offset >= wanted.start && run.bytes_used <= data.len());
    let mut before = wanted.start - 1;
    for offset in run.batch.column(0).as_primitive::<Int64Type>().values() {
        assert!(*offset > before && wanted.contains(offset) && *offset < run.next_offset);
        before = *offset;
    }
    for column in run.batch.columns() {
        column.to_data().validate_full().unwrap();
    }
});

fn fix_checksums(data: &mut [u8]) {
    let mut rest = data;
    while let Some(length) = rest.get(8..12) {
        let length = u32::from_be_bytes(length.try_into().unwrap()) as usize;
        let Some((batch, behind)) = rest.split_at_mut_checked(length.saturating_add(12)) else { return };
        if batch.len() >= 61 {
            let checksum = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, &batch[21..]) as u32;
            batch[17..21].copy_from_slice(&checksum.to_be_bytes());
        }
        rest = behind;
    }
}

//! Any bytes as an Avro value between two good ones, behind each header, also deflated by Glue: those are stored as always.

#![no_main]

use std::sync::LazyLock;

use arrow_array::BinaryArray;
use arrow_schema::DataType;
use libfuzzer_sys::fuzz_target;
use logpersister_native::{AvroParser, Framing, Inside, REASONS, schema_keys};
use logpersister_native_fuzz::{check, field, list, map, required, schema, structure, timestamp};

const WRITTEN: &str = r#"{"type":"record","name":"R","fields":[
    {"name":"n","type":["int","long"]},{"name":"skipped","type":{"type":"array","items":["null","R",{"type":"map","values":"bytes"}]}},
    {"name":"s","type":["null",{"type":"enum","name":"E","symbols":["A","B"]},"string"]},
    {"name":"l","type":{"type":"array","items":{"type":"record","name":"I","fields":[
        {"name":"d","type":{"type":"fixed","name":"F","size":3,"logicalType":"decimal","precision":5,"scale":1}},
        {"name":"f","type":["null","double"]}]}}},
    {"name":"m","type":{"type":"map","values":["null","bytes"]}},
    {"name":"t","type":["null",{"type":"long","logicalType":"timestamp-millis"}]},
    {"name":"u","type":["null",{"type":"string","logicalType":"uuid"}]}]}"#;
const GOOD: &[u8] =
    b"\x00\x0e\x00\x02\x02\x02\x00\x00\x07\x02\0\0\0\0\0\0\xf8\x3f\x00\x02\x02a\x02\x04hi\x00\x02\x02\x00";
const FRAMINGS: [(Framing, &[u8]); 3] = [
    (Framing::Plain, b""),
    (Framing::Confluent, b"\0\0\0\0\0"),
    (Framing::Glue, b"\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
];

static PARSERS: LazyLock<Vec<AvroParser>> = LazyLock::new(|| {
    let item = structure(vec![required("d", DataType::Decimal128(9, 2)), field("f", DataType::Float64)]);
    let columns = schema(vec![
        required("n", DataType::Int64),
        field("s", DataType::Utf8),
        field("l", list(field("item", item))),
        field("m", map(field("value", DataType::Binary))),
        timestamp("t"),
        field("u", DataType::Utf8),
    ]);
    FRAMINGS
        .iter()
        .map(|(framing, _)| {
            let parser = AvroParser::new(columns.clone(), *framing).unwrap();
            parser.add_writer(0, WRITTEN).unwrap();
            parser
        })
        .collect()
});

fuzz_target!(|input: &[u8]| {
    let mut plain = 0;
    for ((framing, header), parser) in FRAMINGS.iter().zip(PARSERS.iter()) {
        let good = [header, GOOD].concat();
        let mut framed = [header, input].concat();
        if *framing == Framing::Glue && input.starts_with(b"x") {
            framed[1] = 5;
        }
        let values = BinaryArray::from_iter_values([&good[..], &framed, &good]);
        let (rows, _) = parser.parse(&values).unwrap();
        check(&rows);
        let reason = rows.reasons.value(1);
        match framing {
            Framing::Plain => plain = reason,
            Framing::Confluent => assert_eq!(plain, reason),
            _ => assert!(plain == reason || input.starts_with(b"x"), "{}", REASONS[usize::from(reason)]),
        }
        for inside in [Inside::Nothing, Inside::Messages, Inside::Branches] {
            let keys = schema_keys(&values, *framing, inside);
            assert_eq!(keys.indices.len(), 3);
        }
    }
});

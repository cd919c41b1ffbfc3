//! Any bytes as an Avro value between two good ones, behind each header, also deflated by Glue: those are stored as always.

#![no_main]

use std::sync::{Arc, LazyLock};

use arrow_array::BinaryArray;
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use libfuzzer_sys::fuzz_target;
use logpersister_native::{AvroParser, Framing, Inside, REASONS, schema_keys};

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
    let items = Fields::from(vec![
        Field::new("d", DataType::Decimal128(9, 2), false),
        Field::new("f", DataType::Float64, true),
    ]);
    let entries =
        Fields::from(vec![Field::new("key", DataType::Utf8, false), Field::new("value", DataType::Binary, true)]);
    let schema = Arc::new(Schema::new(vec![
        Field::new("n", DataType::Int64, false),
        Field::new("s", DataType::Utf8, true),
        Field::new("l", DataType::List(Arc::new(Field::new("item", DataType::Struct(items), true))), true),
        Field::new("m", DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false), true),
        Field::new("t", DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())), true),
        Field::new("u", DataType::Utf8, true),
    ]));
    FRAMINGS
        .iter()
        .map(|(framing, _)| {
            let parser = AvroParser::new(schema.clone(), *framing).unwrap();
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
        let reasons = rows.reasons.values();
        let last = rows.batch.num_rows() - 1;
        assert_eq!((reasons[0], reasons[2], last == 2), (0, 0, reasons[1] == 0));
        assert_eq!(rows.batch.slice(0, 1), rows.batch.slice(last, 1));
        for column in rows.batch.columns() {
            column.to_data().validate_full().unwrap();
        }
        match framing {
            Framing::Plain => plain = reasons[1],
            Framing::Confluent => assert_eq!(plain, reasons[1]),
            _ => assert!(plain == reasons[1] || input.starts_with(b"x"), "{}", REASONS[usize::from(reasons[1])]),
        }
        for inside in [Inside::Nothing, Inside::Messages, Inside::Branches] {
            let keys = schema_keys(&values, *framing, inside);
            assert_eq!(keys.indices.len(), 3);
        }
    }
});

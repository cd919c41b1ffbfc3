//! Any bytes as a protobuf value between two good ones: those are stored as always.

#![no_main]

use std::sync::LazyLock;

use arrow_array::BinaryArray;
use arrow_schema::DataType;
use libfuzzer_sys::fuzz_target;
use logpersister_native::{Framing, MessageParts, ProtobufParser};
use logpersister_native_fuzz::{check, field, list, map, required, schema, structure, timestamp};

const GOOD: &[u8] = b"\x08\x07\x12\x01a\x1a\x02\x08\x01\x1a\x00\x22\x05\x0a\x01k\x10\x02\x2a\x02\x08\x05";

const SCHEMA: &str = r#"{"roots":[["M",[]]],"enums":{"E":{"closed":true,"values":[[0,"A"],[2,"B"]]}},"messages":{
    "M":[{"number":1,"name":"n","kind":"int64","oneof":0,"presence":true},{"number":2,"name":"s","kind":"string"},
        {"number":3,"name":"l","kind":"message","of":"M","repeated":true},
        {"number":4,"name":"m","kind":"message","of":"Entry","repeated":true,"map":true},
        {"number":5,"name":"t","kind":"message","of":"google.protobuf.Timestamp","oneof":0,"presence":true},
        {"number":6,"name":"g","kind":"group","of":"M","presence":true}],
    "Entry":[{"number":1,"name":"key","kind":"string"},{"number":2,"name":"value","kind":"enum","of":"E"}],
    "google.protobuf.Timestamp":[]}}"#;

static PARSER: LazyLock<ProtobufParser> = LazyLock::new(|| {
    let message = structure(vec![field("n", DataType::Int8), field("s", DataType::Binary)]);
    let fields = vec![
        field("n", DataType::Int64),
        required("s", DataType::Utf8),
        required("l", list(required("item", message.clone()))),
        field("m", map(field("value", DataType::Utf8))),
        timestamp("t"),
        field("g", message),
    ];
    let parser = ProtobufParser::new(schema(fields), Framing::Plain, None).unwrap();
    parser.add_writer(0, SCHEMA).unwrap();
    parser
});

static PARTS: LazyLock<MessageParts> = LazyLock::new(|| {
    let plan = r#"{"steps":[{"number":6,"wire":"group","values":null,"siblings":[]}],"members":[
        {"number":1,"wire":"varint","values":[0,2],"name":"n","kind":"int64"},
        {"number":5,"wire":"sized","values":null,"name":"t","kind":"message"}]}"#;
    MessageParts::new(Framing::Plain, Some(plan)).unwrap()
});

fuzz_target!(|input: &[u8]| {
    let values = BinaryArray::from_iter_values([input, b"\x33\x2a\0\x34", input]);
    let found = PARTS.types(&values);
    assert_eq!(found.names[found.indices.value(1) as usize], b"t");
    assert_eq!(PARTS.bodies(&values).value(1), b"");
    let (rows, _) = PARSER.parse(&BinaryArray::from_iter_values([GOOD, input, GOOD])).unwrap();
    check(&rows);
});

//! Any bytes as MessagePack, as Thrift in both protocols, as a CSV record and as a text for a pattern, between two good values: those are stored as always.

#![no_main]

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow_array::BinaryArray;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use libfuzzer_sys::fuzz_target;
use logpersister_native::{
    CsvParser, CsvSyntax, Faults, MessagePackParser, Options, RegexParser, Rows, ThriftParser, UnknownFields,
};

const PACKED: &[u8] = b"\x83\xa1n\x07\xa1s\xa4text\xa1t\xd6\xff\x6b\x00\x00\x00";
const BINARY: &[u8] = b"\x0a\0\x01\0\0\0\0\0\0\0\x07\x0b\0\x02\0\0\0\x04text\0";
const COMPACT: &[u8] = b"\x16\x0e\x18\x04text\0";
const PLAN: &str = r#"[{"number": 1, "kind": "i64"}, {"number": 2, "kind": "string"}, {"number": 3, "kind": "string"},
    {"number": 4, "kind": {"list": {"struct": [{"number": 1, "kind": "double"}]}}},
    {"number": 5, "kind": {"map": ["i8", "binary"]}}]"#;
const LINE: &[u8] = b"7,text,2026-11-24T05:00:00Z";

/// Of lines.
static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| Arc::new(Schema::new(plain())));
/// Of what has lists and maps.
static NESTED: LazyLock<SchemaRef> = LazyLock::new(|| {
    let item = DataType::Struct(Fields::from(vec![Field::new("f", DataType::Float64, true)]));
    let entries =
        Fields::from(vec![Field::new("key", DataType::Utf8, false), Field::new("value", DataType::Binary, true)]);
    let map = DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false);
    let list = DataType::List(Arc::new(Field::new("item", item, true)));
    Arc::new(Schema::new([plain(), vec![Field::new("l", list, true), Field::new("m", map, true)]].concat()))
});
static MESSAGEPACK: LazyLock<[MessagePackParser; 2]> = LazyLock::new(|| {
    let faults = ["wrongType=convert", "overflow=setNull", "badText=setNull", "duplicates=last", "invalidUtf8=replace"];
    let faults = Faults::from_words(faults.map(|pair| pair.split_once('=').unwrap())).unwrap();
    let json = HashMap::from([("logpersister.notation".into(), "json".into())]);
    let rest = Arc::new(Field::new("_rest", DataType::Utf8, true).with_metadata(json));
    let fields: Vec<_> = NESTED.fields().iter().cloned().chain([rest]).collect();
    let options = Options { unknown_fields: UnknownFields::Keep, faults };
    let lenient = MessagePackParser::new(Arc::new(Schema::new(fields)), options).unwrap();
    [MessagePackParser::new(NESTED.clone(), UnknownFields::Drop).unwrap(), lenient]
});
static THRIFT: LazyLock<[ThriftParser; 2]> =
    LazyLock::new(|| [false, true].map(|is_compact| ThriftParser::new(NESTED.clone(), PLAN, is_compact).unwrap()));
static CSV: LazyLock<CsvParser> = LazyLock::new(|| {
    let syntax = CsvSyntax { delimiter: b',', quote: Some(b'"'), escape: Some(b'\\'), null: Vec::new() };
    CsvParser::new(SCHEMA.clone(), syntax, &["n", "s", "t"].map(String::from), UnknownFields::Drop).unwrap()
});
static REGEX: LazyLock<RegexParser> = LazyLock::new(|| {
    RegexParser::new(SCHEMA.clone(), r"(?P<n>-?\d+),(?P<s>(?:[^,\\]|\\.)*)(?:,(?P<t>\S+))?", None, Faults::default())
        .unwrap()
});

fn plain() -> Vec<Field> {
    vec![
        Field::new("n", DataType::Int64, false),
        Field::new("s", DataType::Utf8, true),
        Field::new("t", DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())), true),
    ]
}

fn check(rows: &Rows) {
    let reasons = rows.reasons.values();
    let last = rows.batch.num_rows() - 1;
    assert_eq!((reasons[0], reasons[2], last == 2), (0, 0, reasons[1] == 0));
    assert_eq!(rows.batch.slice(0, 1), rows.batch.slice(last, 1));
    for column in rows.batch.columns() {
        column.to_data().validate_full().unwrap();
    }
}

fuzz_target!(|input: &[u8]| {
    for parser in &*MESSAGEPACK {
        check(&parser.parse(&BinaryArray::from_iter_values([PACKED, input, PACKED])).unwrap());
    }
    for (parser, good) in THRIFT.iter().zip([BINARY, COMPACT]) {
        check(&parser.parse(&BinaryArray::from_iter_values([good, input, good])).unwrap());
    }
    let lines = BinaryArray::from_iter_values([LINE, input, LINE]);
    check(&CSV.parse(&lines).unwrap());
    check(&REGEX.parse(&lines).unwrap());
});

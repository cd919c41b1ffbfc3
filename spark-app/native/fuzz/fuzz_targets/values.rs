//! Any bytes as MessagePack, as Thrift in both protocols, as a CSV record and as a text for a pattern, between two good values: those are stored as always.

#![no_main]

use std::sync::LazyLock;

use arrow_array::BinaryArray;
use arrow_schema::{DataType, Field};
use libfuzzer_sys::fuzz_target;
use logpersister_native::{
    CsvParser, CsvSyntax, Faults, MessagePackParser, Options, RegexParser, ThriftParser, UnknownFields,
};
use logpersister_native_fuzz::{check, field, list, map, noted, required, schema, structure, timestamp};

const PACKED: &[u8] = b"\x83\xa1n\x07\xa1s\xa4text\xa1t\xd6\xff\x6b\x00\x00\x00";
const BINARY: &[u8] = b"\x0a\0\x01\0\0\0\0\0\0\0\x07\x0b\0\x02\0\0\0\x04text\0";
const COMPACT: &[u8] = b"\x16\x0e\x18\x04text\0";
const PLAN: &str = r#"[{"number": 1, "kind": "i64"}, {"number": 2, "kind": "string"}, {"number": 3, "kind": "string"},
    {"number": 4, "kind": {"list": {"struct": [{"number": 1, "kind": "double"}]}}},
    {"number": 5, "kind": {"map": ["i8", "binary"]}}]"#;
const LINE: &[u8] = b"7,text,2026-11-24T05:00:00Z";

static MESSAGEPACK: LazyLock<[MessagePackParser; 2]> = LazyLock::new(|| {
    let faults = ["wrongType=convert", "overflow=setNull", "badText=setNull", "duplicates=last", "invalidUtf8=replace"];
    let faults = Faults::from_words(faults.map(|pair| pair.split_once('=').unwrap())).unwrap();
    let lenient = [nested(), vec![noted(field("_rest", DataType::Utf8), "json")]].concat();
    let lenient = MessagePackParser::new(schema(lenient), Options { unknown_fields: UnknownFields::Keep, faults });
    [MessagePackParser::new(schema(nested()), UnknownFields::Drop).unwrap(), lenient.unwrap()]
});
static THRIFT: LazyLock<[ThriftParser; 2]> =
    LazyLock::new(|| [false, true].map(|is_compact| ThriftParser::new(schema(nested()), PLAN, is_compact).unwrap()));
static CSV: LazyLock<CsvParser> = LazyLock::new(|| {
    let syntax = CsvSyntax { delimiter: b',', quote: Some(b'"'), escape: Some(b'\\'), null: Vec::new() };
    CsvParser::new(schema(lines()), syntax, &["n", "s", "t"].map(String::from), UnknownFields::Drop).unwrap()
});
static REGEX: LazyLock<RegexParser> = LazyLock::new(|| {
    RegexParser::new(schema(lines()), r"(?P<n>-?\d+),(?P<s>(?:[^,\\]|\\.)*)(?:,(?P<t>\S+))?", None, Faults::default())
        .unwrap()
});

fn lines() -> Vec<Field> {
    vec![required("n", DataType::Int64), field("s", DataType::Utf8), timestamp("t")]
}

/// Columns of what has lists and maps.
fn nested() -> Vec<Field> {
    let items = list(field("item", structure(vec![field("f", DataType::Float64)])));
    [lines(), vec![field("l", items), field("m", map(field("value", DataType::Binary)))]].concat()
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

//! Any bytes as a value between two good ones: those are stored as always, and what is accepted is JSON. With all options
//! what was accepted without them stays what it is.

#![no_main]

use std::sync::LazyLock;

use arrow_array::BinaryArray;
use arrow_schema::{DataType, Field};
use libfuzzer_sys::fuzz_target;
use logpersister_native::{Faults, Options, RowParser, Rows, UnknownFields, not_json};
use logpersister_native_fuzz::{check, field, list, map, noted, required, schema, structure, timestamp};

const GOOD: &[u8] = br#"{"n":7,"s":"text","l":[{"d":1.5},null],"m":{"a":"aGk="},"t":"2026-11-23T19:25:23Z","j":[1]}"#;

static SCHEMA: LazyLock<Vec<Field>> = LazyLock::new(|| {
    let item = structure(vec![required("d", DataType::Decimal128(9, 2)), field("f", DataType::Float32)]);
    vec![
        required("n", DataType::Int64),
        field("s", DataType::Utf8),
        field("l", list(field("item", item))),
        field("m", map(field("value", DataType::Binary))),
        timestamp("t"),
        noted(field("j", DataType::Utf8), "json"),
    ]
});

static PARSER: LazyLock<RowParser> =
    LazyLock::new(|| RowParser::new(schema(SCHEMA.clone()), UnknownFields::Drop).unwrap());

static LENIENT: LazyLock<[RowParser; 2]> = LazyLock::new(|| {
    ["first", "last"].map(|which| {
        let words = [("wrongType", "convert"), ("overflow", "setNull"), ("badText", "setNull")];
        let more = [("duplicates", which), ("invalidUtf8", "replace")];
        let faults = Faults::from_words(words.into_iter().chain(more)).unwrap();
        let fields = [SCHEMA.clone(), vec![noted(field("_rest", DataType::Utf8), "json")]].concat();
        let options = Options { unknown_fields: UnknownFields::Keep, faults };
        RowParser::new(schema(fields), options).unwrap()
    })
});

fn parse(parser: &RowParser, input: &[u8]) -> Rows {
    let rows = parser.parse(&BinaryArray::from_iter_values([GOOD, input, GOOD])).unwrap();
    check(&rows);
    rows
}

fuzz_target!(|input: &[u8]| {
    let rows = parse(&PARSER, input);
    for lenient in &*LENIENT {
        let found = parse(lenient, input);
        let (strict, adjusted) = (rows.reasons.value(1) == 0, !found.adjusted.records.is_empty());
        if strict && found.reasons.value(1) == 0 && !adjusted {
            let columns: Vec<_> = (0..SCHEMA.len()).collect();
            assert_eq!(found.batch.project(&columns).unwrap().columns(), rows.batch.columns());
        }
        assert!(adjusted || strict || found.reasons.value(1) != 0);
        let last = found.batch.column(SCHEMA.len());
        let kept = BinaryArray::from_iter(
            arrow_array::cast::AsArray::as_string::<i32>(last).iter().map(|text| text.map(str::as_bytes)),
        );
        assert!(not_json(&kept).rows.is_empty());
    }
    let is_json = not_json(&BinaryArray::from_iter_values([input])).rows.is_empty();
    assert!(is_json || rows.reasons.value(1) != 0);
});

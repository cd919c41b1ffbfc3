//! Any bytes as a value between two good ones: those are stored as always, and what is accepted is JSON. With all options
//! what was accepted without them stays what it is.

#![no_main]

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow_array::BinaryArray;
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use libfuzzer_sys::fuzz_target;
use logpersister_native::{Faults, Options, RowParser, Rows, UnknownFields, not_json};

const GOOD: &[u8] = br#"{"n":7,"s":"text","l":[{"d":1.5},null],"m":{"a":"aGk="},"t":"2026-11-23T19:25:23Z","j":[1]}"#;

static SCHEMA: LazyLock<Vec<Field>> = LazyLock::new(|| {
    let items = Fields::from(vec![
        Field::new("d", DataType::Decimal128(9, 2), false),
        Field::new("f", DataType::Float32, true),
    ]);
    let entries =
        Fields::from(vec![Field::new("key", DataType::Utf8, false), Field::new("value", DataType::Binary, true)]);
    let json = HashMap::from([("logpersister.notation".into(), "json".into())]);
    vec![
        Field::new("n", DataType::Int64, false),
        Field::new("s", DataType::Utf8, true),
        Field::new("l", DataType::List(Arc::new(Field::new("item", DataType::Struct(items), true))), true),
        Field::new("m", DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false), true),
        Field::new("t", DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())), true),
        Field::new("j", DataType::Utf8, true).with_metadata(json),
    ]
});

static PARSER: LazyLock<RowParser> =
    LazyLock::new(|| RowParser::new(Arc::new(Schema::new(SCHEMA.clone())), UnknownFields::Drop).unwrap());

static LENIENT: LazyLock<[RowParser; 2]> = LazyLock::new(|| {
    ["first", "last"].map(|which| {
        let words = [("wrongType", "convert"), ("overflow", "setNull"), ("badText", "setNull")];
        let more = [("duplicates", which), ("invalidUtf8", "replace")];
        let faults = Faults::from_words(words.into_iter().chain(more)).unwrap();
        let mut fields = SCHEMA.clone();
        let json = HashMap::from([("logpersister.notation".into(), "json".into())]);
        fields.push(Field::new("_rest", DataType::Utf8, true).with_metadata(json));
        let options = Options { unknown_fields: UnknownFields::Keep, faults };
        RowParser::new(Arc::new(Schema::new(fields)), options).unwrap()
    })
});

fn parse(parser: &RowParser, input: &[u8]) -> Rows {
    let rows = parser.parse(&BinaryArray::from_iter_values([GOOD, input, GOOD])).unwrap();
    let reasons = rows.reasons.values();
    let last = rows.batch.num_rows() - 1;
    assert_eq!((reasons[0], reasons[2], last == 2), (0, 0, reasons[1] == 0));
    assert_eq!(rows.batch.slice(0, 1), rows.batch.slice(last, 1));
    for column in rows.batch.columns() {
        column.to_data().validate_full().unwrap();
    }
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

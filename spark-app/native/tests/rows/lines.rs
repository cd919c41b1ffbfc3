//! Rows as JSON lines: each line is the value that the row came from, written one way, and becomes the same row again.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Float64Array, Int64Array, RecordBatch, TimestampMillisecondArray};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use logpersister_native::json_lines;

use crate::common::Random;
use crate::{field, list, map, noted, parse, parser, required, structure};

fn lines(rows: &RecordBatch) -> Vec<String> {
    let text = String::from_utf8(json_lines(rows).unwrap()).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(str::to_owned).collect()
}

fn one(name: &str, column: ArrayRef) -> RecordBatch {
    let schema = Schema::new(vec![field(name, column.data_type().clone())]);
    RecordBatch::try_new(Arc::new(schema), vec![column]).unwrap()
}

fn utc(unit: TimeUnit) -> DataType {
    DataType::Timestamp(unit, Some("UTC".into()))
}

fn every_type() -> Vec<Field> {
    let inner = vec![required("a\"ß", DataType::Int8), field("b", list(field("element", DataType::Int16)))];
    vec![
        field("bool", DataType::Boolean),
        field("i32", DataType::Int32),
        field("i64", DataType::Int64),
        field("f32", DataType::Float32),
        field("f64", DataType::Float64),
        field("decimal", DataType::Decimal128(38, 3)),
        field("whole", DataType::Decimal128(5, 0)),
        field("date", DataType::Date32),
        field("tms", DataType::Time32(TimeUnit::Millisecond)),
        field("tus", DataType::Time64(TimeUnit::Microsecond)),
        field("s", utc(TimeUnit::Second)),
        field("ms", utc(TimeUnit::Millisecond)),
        field("us", utc(TimeUnit::Microsecond)),
        field("ns", utc(TimeUnit::Nanosecond)),
        field("text", DataType::Utf8),
        noted(field("bytes", DataType::Binary), "base64"),
        noted(field("json", DataType::Utf8), "json"),
        field("struct", structure(inner)),
        field("map", map(field("value", list(field("element", DataType::Utf8))))),
    ]
}

const ROWS: [&str; 3] = [
    concat!(
        r#"{"bool":true,"i32":-2147483648,"i64":9223372036854775807,"f32":0.1,"f64":1e+300,"decimal":-0.050,"whole":-7,"#,
        r#""date":"0001-01-01","tms":"23:59:59.999","tus":"00:00:00.000001","s":"1969-12-31T23:59:59Z","#,
        r#""ms":"9999-12-31T23:59:59.999Z","us":"2024-02-29T00:00:00.000001Z","ns":"1969-12-31T23:59:59.999999999Z","#,
        r#""text":"\"\\\b\f\n\r\t\u0000π😀/","bytes":"AAEC/w==","json":{"a":[1,{"b":null}],"c":" \n "},"#,
        r#""struct":{"a\"ß":-128,"b":[1,null,-3]},"map":{"x\n":["1",null],"":[]}}"#
    ),
    concat!(
        r#"{"bool":false,"i32":0,"i64":0,"f32":-0.0,"f64":5e-324,"decimal":12345678901234567890123456789012345.678,"#,
        r#""whole":0,"date":"2026-11-24","tms":"00:00:00.000","tus":"12:34:56.789012","s":"0001-01-01T00:00:00Z","#,
        r#""ms":"2026-11-24T05:00:00.123Z","us":"1582-10-15T00:00:00.000000Z","ns":"2262-04-11T23:47:16.854775807Z","#,
        r#""text":"","bytes":"","json":1e5,"struct":{"a\"ß":0,"b":[]},"map":{}}"#
    ),
    concat!(
        r#"{"bool":null,"i32":null,"i64":null,"f32":null,"f64":null,"decimal":null,"whole":null,"date":null,"tms":null,"#,
        r#""tus":null,"s":null,"ms":null,"us":null,"ns":null,"text":null,"bytes":null,"json":null,"#,
        r#""struct":{"a\"ß":1,"b":null},"map":{"k":null}}"#
    ),
];

#[test]
fn every_type_is_written_as_it_is_read() {
    let rows = parse(&parser(every_type()), &ROWS);
    assert_eq!(lines(&rows.batch), ROWS);
}

#[test]
fn slices_of_columns_are_written_as_they_are_alone() {
    let batch = parse(&parser(every_type()), &[ROWS[0], ROWS[1], ROWS[2], ROWS[1], ROWS[0]]).batch;
    for begin in 0..5 {
        for length in 0..=5 - begin {
            let expected = [ROWS[0], ROWS[1], ROWS[2], ROWS[1], ROWS[0]];
            assert_eq!(lines(&batch.slice(begin, length)), expected[begin..begin + length]);
        }
    }
}

#[test]
fn floats_and_instants_come_back_whatever_they_are() {
    let mut random = Random(4711);
    let doubles: Vec<f64> =
        (0..2_000).map(|_| f64::from_bits(random.next())).filter(|double| double.is_finite()).collect();
    let seconds: Vec<i64> = (0..2_000).map(|_| (random.next() % 315_537_897_600) as i64 - 62_135_596_800).collect();
    for (data_type, column) in [
        (DataType::Float64, Arc::new(Float64Array::from(doubles)) as ArrayRef),
        (
            utc(TimeUnit::Millisecond),
            Arc::new(
                TimestampMillisecondArray::from_iter_values(
                    seconds.iter().map(|second| second * 1_000 + second.rem_euclid(1_000)),
                )
                .with_timezone("UTC"),
            ),
        ),
    ] {
        let written = one("v", column);
        assert_eq!(parse(&parser(vec![field("v", data_type)]), &lines(&written)).batch.column(0), written.column(0));
    }
}

#[test]
fn what_json_has_no_number_for_is_text() {
    let column = Float64Array::from(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
    let expected = [r#"{"v":"NaN"}"#, r#"{"v":"Infinity"}"#, r#"{"v":"-Infinity"}"#];
    assert_eq!(lines(&one("v", Arc::new(column))), expected);
}

#[test]
fn instants_outside_of_four_digit_years_have_a_sign() {
    let column = TimestampMillisecondArray::from(vec![i64::MIN, -62_198_755_200_000, 253_402_300_800_000, i64::MAX]);
    let expected = [
        r#"{"v":"-292275055-05-16T16:47:04.192Z"}"#,
        r#"{"v":"-000001-01-01T00:00:00.000Z"}"#,
        r#"{"v":"+010000-01-01T00:00:00.000Z"}"#,
        r#"{"v":"+292278994-08-17T07:12:55.807Z"}"#,
    ];
    assert_eq!(lines(&one("v", Arc::new(column.with_timezone("UTC")))), expected);
}

#[test]
fn bytes_are_written_by_their_notation() {
    let values: ArrayRef =
        Arc::new(BinaryArray::from_opt_vec(vec![Some(b"a\"\xc3\x9f"), Some(b"\xff\0"), None, Some(b"")]));
    let fields = vec![
        noted(field("text", DataType::Binary), "text"),
        noted(field("bytes", DataType::Binary), "base64"),
        field("n", DataType::Int64),
    ];
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3, 4]));
    let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![values.clone(), values, numbers]).unwrap();
    let expected = [
        r#"{"text":"a\"ß","bytes":"YSLDnw==","n":1}"#,
        r#"{"text_base64":"/wA=","bytes":"/wA=","n":2}"#,
        r#"{"text":null,"bytes":null,"n":3}"#,
        r#"{"text":"","bytes":"","n":4}"#,
    ];
    assert_eq!(lines(&rows), expected);
}

#[test]
fn documents_are_one_line() {
    let document: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"{\r\n \"a\": [\n1,\t2],\n\"b\": \"\\n\"}"]));
    let schema = Schema::new(vec![noted(field("v", DataType::Binary), "json")]);
    let rows = RecordBatch::try_new(Arc::new(schema), vec![document]).unwrap();
    assert_eq!(lines(&rows), ["{\"v\":{   \"a\": [ 1,\t2], \"b\": \"\\n\"}}"]);
}

#[test]
fn columns_that_cannot_be_written_are_named() {
    let schema = Schema::new(vec![field("a", structure(vec![field("b", list(field("element", DataType::UInt8)))]))]);
    let error = json_lines(&RecordBatch::new_empty(Arc::new(schema))).unwrap_err();
    assert_eq!(error, "a.b[]: the type UInt8 cannot be written");
}

//! What strings, booleans, bytes, JSON and nested types take.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, BinaryArray, Int32Array, StringArray};
use arrow_schema::DataType;

use crate::{column, field, list, map, noted, parse, parser, refused, required, structure, verdict};

#[test]
fn strings_have_their_escapes_resolved() {
    let cases = [
        (r#""""#, ""),
        (r#""plain text, longer than a word""#, "plain text, longer than a word"),
        (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r#""a\u00e9\u0041\u20AC \ud83d\ude00\uDBFF\uDFFF\u0000z""#, "aéA€ 😀\u{10ffff}\0z"),
        ("\"π 😀 \u{2028}\u{7f}\"", "π 😀 \u{2028}\u{7f}"),
        (r#""1234567\n""#, "1234567\n"),
        (r#""12345678\n87654321\"1234567""#, "12345678\n87654321\"1234567"),
    ];
    let array = column(&field("v", DataType::Utf8), &cases.map(|(text, _)| text));
    assert_eq!(array.as_string::<i32>(), &StringArray::from_iter_values(cases.map(|(_, value)| value)));
    refused(&field("v", DataType::Utf8), "wrong_type", &["1", "true", "[]", "{}", "[\"a\"]"]);
}

#[test]
fn every_byte_ends_or_goes_on_a_string_as_it_should_at_every_place() {
    let parser = parser(vec![field("v", DataType::Utf8)]);
    for length in 0..20 {
        for at in 0..length {
            for byte in 0..=0x7f_u8 {
                let mut text = vec![b'x'; length];
                text[at] = byte;
                let value = [b"{\"v\":\"", &text[..], b"\"}"].concat();
                let rows = parse(&parser, &[&value]);
                if matches!(byte, b'"' | b'\\' | ..b' ') {
                    assert_eq!(rows.reasons.value(0), 3, "{byte} at {at} of {length}");
                } else {
                    assert_eq!(rows.batch.column(0).as_string::<i32>().value(0).as_bytes(), text);
                }
            }
        }
    }
}

#[test]
fn base64_is_that_of_rfc_4648() {
    let field = field("v", DataType::Binary);
    let array = column(&field, &["\"\"", "\"Zg==\"", "\"Zm8=\"", "\"Zm9v\"", "\"+/8=\"", r#""\u0061Gk=""#]);
    let values: [&[u8]; 6] = [b"", b"f", b"fo", b"foo", b"\xfb\xff", b"hi"];
    assert_eq!(array.as_binary::<i32>(), &BinaryArray::from_iter_values(values));
    let bad = ["=", "a", "aa", "aGk", "aGl=", "aB==", "====", "aa==aa==", "aGk=\\n", "a-_b"];
    refused(&field, "bad_text", &bad.map(|text| format!("\"{text}\"")));
    refused(&field, "wrong_type", &["1", "[1]", "{}", "false"]);
}

#[test]
fn json_stays_as_it_stands_without_white_space() {
    let field = noted(field("v", DataType::Utf8), "json");
    let cases = [
        ("1.0", "1.0"),
        (" -1e400 ", "-1e400"),
        (
            "\t{ \"b\" : [ 1 , 1e2 ] ,\n \"a\\u0041\" : \" x \\\" y\\\\\" }\r\n",
            r#"{"b":[1,1e2],"a\u0041":" x \" y\\"}"#,
        ),
        (r#"{"a":1,"a":2}"#, r#"{"a":1,"a":2}"#),
        ("\"null\"", "\"null\""),
        ("[ null ]", "[null]"),
        ("\"é 😀\"", "\"é 😀\""),
    ];
    let array = column(&field, &cases.map(|(text, _)| text));
    assert_eq!(array.as_string::<i32>(), &StringArray::from_iter_values(cases.map(|(_, value)| value)));
    assert!(column(&field, &["null"]).is_null(0));
    assert_eq!(verdict(&parser(vec![field.with_nullable(false)]), "{\"v\":null}"), ("missing", "v".into()));
}

#[test]
fn maps_keep_their_order_and_have_no_key_twice() {
    let field = field("v", map(field("value", DataType::Int64)));
    let array = column(&field, &[r#"{"b":1,"a":null,"":3}"#, "{}", "null", r#"{"\u0062":4}"#]);
    let array = array.as_map();
    assert_eq!(array.keys().as_string::<i32>(), &StringArray::from(vec!["b", "a", "", "b"]));
    assert_eq!(
        array.values().as_primitive::<Int64Type>().iter().collect::<Vec<_>>(),
        [Some(1), None, Some(3), Some(4)]
    );
    assert_eq!((array.value_offsets(), array.null_count()), (&[0, 3, 3, 3, 4][..], 1));
    refused(&field, "wrong_type", &["1", "[]", "\"{}\""]);

    let parser = parser(vec![field]);
    for entries in [2, 3, 8, 9, 10, 100, 1000] {
        for twice in [1, entries / 2, entries - 1] {
            let names: Vec<_> = (0..entries).map(|entry| format!("\"key {entry}\":{entry}")).collect();
            let good = format!("{{\"v\":{{{}}}}}", names.join(","));
            let bad = format!("{{\"v\":{{{},\"k\\u0065y {twice}\":7}}}}", names.join(","));
            let rows = parse(&parser, &[&good, &bad, &good]);
            assert_eq!(rows.reasons.values(), &[0, 8, 0]);
            assert_eq!(rows.paths.value(1), "v{}");
        }
    }
}

#[test]
fn structs_that_are_null_have_nothing_in_them() {
    let inner = structure(vec![
        required("number", DataType::Int32),
        required("items", list(required("item", DataType::Utf8))),
        required("inner", structure(vec![required("flag", DataType::Boolean), field("text", DataType::Utf8)])),
        field("tags", map(field("value", DataType::Utf8))),
    ]);
    let values = [
        "null",
        r#"{"number":1,"items":["a"],"inner":{"flag":true}}"#,
        r#"{"inner":{"text":"t","flag":false},"tags":{"a":"b"},"items":[],"number":2}"#,
    ];
    let array = column(&field("v", inner), &values);
    let structs = array.as_struct();
    assert_eq!((structs.is_null(0), structs.null_count()), (true, 1));
    assert_eq!(structs.column(0).as_primitive::<Int32Type>(), &Int32Array::from(vec![0, 1, 2]));
    assert_eq!(structs.column(1).null_count(), 0);
    assert_eq!(
        structs.column(2).as_struct().column(1).as_string::<i32>().iter().collect::<Vec<_>>(),
        [None, None, Some("t")]
    );
}

#[test]
fn short_items_cannot_take_all_memory() {
    let wide = (0..100).map(|index| field(&format!("c{index}"), DataType::Decimal128(38, 0))).collect();
    let parser = parser(vec![field("v", list(field("item", structure(wide))))]);
    let items = |count| format!("{{\"v\": [{}]}}", vec!["{}"; count].join(","));
    assert_eq!(
        [2, 200].map(|count| verdict(&parser, items(count))),
        [("accepted", String::new()), ("overflow", "v[]".into())]
    );
}

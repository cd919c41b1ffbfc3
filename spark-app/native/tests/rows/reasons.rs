//! Which reason and which path a value gets that is no row, and which schemas cannot be read.

use std::sync::Arc;

use arrow_array::{Array, BinaryArray};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use logpersister_native::{RowParser, UnknownFields};

use crate::{field, list, map, noted, parser, required, structure, verdict};

/// A field of each nested kind, with required ones in them.
fn nested() -> Vec<Field> {
    let item = structure(vec![required("price", DataType::Float64), field("sku", DataType::Utf8)]);
    let deep = structure(vec![field("tags", map(required("value", list(required("item", DataType::Int8)))))]);
    vec![
        required("id", DataType::Int64),
        field("at", DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))),
        field("items", list(field("item", item))),
        field("tags", map(field("value", DataType::Utf8))),
        field("deep", deep),
        noted(field("any", DataType::Utf8), "json"),
    ]
}

#[test]
fn each_fault_has_its_reason_and_path() {
    let parser = parser(nested());
    let cases: [(&str, &str, &str); 51] = [
        (r#"{"id":1}"#, "accepted", ""),
        (r#" { "id" : 1 , "x" : [ { } ] } "#, "accepted", ""),
        ("", "not_json", ""),
        ("  ", "not_json", ""),
        ("{\"id\":1", "not_json", ""),
        ("{\"id\":1}}", "not_json", ""),
        ("{\"id\":1} {}", "not_json", ""),
        ("{\"id\":1,}", "not_json", ""),
        ("{\"id\":01}", "not_json", ""),
        ("{\"id\":1a}", "not_json", ""),
        ("{\"id\" 1}", "not_json", ""),
        ("{\"id\":nul}", "not_json", ""),
        ("{id:1}", "not_json", ""),
        ("{\"id\":1,\"any\":[1,}}", "not_json", ""),
        ("{\"id\":1,\"x\":{\"y\":tru}}", "not_json", ""),
        ("{\"id\":1,\"x\":\"\t\"}", "not_json", ""),
        ("\u{feff}{\"id\":1}", "not_json", ""),
        // What is wrong as a whole goes before what is wrong with a field, wherever both are.
        ("{\"id\":\"text\",\"at\":}", "not_json", ""),
        ("{\"id\":1,\"id\":2", "not_json", ""),
        ("{\"id\":\"text\",\"x\":\"\\ud800\"}", "bad_text", ""),
        ("null", "not_an_object", ""),
        ("[]", "not_an_object", ""),
        (" [{\"id\":1}]", "not_an_object", ""),
        ("1", "not_an_object", ""),
        ("\"{}\"", "not_an_object", ""),
        ("{}", "missing", "id"),
        ("{\"id\":null}", "missing", "id"),
        ("{\"items\":[{\"price\":null}]}", "missing", "items[].price"),
        ("{\"items\":[null,{\"price\":1},{\"sku\":\"a\"}]}", "missing", "items[].price"),
        ("{\"deep\":{\"tags\":{\"a\":[1],\"b\":null}}}", "missing", "deep.tags{}"),
        ("{\"deep\":{\"tags\":{\"a\":[1,null]}}}", "missing", "deep.tags{}[]"),
        ("{\"id\":\"1\"}", "wrong_type", "id"),
        ("{\"id\":1.5}", "wrong_type", "id"),
        ("{\"items\":{}}", "wrong_type", "items"),
        ("{\"items\":[1]}", "wrong_type", "items[]"),
        ("{\"items\":[{\"price\":\"1\"}]}", "wrong_type", "items[].price"),
        ("{\"tags\":[]}", "wrong_type", "tags"),
        ("{\"tags\":{\"secret\":1}}", "wrong_type", "tags{}"),
        ("{\"deep\":1}", "wrong_type", "deep"),
        ("{\"deep\":{\"tags\":{\"secret\":[[]]}}}", "wrong_type", "deep.tags{}[]"),
        ("{\"id\":9223372036854775808}", "overflow", "id"),
        ("{\"items\":[{\"price\":1e309}]}", "overflow", "items[].price"),
        ("{\"deep\":{\"tags\":{\"a\":[128]}}}", "overflow", "deep.tags{}[]"),
        ("{\"id\":1,\"id\":1}", "duplicate", "id"),
        ("{\"id\":1,\"at\":null,\"\\u0061t\":null}", "duplicate", "at"),
        ("{\"items\":[{\"price\":1,\"price\":\"x\"}]}", "duplicate", "items[].price"),
        ("{\"tags\":{\"a\":\"b\",\"\\u0061\":null}}", "duplicate", "tags{}"),
        ("{\"at\":\"yesterday\"}", "bad_text", "at"),
        ("{\"id\":1,\"x\":\"\\udc00\"}", "bad_text", ""),
        ("{\"id\":1,\"any\":[\"\\ud800\\u0041\"]}", "bad_text", ""),
        ("{\"id\":1,\"tags\":{\"\\ud800x\":null}}", "bad_text", ""),
    ];
    for (value, reason, path) in cases {
        assert_eq!(verdict(&parser, value), (reason, path.to_owned()), "{value}");
    }
    for value in [&b"\xff"[..], b"{\"id\":1,\"x\":\"\xed\xa0\x80\"}", b"{\"id\":1}\x80", b"{\"id\":\xc3"] {
        assert_eq!(verdict(&parser, value), ("not_utf8", String::new()));
    }
}

#[test]
fn nulls_slices_and_no_values() {
    let parser = parser(nested());
    let values = BinaryArray::from_opt_vec(vec![Some(b"["), None, Some(b"{\"id\":7}"), None, Some(b"{}")]);
    let rows = parser.parse(&values.slice(1, 4)).unwrap();
    assert_eq!((&rows.reasons.values()[..], rows.batch.num_rows()), (&[1, 0, 1, 5][..], 1));
    assert_eq!(rows.paths.iter().collect::<Vec<_>>(), [None, None, None, Some("id")]);
    for nothing in [values.slice(0, 0), BinaryArray::new_null(3)] {
        let rows = parser.parse(&nothing).unwrap();
        assert_eq!((rows.batch.num_rows(), rows.reasons.len()), (0, nothing.len()));
    }
}

#[test]
fn unknown_fields_are_dropped_or_refused() {
    let parser = RowParser::new(Arc::new(Schema::new(nested())), UnknownFields::Refuse).unwrap();
    let cases = [
        ("{\"id\":1}", "accepted", ""),
        ("{\"id\":1,\"secret\":2}", "unknown_field", ""),
        ("{\"id\":1,\"deep\":{\"secret\":2}}", "unknown_field", "deep"),
        ("{\"items\":[{\"secret\":2}]}", "unknown_field", "items[]"),
        ("{\"id\":1,\"any\":{\"secret\":2},\"tags\":{\"secret\":\"\"}}", "accepted", ""),
    ];
    for (value, reason, path) in cases {
        assert_eq!(verdict(&parser, value), (reason, path.to_owned()), "{value}");
    }
}

#[test]
fn dropped_and_json_fields_may_have_anything_that_is_json() {
    let parser = parser(nested());
    for value in ["1e999", "-0", "{\"a\":1,\"a\":[]}", "123456789012345678901234567890", "\"\\u0000\\ud83d\\ude00\""] {
        assert_eq!(verdict(&parser, format!("{{\"id\":1,\"x\":{value},\"any\":{value},\"x\":1}}")).0, "accepted");
    }
}

#[test]
fn nesting_has_a_limit_wherever_it_is() {
    let parser = parser(nested());
    for place in ["any", "x"] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[\"[\",", " ]")] {
            let value = |depth| format!("{{\"id\":1,\"{place}\":{}0{}}}", open.repeat(depth), close.repeat(depth));
            assert_eq!(verdict(&parser, value(63)).0, "accepted");
            assert_eq!(verdict(&parser, value(64)), ("too_deep", String::new()));
            assert_eq!(verdict(&parser, value(1_000_000)), ("too_deep", String::new()));
            assert_eq!(verdict(&parser, value(1_000_000).trim_end_matches('}')).0, "not_json");
            assert_eq!(verdict(&parser, open.repeat(1_000_000)).0, "not_json");
        }
    }
    assert_eq!(verdict(&parser, format!("{{\"id\":1,\"x\":[{}0]}}", "[],".repeat(1000))).0, "accepted");
    assert_eq!(
        verdict(&parser, format!("{{\"id\":\"wrong\",\"x\":{}1{}}}", "[".repeat(64), "]".repeat(64))).0,
        "too_deep"
    );
}

#[test]
fn a_schema_may_go_as_deep_as_a_value() {
    let deep = |levels: usize| {
        (1..levels).fold(DataType::Int8, |inner, level| match level % 3 {
            0 => list(field("item", inner)),
            1 => structure(vec![field("f", inner)]),
            _ => map(field("value", inner)),
        })
    };
    let parser = parser(vec![field("v", deep(64))]);
    let path = verdict(&parser, deepest(64)).1;
    assert!(path.starts_with("v.f[]{}.f[]{}") || path.starts_with('v'), "{path}");
    let error = RowParser::new(Arc::new(Schema::new(vec![field("v", deep(65))])), UnknownFields::Drop).unwrap_err();
    assert!(error.ends_with("at most 64 types may stand in each other"), "{error}");
}

/// A value for the schema above, with a wrong one at its bottom.
fn deepest(levels: usize) -> String {
    let inner = (1..levels).fold("\"wrong\"".to_owned(), |inner, level| match level % 3 {
        0 => format!("[{inner}]"),
        _ => format!("{{\"f\":{inner}}}"),
    });
    format!("{{\"v\":{inner}}}")
}

#[test]
fn schemas_that_cannot_be_read_say_which_field() {
    let stamp = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    let cases = [
        (field("v", DataType::UInt8), "v: the type UInt8 cannot be read"),
        (field("v", DataType::LargeUtf8), "v: the type LargeUtf8 cannot be read"),
        (field("v", DataType::Timestamp(TimeUnit::Second, None)), "v: the type Timestamp(s) cannot be read"),
        (field("v", DataType::Time64(TimeUnit::Nanosecond)), "v: the type Time64(ns) cannot be read"),
        (
            field("v", DataType::Decimal128(5, -1)),
            "v: decimal(5,-1) needs 1 to 38 digits, as many or less behind the point",
        ),
        (field("v", structure(vec![])), "v has no fields"),
        (
            field("v", structure(vec![field("a", DataType::Int8), field("a", DataType::Utf8)])),
            "v has the field a twice",
        ),
        (
            field("v", list(field("item", structure(vec![field("a", DataType::Null)])))),
            "v[].a: the type Null cannot be read",
        ),
        (field("v", map(field("value", DataType::Date64))), "v{}: the type Date64 cannot be read"),
        (noted(field("v", stamp), "iso"), "v: no values of Timestamp(ms, \"UTC\") are written as iso"),
        (noted(field("v", DataType::Utf8), "base64"), "v: no values of Utf8 are written as base64"),
        (noted(field("v", DataType::Int64), "epoch[s]"), "v: no values of Int64 are written as epoch[s]"),
    ];
    for (field, expected) in cases {
        let error = RowParser::new(Arc::new(Schema::new(vec![field])), UnknownFields::Drop).unwrap_err();
        assert_eq!(error, expected);
    }
    let none = RowParser::new(Arc::new(Schema::empty()), UnknownFields::Drop).unwrap_err();
    assert_eq!(none, "the schema has no fields");
}

//! Headers of registries before values of each kind, and Glue's compression: also damaged, each value alone.

use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, BinaryArray};
use arrow_schema::{DataType, Schema};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use logpersister_native::{
    AvroParser, Framing, Inside, MessageParts, ProtobufParser, RowParser, Rows, UnknownFields, json_texts, schema_keys,
};

use crate::common::{Random, mutate};
use crate::{parsed, reasons, required};

const ID: u128 = 0x0102_0304_0506_4708_890a_0b0c_0d0e_0f10;
const LONG: &str = r#"{"type":"record","name":"r","fields":[{"name":"n","type":"long"}]}"#;
const MESSAGES: &str = r#"{"roots":[["b.M",[["b.M.A",[]]]],["b.A",[]]],"sorted":["b.A","b.M","b.M.A","b.M.NEntry"],"enums":{},"messages":{
    "b.M":[{"number":1,"name":"n","kind":"int64"}],"b.A":[{"number":2,"name":"n","kind":"int64"}],
    "b.M.A":[{"number":3,"name":"n","kind":"int64"}],"b.M.NEntry":[{"number":1,"name":"key","kind":"string"}]}}"#;

fn deflated(body: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn glue(body: &[u8], is_deflated: bool) -> Vec<u8> {
    let compression = if is_deflated { 5 } else { 0 };
    let body = if is_deflated { deflated(body) } else { body.to_vec() };
    [&[3, compression][..], &ID.to_be_bytes(), &body].concat()
}

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![required("n", DataType::Int64)]))
}

fn numbers(rows: &Rows) -> Vec<i64> {
    rows.batch.column(0).as_primitive::<Int64Type>().values().to_vec()
}

fn array(values: &[Vec<u8>]) -> BinaryArray {
    BinaryArray::from_iter_values(values)
}

/// Values that are no whole ones of Glue, and why.
fn damaged(body: &[u8]) -> Vec<(Vec<u8>, &'static str)> {
    let whole = glue(body, true);
    vec![
        (whole[..17].to_vec(), "no_header"),
        ([&[3, 1], &whole[2..]].concat(), "no_header"),
        ([&[2, 5], &whole[2..]].concat(), "no_header"),
        (whole[..18].to_vec(), "bad_compression"),
        (whole[..whole.len() - 1].to_vec(), "bad_compression"),
        ([&whole[..], &[0]].concat(), "bad_compression"),
        ([&[3, 5], &glue(body, false)[2..]].concat(), "bad_compression"),
        (glue(&vec![b' '; 1 << 20], true), "bad_compression"),
    ]
}

#[test]
fn json_documents_stand_behind_each_header() {
    let headers: [(Framing, &[u8]); 4] = [
        (Framing::Plain, b""),
        (Framing::Confluent, b"\0\0\0\0\x07"),
        (Framing::Apicurio, b"\0\0\0\0\0\0\0\0\x07"),
        (Framing::Glue, &glue(b"", false)),
    ];
    for (framing, header) in headers {
        let parser = RowParser::new(schema(), UnknownFields::Drop).unwrap().framed(framing);
        let value = |text: &[u8]| [header, text].concat();
        let values = [
            value(b"{\"n\": 1}"),
            value(b"{\"n\": \"1\"}"),
            value(b"{"),
            value(b"\xff"),
            b"".into(),
            value(b"{\"n\":2}"),
        ];
        let rows = parsed(parser.parse(&array(&values)).unwrap(), values.len());
        let empty = if framing == Framing::Plain { "not_json" } else { "no_header" };
        assert_eq!(reasons(&rows), ["accepted", "wrong_type", "not_json", "not_utf8", empty, "accepted"]);
        assert_eq!(numbers(&rows), [1, 2]);
        let found = json_texts(&array(&values), framing, &["n".into()]);
        assert_eq!(
            (found.value(0), found.value(1), found.is_null(2), found.is_null(4)),
            (&b"1"[..], &b"1"[..], true, true)
        );
    }
}

#[test]
fn json_of_glue_may_be_compressed() {
    let parser = RowParser::new(schema(), UnknownFields::Drop).unwrap().framed(Framing::Glue);
    let good = br#"{"n": 1, "text": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}"#;
    for (value, reason) in damaged(good) {
        let values = [glue(good, true), value, glue(good, false), glue(b"{\"n\": []}", true)];
        let rows = parsed(parser.parse(&array(&values)).unwrap(), values.len());
        assert_eq!(reasons(&rows), ["accepted", reason, "accepted", "wrong_type"]);
        assert_eq!(numbers(&rows), [1, 1]);
        assert_eq!(json_texts(&array(&values), Framing::Glue, &["n".into()]).null_count(), 2);
    }
}

#[test]
fn avro_of_glue_may_be_compressed() {
    let parser = AvroParser::new(schema(), Framing::Glue).unwrap();
    parser.add_writer(ID, LONG).unwrap();
    for (value, reason) in damaged(b"\x02") {
        let values = [glue(b"\x02", true), value, glue(b"\x04", false), glue(b"\x04\0", true)];
        let (rows, unknown) = parser.parse(&array(&values)).unwrap();
        let rows = parsed(rows, values.len());
        assert_eq!((reasons(&rows), unknown), (vec!["accepted", reason, "accepted", "not_avro"], vec![]));
        assert_eq!(numbers(&rows), [1, 2]);
    }
}

#[test]
fn messages_of_glue_are_counted_in_the_order_of_their_names() {
    let parser = ProtobufParser::new(schema(), Framing::Glue, None).unwrap();
    parser.add_writer(ID, MESSAGES).unwrap();
    let bodies: [&[u8]; 6] = [b"\0\x10\x01", b"\x01\x08\x02", b"\x02\x18\x03", b"\x03", b"\x04", b""];
    for is_deflated in [false, true] {
        let values = bodies.map(|body| glue(body, is_deflated));
        let (rows, _) = parser.parse(&array(&values)).unwrap();
        let rows = parsed(rows, values.len());
        assert_eq!(numbers(&rows), [1, 2, 3]);
        // A message that has no such field, one that is not there, and no place of one.
        assert_eq!(reasons(&rows)[3..], ["other_schema", "other_schema", "no_header"]);
        let keys = schema_keys(&array(&values), Framing::Glue, Inside::Messages);
        assert_eq!(
            keys.keys.iter().map(|key| (key.id, key.places[0])).collect::<Vec<_>>(),
            [0, 1, 2, 3, 4].map(|place| (ID, place))
        );
        assert_eq!(keys.indices.iter().collect::<Vec<_>>(), [Some(0), Some(1), Some(2), Some(3), Some(4), None]);
        assert_eq!(schema_keys(&array(&values), Framing::Glue, Inside::Nothing).keys.len(), 1);
        assert_eq!(parser.problem(&values[0]), None);
        assert!(parser.problem(&values[4]).is_some());
    }
    let branches = schema_keys(&array(&[glue(b"\x02", true), glue(b"\x02", false)]), Framing::Glue, Inside::Branches);
    assert_eq!((branches.keys.len(), branches.keys[0].places[0]), (1, 1));
}

#[test]
fn types_are_found_in_compressed_messages() {
    let parts = MessageParts::new(Framing::Glue, None).unwrap();
    let plan = r#"{"b.M": {"steps": [], "members": [{"number": 1, "wire": "varint", "values": null, "name": "n", "kind": "int64"}]}}"#;
    parts.add_writer(ID, MESSAGES, plan).unwrap();
    let values = [glue(b"\x01\x08\x02", true), glue(b"\x01\x08\x02", false), glue(b"\0\x10\x01", true)];
    let found = parts.types(&array(&values));
    assert_eq!((found.names, found.indices.null_count()), (vec![b"n".to_vec()], 1));
    assert_eq!(parts.bodies(&array(&values)).null_count(), 1);
}

#[test]
fn damaged_values_get_the_answer_that_they_get_alone() {
    let parser = AvroParser::new(schema(), Framing::Glue).unwrap();
    parser.add_writer(ID, LONG).unwrap();
    let mut random = Random(24);
    for _ in 0..300 {
        let values: Vec<Vec<u8>> = (0..8)
            .map(|number| {
                let mut value = glue(&[number * 2], random.below(2) == 0);
                if random.below(2) == 0 {
                    mutate(&mut random, &mut value);
                }
                value
            })
            .collect();
        let (rows, _) = parser.parse(&array(&values)).unwrap();
        let alone: Vec<&str> = values
            .iter()
            .flat_map(|value| reasons(&parser.parse(&array(std::slice::from_ref(value))).unwrap().0))
            .collect();
        assert_eq!(reasons(&parsed(rows, values.len())), alone);
    }
}

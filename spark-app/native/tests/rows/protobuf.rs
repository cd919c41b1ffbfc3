//! Protobuf: messages that are damaged at random, put together or cut: each gets the answer and the row that it gets alone.

use std::sync::Arc;

use arrow_array::BinaryArray;
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use logpersister_native::{Framing, MessageParts, ProtobufParser, Rows};

use crate::beside::Verdicts;
use crate::common::{Random, mutate};
use crate::{field, list, map, noted, parsed, reasons, required, structure};

const SCHEMA: &str = r#"{"roots":[["M",[["M.I",[]]]]],"enums":{"E":{"closed":true,"values":[[0,"A"],[2,"B"]]}},"messages":{
    "M":[{"number":1,"name":"n","kind":"int64","oneof":0,"presence":true},{"number":2,"name":"s","kind":"string"},
        {"number":3,"name":"l","kind":"message","of":"M","repeated":true},
        {"number":4,"name":"m","kind":"message","of":"Entry","repeated":true,"map":true},
        {"number":5,"name":"t","kind":"message","of":"google.protobuf.Timestamp","oneof":0,"presence":true},
        {"number":6,"name":"g","kind":"group","of":"M","presence":true},
        {"number":7,"name":"p","kind":"sint32","repeated":true},
        {"number":8,"name":"j","kind":"message","of":"google.protobuf.Struct","presence":true}],
    "M.I":[{"number":1,"name":"n","kind":"fixed32"}],
    "Entry":[{"number":1,"name":"key","kind":"string"},{"number":2,"name":"value","kind":"enum","of":"E"}],
    "google.protobuf.Struct":[],"google.protobuf.Timestamp":[]}}"#;

const GOOD: [&[u8]; 4] = [
    b"\x08\x07\x12\x01a\x1a\x02\x08\x01\x1a\x00\x22\x05\x0a\x01k\x10\x02",
    b"\x2a\x02\x08\x05\x33\x08\x05\x12\x01x\x34\x3a\x02\x01\x02\x38\x03",
    b"\x42\x07\x0a\x05\x0a\x01a\x12\x00\x22\x03\x0a\x01k\x22\x03\x0a\x01k",
    b"",
];

fn parser(framing: Framing) -> ProtobufParser {
    let items = || Fields::from(vec![field("n", DataType::Int8), field("s", DataType::Binary)]);
    let fields = vec![
        field("n", DataType::Int64),
        required("s", DataType::Utf8),
        required("l", list(required("item", structure(items().iter().map(|one| one.as_ref().clone()).collect())))),
        field("m", map(field("value", DataType::Utf8))),
        field("t", DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))),
        field("g", structure(items().iter().map(|one| one.as_ref().clone()).collect())),
        field("p", list(Field::new("item", DataType::Int32, false))),
        noted(field("j", DataType::Utf8), "json"),
    ];
    ProtobufParser::new(Arc::new(Schema::new(fields)), framing, None).unwrap()
}

fn parse<T: AsRef<[u8]>>(parser: &ProtobufParser, values: &[T]) -> (Rows, Vec<u128>) {
    let (rows, unknown) = parser.parse(&BinaryArray::from_iter_values(values)).unwrap();
    (parsed(rows, values.len()), unknown)
}

#[test]
fn headers_name_the_schema_and_the_message() {
    let parser = parser(Framing::Confluent);
    let values: [&[u8]; 5] = [
        b"\0\0\0\0\x07\0\x08\x01",
        b"\0\0\0\0\x07\x04\0\0\x0d\x01\0\0\0",
        b"\0\0\0\0\x07\x02\x02",
        b"\0\0\0\0\x07\x01",
        b"\0\0\0\0\x08\0",
    ];
    assert_eq!(parse(&parser, &values).1, [7, 8]);
    parser.add_writer(7, SCHEMA).unwrap();
    parser.refuse_writer(8);
    let (rows, unknown) = parse(&parser, &values);
    // A fixed32 becomes the column; but the message has none of the required text.
    assert_eq!(reasons(&rows), ["accepted", "other_schema", "other_schema", "no_header", "other_schema"]);
    assert!(unknown.is_empty());
    assert!(parser.problem(values[1]).unwrap().contains("s: it is required"));
    assert!(parser.problem(values[2]).unwrap().contains("does not have the message"));
    assert_eq!(parser.problem(values[0]), None);
    assert!(parser.add_writer(1, "{}").is_err());
}

#[test]
fn damaged_messages_do_not_touch_their_neighbours() {
    let parser = parser(Framing::Plain);
    parser.add_writer(0, SCHEMA).unwrap();
    assert_eq!(reasons(&parse(&parser, &GOOD).0), ["accepted"; 4]);
    let mut random = Random(11);
    for _ in 0..800 {
        let values: Vec<Vec<u8>> = (0..6)
            .map(|_| {
                let mut value: Vec<u8> =
                    (0..=random.below(3)).flat_map(|_| GOOD[random.below(GOOD.len())].to_vec()).collect();
                if random.below(2) == 0 && !value.is_empty() {
                    mutate(&mut random, &mut value);
                }
                value
            })
            .collect();
        Verdicts::default().add(&values, "", |values| parse(&parser, values).0);
    }
}

/// The group `g` of the message, and in it the `oneof` of `n` and `t`.
const PLAN: &str = r#"{"steps":[{"number":6,"wire":"group","values":null,"siblings":[]}],"members":[
    {"number":1,"wire":"varint","values":null,"name":"n","kind":"int64"},
    {"number":5,"wire":"sized","values":null,"name":"t","kind":"message"}]}"#;

#[test]
fn types_of_damaged_messages_do_not_depend_on_their_neighbours() {
    let parts = MessageParts::new(Framing::Plain, Some(PLAN)).unwrap();
    let types = |values: &[Vec<u8>]| {
        let values = BinaryArray::from_iter_values(values);
        let (found, bodies) = (parts.types(&values), parts.bodies(&values));
        assert!(found.unknown.is_empty());
        let name = |index: Option<i32>| index.map(|index| found.names[index as usize].clone());
        let names: Vec<_> = found.indices.iter().map(name).collect();
        let bodies: Vec<_> = bodies.iter().map(|body| body.map(<[u8]>::to_vec)).collect();
        names.into_iter().zip(bodies).collect::<Vec<_>>()
    };
    let good: [&[u8]; 4] =
        [b"\x33\x08\x07\x34", b"\x33\x2a\x02\x08\x05\x34\x33\x2a\x02\x10\x05\x34", b"\x12\x01a", b"\x33\x34"];
    let found = types(&good.map(<[u8]>::to_vec));
    assert_eq!(found[0], (Some(b"n".to_vec()), Some(Vec::new())));
    assert_eq!(found[1], (Some(b"t".to_vec()), Some(b"\x08\x05\x10\x05".to_vec())));
    assert_eq!(found[2..], [(None, None), (None, None)]);
    let mut random = Random(12);
    for _ in 0..800 {
        let values: Vec<Vec<u8>> = (0..6)
            .map(|_| {
                let mut value: Vec<u8> =
                    (0..=random.below(3)).flat_map(|_| good[random.below(good.len())].to_vec()).collect();
                mutate(&mut random, &mut value);
                value
            })
            .collect();
        let together = types(&values);
        for (index, value) in values.iter().enumerate() {
            assert_eq!(types(std::slice::from_ref(value))[0], together[index]);
        }
    }
}

#[test]
fn plans_and_schemas_of_others_are_told() {
    for plan in ["", "{}", r#"{"steps":[{}],"members":null}"#, r#"{"steps":[],"members":[{"number":1,"wire":"odd"}]}"#]
    {
        assert!(MessageParts::new(Framing::Plain, Some(plan)).is_err(), "{plan}");
    }
    let parts = MessageParts::new(Framing::Confluent, None).unwrap();
    assert!(parts.add_writer(1, "{}", "{}").is_err());
    assert!(parts.add_writer(1, SCHEMA, "[]").is_err());
    parts.add_writer(1, SCHEMA, &format!(r#"{{"M":{PLAN}}}"#)).unwrap();
    let values: [&[u8]; 4] = [b"\0\0\0\0\x01\0\x33\x08\x07\x34", b"\0\0\0\0\x02\0", b"\0\0\0\0\x01\x04\0\0", b""];
    let found = parts.types(&BinaryArray::from_iter_values(values));
    assert_eq!((found.names, found.unknown), (vec![b"n".to_vec()], vec![2]));
    assert_eq!(found.indices.iter().collect::<Vec<_>>(), [Some(0), None, None, None]);
}

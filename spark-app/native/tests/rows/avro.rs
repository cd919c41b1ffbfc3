//! Avro: headers, and random schemas whose values are damaged at random: each value gets the answer that it gets alone.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type};
use arrow_array::{Array, BinaryArray};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use logpersister_native::{AvroParser, Framing, Rows, avro_fingerprint};

use crate::beside::Verdicts;
use crate::common::{Random, mutate, varint};
use crate::{field, list, map, parsed, reasons, required, structure};

fn parser(fields: Vec<Field>, framing: Framing) -> AvroParser {
    AvroParser::new(Arc::new(Schema::new(fields)), framing).unwrap()
}

/// Parses the values, and checks what holds whatever they are.
fn parse<T: AsRef<[u8]>>(parser: &AvroParser, values: &[T]) -> (Rows, Vec<u128>) {
    let (rows, unknown) = parser.parse(&BinaryArray::from_iter_values(values)).unwrap();
    (parsed(rows, values.len()), unknown)
}

const LONG: &str = r#"{"type":"record","name":"r","fields":[{"name":"n","type":"long"}]}"#;
const BESIDE: &str =
    r#"{"type":"record","name":"r","fields":[{"name":"other","type":"string"},{"name":"n","type":"int"}]}"#;

#[test]
fn each_framing_has_its_header() {
    let crc = avro_fingerprint(LONG).unwrap();
    let headers: [(Framing, u128, Vec<u8>); 5] = [
        (Framing::Plain, 0, vec![]),
        (Framing::SingleObject, crc.into(), [&[0xc3, 1][..], &crc.to_le_bytes()].concat()),
        (Framing::Confluent, 258, vec![0, 0, 0, 1, 2]),
        (Framing::Apicurio, 258, vec![0, 0, 0, 0, 0, 0, 0, 1, 2]),
        (Framing::Glue, 258, [&[3, 0][..], &258_u128.to_be_bytes()].concat()),
    ];
    for (framing, id, header) in headers {
        let parser = parser(vec![required("n", DataType::Int64)], framing);
        let value = [&header[..], &[84]].concat();
        let (rows, unknown) = parse(&parser, &[&value]);
        assert_eq!((reasons(&rows), unknown), (vec!["unknown_schema"], vec![id]));
        parser.add_writer(id, LONG).unwrap();
        let (rows, unknown) = parse(&parser, &[&value, &value]);
        assert_eq!((reasons(&rows), unknown), (vec!["accepted"; 2], vec![]));
        assert_eq!(rows.batch.column(0).as_primitive::<Int64Type>().values(), &[42, 42]);
        if !header.is_empty() {
            let (rows, _) = parse(&parser, &[&value[..header.len() - 1], b"{}", &[]]);
            assert_eq!(reasons(&rows), ["no_header"; 3]);
        }
        parser.refuse_writer(id);
        assert_eq!(reasons(&parse(&parser, &[&value]).0), ["other_schema"]);
    }
}

#[test]
fn writers_alternate_in_one_batch() {
    let parser = parser(vec![required("n", DataType::Int64)], Framing::Confluent);
    parser.add_writer(1, LONG).unwrap();
    parser.add_writer(2, BESIDE).unwrap();
    let values: Vec<&[u8]> =
        vec![b"\0\0\0\0\x01\x02", b"\0\0\0\0\x02\x02x\x04", b"\0\0\0\0\x03\x02", b"\0\0\0\0\x01\x06"];
    let (rows, unknown) = parse(&parser, &values);
    assert_eq!((reasons(&rows)[2], unknown), ("unknown_schema", vec![3]));
    assert_eq!(rows.batch.column(0).as_primitive::<Int64Type>().values(), &[1, 2, 3]);
}

#[test]
fn items_without_bytes_are_limited() {
    let schema = r#"{"type":"record","name":"r","fields":[{"name":"v","type":{"type":"array","items":"null"}}]}"#;
    let wide = parser(vec![field("v", list(field("item", DataType::Int64)))], Framing::Plain);
    wide.add_writer(0, schema).unwrap();
    let value = |count: i64| {
        let mut value = Vec::new();
        varint(&mut value, count);
        value.push(0);
        value
    };
    let (rows, _) = parse(&wide, &[value(10), value(100_000), value(i64::MAX), value(i64::MIN)]);
    assert_eq!(reasons(&rows), ["accepted", "overflow", "overflow", "not_avro"]);
    let without = parser(vec![field("other", DataType::Int64)], Framing::Plain);
    without.add_writer(0, schema).unwrap();
    assert_eq!(reasons(&parse(&without, &[value(i64::MAX)]).0), ["accepted"]);
}

#[test]
fn schemas_that_grow_without_bounds_are_refused() {
    let mut text = r#"{"type":"record","name":"r0","fields":[]}"#.to_owned();
    for level in 1..30 {
        let before = level - 1;
        text = format!(
            r#"{{"type":"record","name":"r{level}","fields":[{{"name":"a","type":{text}}},{{"name":"b","type":"r{before}"}}]}}"#
        );
    }
    let parser = parser(vec![field("x", DataType::Int64)], Framing::Plain);
    let itself = r#"{"type":"record","name":"r","fields":[{"name":"r","type":"r"}]}"#;
    for text in [&text, itself] {
        assert!(parser.add_writer(0, text).unwrap_err().contains("itself"));
    }
    let list = r#"{"type":"record","name":"r","fields":[{"name":"next","type":["null","r"]}]}"#;
    parser.add_writer(0, list).unwrap();
    let long = [vec![2; 100], vec![0]].concat();
    assert_eq!(
        reasons(&parse(&parser, &[&long[..], &long[70..], &long[70..100]]).0),
        ["too_deep", "accepted", "not_avro"]
    );
}

type Write = Box<dyn Fn(&mut Random, &mut Vec<u8>)>;

/// A writer's type, the column that it becomes, and what appends a random value of it.
struct Sample {
    schema: String,
    column: Field,
    write: Write,
}

fn sample(random: &mut Random, name: &str, depth: usize) -> Sample {
    let inner = inner(random, name, depth);
    if random.below(3) > 0 {
        return inner;
    }
    let (schema, write) = (format!(r#"["null",{}]"#, inner.schema), inner.write);
    let write = move |random: &mut Random, value: &mut Vec<u8>| {
        let branch = random.below(3).min(1);
        varint(value, branch as i64);
        if branch == 1 {
            write(random, value);
        }
    };
    Sample { schema, column: inner.column.with_nullable(true), write: Box::new(write) }
}

fn inner(random: &mut Random, name: &str, depth: usize) -> Sample {
    let plain = |schema: &str, data_type, write: fn(&mut Random, &mut Vec<u8>)| Sample {
        schema: schema.to_owned(),
        column: required(name, data_type),
        write: Box::new(write),
    };
    let long: fn(&mut Random, &mut Vec<u8>) = |random, value| {
        let shift = random.below(64);
        varint(value, random.next() as i64 >> shift);
    };
    let int: fn(&mut Random, &mut Vec<u8>) = |random, value| varint(value, i64::from(random.next() as i16));
    let text: fn(&mut Random, &mut Vec<u8>) = |random, value| {
        let text = ["", "text", "a longer text, é😀"][random.below(3)];
        varint(value, text.len() as i64);
        value.extend(text.as_bytes());
    };
    match random.below(if depth == 0 { 11 } else { 15 }) {
        0 => plain("\"boolean\"", DataType::Boolean, |random, value| value.push(random.below(2) as u8)),
        1 => plain("\"int\"", DataType::Int8, |random, value| varint(value, random.below(130) as i64)),
        2 => plain("\"int\"", DataType::Int32, int),
        3 => plain("\"long\"", DataType::Int64, long),
        4 => plain("\"int\"", DataType::Float64, int),
        5 => plain("\"double\"", DataType::Float64, |random, value| value.extend(random.next().to_le_bytes())),
        6 => {
            plain(r#"{"type":"bytes","logicalType":"decimal","precision":9,"scale":1}"#, DataType::Decimal128(9, 2), {
                |random, value| {
                    varint(value, 2);
                    value.extend(&random.next().to_le_bytes()[..2]);
                }
            })
        }
        7 => plain("\"string\"", DataType::Utf8, text),
        8 => plain("\"bytes\"", DataType::Binary, text),
        9 => plain(
            r#"{"type":"long","logicalType":"timestamp-micros"}"#,
            DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
            |random, value| varint(value, random.next() as i64 >> 14),
        ),
        10 => Sample {
            schema: format!(r#"{{"type":"enum","name":"e{}","symbols":["A","LONGER"]}}"#, random.next()),
            column: required(name, DataType::Utf8),
            write: Box::new(|random, value| varint(value, random.below(2) as i64)),
        },
        11 | 12 => {
            let (schema, fields, write) = record(random, depth - 1);
            Sample { schema, column: required(name, structure(fields)), write }
        }
        13 => {
            let item = sample(random, "item", depth - 1);
            let write = blocks(item.write, false);
            let schema = format!(r#"{{"type":"array","items":{}}}"#, item.schema);
            Sample { schema, column: required(name, list(item.column)), write }
        }
        _ => {
            let item = sample(random, "value", depth - 1);
            let write = blocks(item.write, true);
            let schema = format!(r#"{{"type":"map","values":{}}}"#, item.schema);
            Sample { schema, column: required(name, map(item.column)), write }
        }
    }
}

fn blocks(write: Write, keys: bool) -> Write {
    Box::new(move |random, value| {
        let mut key = 0;
        for _ in 0..random.below(3) {
            let mut block = Vec::new();
            let count = 1 + random.below(4);
            for _ in 0..count {
                if keys {
                    block.extend([2, b'a' + key]);
                    key += 1;
                }
                write(random, &mut block);
            }
            if random.below(2) == 0 {
                varint(value, count as i64);
            } else {
                varint(value, -(count as i64));
                varint(value, block.len() as i64);
            }
            value.extend(block);
        }
        value.push(0);
    })
}

/// A record, of which some fields have no column.
fn record(random: &mut Random, depth: usize) -> (String, Vec<Field>, Write) {
    let samples: Vec<_> = (0..1 + random.below(5)).map(|index| sample(random, &format!("f{index}"), depth)).collect();
    let fields: Vec<_> = samples
        .iter()
        .enumerate()
        .map(|(index, sample)| format!(r#"{{"name":"f{index}","type":{}}}"#, sample.schema))
        .collect();
    let schema = format!(r#"{{"type":"record","name":"r{}","fields":[{}]}}"#, random.next(), fields.join(","));
    let mut columns: Vec<_> =
        samples.iter().filter(|_| random.below(5) > 0).map(|sample| sample.column.clone()).collect();
    columns.push(field("absent", DataType::Utf8));
    columns.sort_by_key(|_| random.next());
    let write = move |random: &mut Random, value: &mut Vec<u8>| {
        samples.iter().for_each(|sample| (sample.write)(random, value));
    };
    (schema, columns, Box::new(write))
}

#[test]
fn bad_values_leave_nothing_behind() {
    let mut verdicts = Verdicts::default();
    for seed in 0..600 {
        let mut random = Random(seed);
        let (schema, fields, write) = record(&mut random, 3);
        let parser = parser(fields, Framing::Plain);
        parser.add_writer(0, &schema).unwrap();
        let values: Vec<Vec<u8>> = (0..20)
            .map(|_| {
                let mut value = Vec::new();
                write(&mut random, &mut value);
                if random.below(3) == 0 {
                    mutate(&mut random, &mut value);
                }
                value
            })
            .collect();
        verdicts.add(&values, &format!("seed {seed}, {schema}"), |values| parse(&parser, values).0);
    }
    verdicts.check(6_000, &["not_avro", "overflow", "not_utf8", "duplicate"]);
}

#[test]
fn defaults_and_aliases_fill_columns() {
    let of = |field: Field, key: &str, text: &str| {
        let metadata = [(format!("logpersister.{key}"), text.to_owned())];
        field.with_metadata(HashMap::from(metadata))
    };
    let item = required("item", structure(vec![required("a", DataType::Int32), field("b", DataType::Utf8)]));
    let columns = vec![
        of(required("m", DataType::Int64), "aliases", r#"["x","n"]"#),
        of(required("text", DataType::Utf8), "default", "\"é\""),
        of(field("none", DataType::Utf8), "default", "null"),
        of(required("items", list(item)), "default", r#"[{"a":1},{"a":2,"b":"x"}]"#),
        of(required("marks", map(field("value", DataType::Float64))), "default", r#"{"a":1.5,"b":null}"#),
        of(required("raw", DataType::Binary), "default", "\"\\u00ff\\u0000\""),
        of(required("price", DataType::Decimal128(9, 2)), "default", "\"\\u00ff\""),
    ];
    let parser = parser(columns.clone(), Framing::Plain);
    parser.add_writer(0, LONG).unwrap();
    let (rows, _) = parse(&parser, &[[2], [4]]);
    let row = |number| rows.batch.columns().iter().map(|column| column.slice(number, 1)).collect::<Vec<_>>();
    assert_eq!(rows.batch.column(0).as_primitive::<Int64Type>().values(), &[1, 2]);
    assert_eq!(row(0)[1..], row(1)[1..]);
    assert_eq!(rows.batch.column(6).as_primitive::<Decimal128Type>().values(), &[-1, -1]);
    let told = format!("{:?}", row(0));
    for part in ["\"é\"", "1.5", "[255, 0]", "\"x\""] {
        assert!(told.contains(part), "{part} in {told}");
    }
    for (data_type, text) in [(DataType::Int8, "\"1\""), (DataType::Utf8, "1"), (DataType::Boolean, "null")] {
        let parser = self::parser(vec![of(required("v", data_type), "default", text)], Framing::Plain);
        assert_eq!(parser.add_writer(0, LONG).unwrap_err(), "v: its default does not fit its type");
    }
}

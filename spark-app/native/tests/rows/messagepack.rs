//! MessagePack: random schemas whose values are damaged at random: each value gets the answer that it gets alone.

use std::sync::Arc;

use arrow_array::BinaryArray;
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use logpersister_native::{MessagePackParser, Rows, UnknownFields};

use crate::beside::Verdicts;
use crate::common::{Random, mutate};
use crate::{field, list, map, parsed, reasons, required, structure};

fn parse<T: AsRef<[u8]>>(parser: &MessagePackParser, values: &[T]) -> Rows {
    parsed(parser.parse(&BinaryArray::from_iter_values(values)).unwrap(), values.len())
}

fn parser(fields: Vec<Field>) -> MessagePackParser {
    MessagePackParser::new(Arc::new(Schema::new(fields)), UnknownFields::Drop).unwrap()
}

#[test]
fn every_first_byte_is_a_value_or_is_refused() {
    let parser = parser(vec![field("n", DataType::Int64)]);
    for first in 0..=255_u8 {
        // What follows is long enough for any head, and has no more sizes in it.
        let value = [&[0x82, 0xa1, b'n', 0x07, 0xa1, b'x', first][..], &[0; 40]].concat();
        let sizes: Vec<_> =
            (7..value.len()).filter(|end| parse(&parser, &[&value[..*end]]).reasons.value(0) == 0).collect();
        assert_eq!(sizes.len(), usize::from(first != 0xc1), "{first:#x} ends at {sizes:?}");
    }
}

fn random_field(random: &mut Random, name: &str, depth: usize) -> Field {
    let data_type = match random.below(if depth == 0 { 9 } else { 14 }) {
        0 => DataType::Boolean,
        1 => DataType::Int8,
        2 => DataType::Int64,
        3 => DataType::Float32,
        4 => DataType::Float64,
        5 => DataType::Decimal128(9, 3),
        6 => DataType::Binary,
        7 => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
        8 => DataType::Utf8,
        9 | 10 => structure(random_fields(random, depth - 1)),
        11 | 12 => list(random_field(random, "item", depth - 1)),
        _ => map(random_field(random, "value", depth - 1)),
    };
    Field::new(name, data_type, random.below(3) > 0)
}

fn random_fields(random: &mut Random, depth: usize) -> Vec<Field> {
    let count = 1 + random.below(5);
    (0..count).map(|index| random_field(random, ["id", "a", "ключ", "b\"", "name"][index], depth)).collect()
}

fn head(value: &mut Vec<u8>, short: u8, long: u8, count: usize) {
    if count < 16 {
        value.push(short | count as u8);
    } else {
        value.push(long);
        value.extend((count as u16).to_be_bytes());
    }
}

fn text(value: &mut Vec<u8>, text: &str) {
    value.extend([0xd9, text.len() as u8]);
    value.extend(text.as_bytes());
}

/// Appends a value that fits a field.
fn write(random: &mut Random, field: &Field, value: &mut Vec<u8>) {
    if field.is_nullable() && random.below(6) == 0 {
        return value.push(0xc0);
    }
    match field.data_type() {
        DataType::Boolean => value.push(0xc2 + random.below(2) as u8),
        DataType::Int8 | DataType::Decimal128(..) => value.extend([0xd0, random.next() as u8]),
        DataType::Int64 => {
            value.push(0xd3);
            value.extend(random.next().to_be_bytes());
        }
        DataType::Float32 | DataType::Float64 => {
            value.push(0xca);
            value.extend((random.next() as u32).to_be_bytes());
        }
        DataType::Binary => value.extend([0xc4, 2, 0xff, random.next() as u8]),
        DataType::Timestamp(..) => {
            value.extend([0xd6, 0xff]);
            value.extend((random.next() as u32).to_be_bytes());
        }
        DataType::Utf8 => text(value, ["", "text", "a longer text, é😀"][random.below(3)]),
        DataType::Struct(fields) => object(random, fields, value),
        DataType::List(item) => {
            let count = random.below(20);
            head(value, 0x90, 0xdc, count);
            (0..count).for_each(|_| write(random, item, value));
        }
        DataType::Map(entries, _) => {
            let DataType::Struct(fields) = entries.data_type() else { unreachable!() };
            let count = random.below(4).pow(2) * 2;
            head(value, 0x80, 0xde, count);
            for entry in 0..count {
                text(value, &entry.to_string());
                write(random, &fields[1], value);
            }
        }
        other => panic!("{other}"),
    }
}

fn object(random: &mut Random, fields: &Fields, value: &mut Vec<u8>) {
    let mut members: Vec<Option<&Arc<Field>>> =
        fields.iter().filter(|field| !field.is_nullable() || random.below(5) > 0).map(Some).collect();
    if random.below(4) == 0 {
        members.insert(random.below(members.len() + 1), None);
    }
    head(value, 0x80, 0xde, members.len());
    for member in members {
        text(value, member.map_or("unknown", |field| field.name()));
        match member {
            Some(field) => write(random, field, value),
            None => value.extend([0x92, 0x01, 0x81, 0xc0, 0xc0]),
        }
    }
}

#[test]
fn bad_values_leave_nothing_behind() {
    let mut verdicts = Verdicts::default();
    for seed in 0..600 {
        let mut random = Random(seed);
        let fields = Fields::from(random_fields(&mut random, 3));
        let parser = parser(fields.iter().map(|field| (**field).clone()).collect());
        let values: Vec<Vec<u8>> = (0..20)
            .map(|_| {
                let mut value = Vec::new();
                object(&mut random, &fields, &mut value);
                if random.below(3) == 0 {
                    mutate(&mut random, &mut value);
                }
                value
            })
            .collect();
        verdicts.add(&values, &format!("seed {seed}, {fields:?}"), |values| parse(&parser, values));
    }
    verdicts.check(6_000, &["not_messagepack", "wrong_type", "overflow", "not_utf8", "missing"]);
}

#[test]
fn depth_and_growth_are_bounded() {
    let wide = (0..100).map(|index| field(&format!("c{index}"), DataType::Decimal128(38, 0))).collect();
    let parser = parser(vec![field("v", list(field("item", structure(wide)))), required("n", DataType::Int8)]);
    let value = |middle: &[u8]| [&[0x82, 0xa1, b'n', 1, 0xa1, b'v'], middle].concat();
    let empty = |count: u8| value(&[&[0xdc, 0, count][..], &[0x80].repeat(count.into())].concat());
    let deep = |depth| value(&[&[0x91].repeat(depth)[..], &[0xc0]].concat());
    let rows = parse(&parser, &[empty(2), empty(200), deep(1), deep(63), deep(64), deep(100_000)]);
    assert_eq!(reasons(&rows), ["accepted", "overflow", "accepted", "wrong_type", "too_deep", "too_deep"]);
}

//! Thrift: random schemas whose values are damaged at random, in both protocols: each value gets the answer that it gets
//! alone.

use std::sync::Arc;

use arrow_array::BinaryArray;
use arrow_schema::{DataType, Field, Fields, Schema};
use logpersister_native::{Rows, ThriftParser};
use serde_json::{Value, json};

use crate::beside::Verdicts;
use crate::common::{Random, mutate, varint};
use crate::{field, list, map, parsed, reasons, required, structure};

fn parse<T: AsRef<[u8]>>(parser: &ThriftParser, values: &[T]) -> Rows {
    parsed(parser.parse(&BinaryArray::from_iter_values(values)).unwrap(), values.len())
}

fn parser(fields: Fields, plan: &Value, is_compact: bool) -> ThriftParser {
    ThriftParser::new(Arc::new(Schema::new(fields)), &plan.to_string(), is_compact).unwrap()
}

/// What a field is in values and in columns.
#[derive(Debug, Clone)]
enum Kind {
    Bool,
    I8,
    I32,
    I64,
    Double,
    Text,
    Struct(Vec<Kind>),
    List(Box<Kind>),
    Map(Box<Kind>),
}

impl Kind {
    fn random(random: &mut Random, depth: usize) -> Self {
        match random.below(if depth == 0 { 6 } else { 10 }) {
            0 => Self::Bool,
            1 => Self::I8,
            2 => Self::I32,
            3 => Self::I64,
            4 => Self::Double,
            5 => Self::Text,
            6 | 7 => Self::Struct((0..1 + random.below(4)).map(|_| Self::random(random, depth - 1)).collect()),
            8 => Self::List(Self::random(random, depth - 1).into()),
            _ => Self::Map(Self::random(random, depth - 1).into()),
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Self::Bool => DataType::Boolean,
            Self::I8 => DataType::Int8,
            Self::I32 => DataType::Float64,
            Self::I64 => DataType::Int16,
            Self::Double => DataType::Float64,
            Self::Text => DataType::Utf8,
            Self::Struct(kinds) => structure(fields(kinds)),
            Self::List(item) => list(required("item", item.data_type())),
            Self::Map(value) => map(required("value", value.data_type())),
        }
    }

    fn plan(&self) -> Value {
        match self {
            Self::Bool => json!("bool"),
            Self::I8 => json!("i8"),
            Self::I32 => json!("i32"),
            Self::I64 => json!("i64"),
            Self::Double => json!("double"),
            Self::Text => json!("string"),
            Self::Struct(kinds) => json!({"struct": plan(kinds)}),
            Self::List(item) => json!({"list": item.plan()}),
            Self::Map(value) => json!({"map": ["i8", value.plan()]}),
        }
    }

    /// The code of a type: in the binary and in the compact protocol.
    fn code(&self, compact: bool) -> u8 {
        let codes = match self {
            Self::Bool => [2, 2],
            Self::I8 => [3, 3],
            Self::I32 => [8, 5],
            Self::I64 => [10, 6],
            Self::Double => [4, 7],
            Self::Text => [11, 8],
            Self::Struct(_) => [12, 12],
            Self::List(_) => [15, 9],
            Self::Map(_) => [13, 11],
        };
        codes[usize::from(compact)]
    }

    fn write(&self, random: &mut Random, compact: bool, value: &mut Vec<u8>) {
        match self {
            Self::Bool => value.push(1 + random.below(2) as u8),
            Self::I8 => value.push(random.next() as u8),
            Self::I32 => number(random.next() as i32 as i64, 4, compact, value),
            Self::I64 => number(random.next() as i16 as i64 * [1, 1, 1, 2][random.below(4)], 8, compact, value),
            Self::Double => value.extend(random.next().to_be_bytes()),
            Self::Text => {
                let text = ["", "text", "a longer text, é😀"][random.below(3)];
                size(text.len(), compact, value);
                value.extend(text.as_bytes());
            }
            Self::Struct(kinds) => structure_of(random, kinds, compact, value),
            Self::List(item) => {
                let count = random.below(20);
                if compact && count < 15 {
                    value.push((count as u8) << 4 | item.code(true));
                } else {
                    value.push(item.code(compact) | if compact { 0xf0 } else { 0 });
                    size(count, compact, value);
                }
                (0..count).for_each(|_| item.write(random, compact, value));
            }
            Self::Map(inner) => {
                let count = random.below(4).pow(2);
                if compact {
                    size(count, true, value);
                    value.extend((count > 0).then_some(3 << 4 | inner.code(true)));
                } else {
                    value.extend([3, inner.code(false)]);
                    size(count, false, value);
                }
                for entry in 0..count {
                    value.push(entry as u8);
                    inner.write(random, compact, value);
                }
            }
        }
    }
}

fn fields(kinds: &[Kind]) -> Vec<Field> {
    let field = |(place, kind): (usize, &Kind)| Field::new(format!("f{place}"), kind.data_type(), place % 3 > 0);
    kinds.iter().enumerate().map(field).collect()
}

fn plan(kinds: &[Kind]) -> Value {
    kinds.iter().zip(1..).map(|(kind, number)| json!({"number": 3 * number, "kind": kind.plan()})).collect()
}

fn size(size: usize, compact: bool, value: &mut Vec<u8>) {
    if compact { value.push(size as u8) } else { value.extend((size as u32).to_be_bytes()) }
}

fn number(number: i64, bytes: usize, compact: bool, value: &mut Vec<u8>) {
    if compact {
        varint(value, number);
    } else {
        value.extend(&number.to_be_bytes()[8 - bytes..]);
    }
}

fn structure_of(random: &mut Random, kinds: &[Kind], compact: bool, value: &mut Vec<u8>) {
    let mut last = 0;
    for (place, kind) in kinds.iter().enumerate() {
        if place % 3 > 0 && random.below(5) == 0 {
            continue;
        }
        let unknown = random.below(8) == 0;
        let found = if unknown { &Kind::random(random, 2) } else { kind };
        let id = 3 * (place as i64 + 1) - i64::from(unknown);
        if !compact {
            value.push(found.code(false));
            number(id, 2, false, value);
        } else if random.below(5) == 0 {
            value.push(found.code(true));
            number(id, 2, true, value);
        } else {
            value.push(((id - last) as u8) << 4 | found.code(true));
        }
        last = id;
        if !compact || !matches!(found, Kind::Bool) {
            found.write(random, compact, value);
        }
    }
    value.push(0);
}

#[test]
fn bad_values_leave_nothing_behind() {
    for compact in [false, true] {
        let mut verdicts = Verdicts::default();
        for seed in 0..400 {
            let mut random = Random(seed);
            let kinds: Vec<Kind> = (0..1 + random.below(5)).map(|_| Kind::random(&mut random, 3)).collect();
            let parser = parser(fields(&kinds).into(), &plan(&kinds), compact);
            let values: Vec<Vec<u8>> = (0..20)
                .map(|_| {
                    let mut value = Vec::new();
                    structure_of(&mut random, &kinds, compact, &mut value);
                    if random.below(3) == 0 {
                        mutate(&mut random, &mut value);
                    }
                    value
                })
                .collect();
            verdicts.add(&values, &format!("seed {seed}, {compact}, {kinds:?}"), |values| parse(&parser, values));
        }
        verdicts.check(3_200, &["not_thrift", "wrong_type", "overflow", "not_utf8", "missing", "duplicate"]);
    }
}

#[test]
fn depth_and_growth_are_bounded() {
    let wide: Vec<Kind> = vec![Kind::I64; 600];
    let kinds = [Kind::List(Kind::Struct(wide).into())];
    let columns = Fields::from(vec![field("v", kinds[0].data_type())]);
    let nullable = |mut value: Value| {
        // All fields of items are absent: they have defaults.
        for one in value[0]["kind"]["list"]["struct"].as_array_mut().unwrap() {
            one["default"] = json!(7);
        }
        value
    };
    for compact in [false, true] {
        let parser = parser(columns.clone(), &nullable(plan(&kinds)), compact);
        let head = |code: [u8; 2], id: u8| if compact { vec![code[1], id << 1] } else { vec![code[0], 0, id] };
        let lists = |code: [u8; 2], count: u8| {
            if compact { vec![0xf0 | code[1], count] } else { vec![code[0], 0, 0, 0, count] }
        };
        let items = |count: u8| [head([15, 9], 3), lists([12, 12], count), vec![0; count.into()], vec![0]].concat();
        let deep = |depth: usize| {
            let inner = lists([15, 9], 1).repeat(depth);
            [head([15, 9], 2), inner, lists([3, 3], 1), vec![7, 0]].concat()
        };
        let huge = if compact {
            vec![0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07]
        } else {
            vec![15, 0, 2, 12, 127, 255, 255, 255]
        };
        let values = [items(2), items(100), deep(1), deep(62), deep(63), deep(100_000), huge];
        let expected = ["accepted", "overflow", "accepted", "accepted", "too_deep", "too_deep", "not_thrift"];
        assert_eq!(reasons(&parse(&parser, &values)), expected, "compact: {compact}");
    }
}

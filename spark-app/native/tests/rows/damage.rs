//! Random schemas and documents, damaged at random: each value gets the answer that it gets alone, whatever stands beside it.

use arrow_array::BinaryArray;
use arrow_schema::{DataType, Field, TimeUnit};
use logpersister_native::{Options, RowParser, UnknownFields, not_json};

use crate::beside::Verdicts;
use crate::common::{Random, mutate};
use crate::faults::{ALL, options};
use crate::{field, list, map, noted, parse, parser, structure};

const NAMES: [&str; 8] = ["id", "a", "name", "a longer name", "ключ", "b", "c", "items"];

fn random_type(random: &mut Random, depth: usize) -> (DataType, Option<&'static str>) {
    let plain = match random.below(if depth == 0 { 13 } else { 18 }) {
        0 => DataType::Boolean,
        1 => DataType::Int8,
        2 => DataType::Int32,
        3 => DataType::Int64,
        4 => DataType::Float32,
        5 => DataType::Float64,
        6 => DataType::Decimal128(9, 3),
        7 => DataType::Date32,
        8 => DataType::Time64(TimeUnit::Microsecond),
        9 => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
        10 => return (DataType::Utf8, Some("json")),
        11 => DataType::Binary,
        12 | 13 => DataType::Utf8,
        14 | 15 => structure(random_fields(random, depth - 1)),
        16 => list(random_field(random, "item", depth - 1)),
        _ => map(random_field(random, "value", depth - 1)),
    };
    (plain, None)
}

fn random_field(random: &mut Random, name: &str, depth: usize) -> Field {
    let (data_type, notation) = random_type(random, depth);
    let field = Field::new(name, data_type, random.below(3) > 0);
    notation.map_or(field.clone(), |notation| noted(field, notation))
}

fn random_fields(random: &mut Random, depth: usize) -> Vec<Field> {
    let mut names = NAMES.to_vec();
    names.sort_by_key(|_| random.next());
    let count = 1 + random.below(names.len());
    names[..count].iter().map(|name| random_field(random, name, depth)).collect()
}

/// A value that mostly fits a field.
fn value(random: &mut Random, field: &Field, text: &mut String) {
    if field.is_nullable() && random.below(6) == 0 {
        return text.push_str("null");
    }
    let pick = |random: &mut Random, choices: &[&str]| choices[random.below(choices.len())].to_owned();
    let scalar = match field.data_type() {
        DataType::Boolean => pick(random, &["true", "false"]),
        DataType::Int8 => pick(random, &["0", "-128", "127", "12"]),
        DataType::Int32 | DataType::Int64 => (random.next() as i32).to_string(),
        DataType::Float32 | DataType::Float64 => pick(random, &["0.1", "-1e10", "17", "2.5E-3", "123456789.125"]),
        DataType::Decimal128(..) => pick(random, &["1.5", "\"-2.125\"", "100e3", "0", "\"1e2\""]),
        DataType::Date32 => pick(random, &["\"2026-11-23\"", "\"1969-02-28\""]),
        DataType::Time64(_) => pick(random, &["\"12:34:56\"", "\"00:00:00.5\""]),
        DataType::Timestamp(..) => pick(random, &["\"2026-11-23T12:34:56.789Z\"", "\"1969-01-01T00:00:00+01:00\""]),
        DataType::Binary => pick(random, &["\"\"", "\"aGk=\"", "\"AAECAwQF\""]),
        DataType::Utf8 => pick(random, &["\"\"", "\"text\"", "\"\\u00e9\\n\"", "\"a longer text, 😀\""]),
        DataType::Struct(fields) => return object(random, fields, text),
        DataType::List(item) => {
            let items: Vec<_> = (0..random.below(4)).map(|_| written(random, item)).collect();
            format!("[{}]", items.join(","))
        }
        DataType::Map(entries, _) => {
            let DataType::Struct(fields) = entries.data_type() else { unreachable!() };
            let count = random.below(4).pow(2);
            let members: Vec<_> =
                (0..count).map(|entry| format!("\"{entry}\": {}", written(random, &fields[1]))).collect();
            format!("{{{}}}", members.join(","))
        }
        other => panic!("{other}"),
    };
    text.push_str(&scalar);
}

fn written(random: &mut Random, field: &Field) -> String {
    let mut text = String::new();
    value(random, field, &mut text);
    text
}

fn object<'a>(random: &mut Random, fields: impl IntoIterator<Item = &'a std::sync::Arc<Field>>, text: &mut String) {
    let mut members = Vec::new();
    for field in fields {
        if !field.is_nullable() || random.below(5) > 0 {
            members.push(format!("\"{}\":{}", field.name(), written(random, field)));
        }
    }
    if random.below(5) == 0 {
        members.push(["\"unknown\": [1, {\"id\": \"x\"}]", "\"x\":\"\""][random.below(2)].into());
    }
    if random.below(3) == 0 {
        members.sort_by_key(|_| random.next());
    }
    text.push('{');
    text.push_str(&members.join([",", " ,\n "][random.below(2)]));
    text.push('}');
}

/// What is adjusted, and whether what is unknown is kept.
fn random_options(random: &mut Random) -> Options {
    let words = [
        "",
        "",
        ALL,
        "wrongType=setNull overflow=setNull badText=setNull duplicates=first",
        "wrongType=convert",
        "duplicates=last",
    ];
    let unknown = [UnknownFields::Drop, UnknownFields::Keep][random.below(2)];
    options(unknown, words[random.below(words.len())])
}

#[test]
fn bad_rows_leave_nothing_behind() {
    let (mut verdicts, mut adjusted) = (Verdicts::default(), 0);
    for seed in 0..800 {
        let mut random = Random(seed);
        let mut fields = random_fields(&mut random, 4);
        let schema = arrow_schema::Fields::from(fields.clone());
        let options = random_options(&mut random);
        if options.unknown_fields == UnknownFields::Keep {
            fields.push(noted(field("_rest", DataType::Utf8), "json"));
        }
        let parser = RowParser::new(std::sync::Arc::new(arrow_schema::Schema::new(fields)), options).unwrap();
        let values: Vec<Vec<u8>> = (0..20)
            .map(|_| {
                let mut text = String::new();
                object(&mut random, &schema, &mut text);
                let mut value = text.into_bytes();
                match random.below(4) {
                    0 => mutate(&mut random, &mut value),
                    1 => swap(&mut random, &mut value),
                    _ => {}
                }
                value
            })
            .collect();
        let together = verdicts.add(&values, &format!("seed {seed}"), |values| parse(&parser, values));
        adjusted += together.adjusted.records.len();
        for (value, reason) in values.iter().zip(together.reasons.values()) {
            let is_json = not_json(&BinaryArray::from_iter_values([value])).rows.is_empty();
            let is_judged = is_json || !options.faults.replaces_invalid;
            let is_right = !is_judged || is_json != matches!(reason, 2 | 3);
            assert!(is_right, "seed {seed}, {}", String::from_utf8_lossy(value));
        }
    }
    assert!(adjusted > 200, "{adjusted} values were adjusted");
    verdicts.check(8_000, &["not_utf8", "not_json", "missing", "wrong_type", "overflow", "duplicate", "bad_text"]);
}

/// Puts another piece of JSON somewhere, mostly where a value is, so that the text often stays JSON.
fn swap(random: &mut Random, value: &mut Vec<u8>) {
    let places: Vec<usize> = (0..value.len()).filter(|at| matches!(value[*at], b':' | b'[' | b',')).collect();
    if places.is_empty() {
        return;
    }
    let pieces = [
        "null",
        "1",
        "-1e400",
        "\"x\"",
        "[]",
        "{}",
        "true",
        "99999999999999999999",
        "\"\\ud800\"",
        "{\"a\":1,\"a\":2}",
    ];
    let begin = places[random.below(places.len())] + 1;
    let end =
        value[begin..].iter().position(|byte| matches!(byte, b',' | b'}' | b']')).map_or(value.len(), |at| begin + at);
    if random.below(3) == 0 {
        let copy = [&value[begin..end], b","].concat();
        value.splice(begin..begin, copy);
    } else {
        value.splice(begin..end, pieces[random.below(pieces.len())].bytes());
    }
}

#[test]
fn a_field_of_json_takes_what_is_json_and_nothing_else() {
    let parser = parser(vec![noted(field("v", DataType::Utf8), "json")]);
    let mut accepted = 0;
    for seed in 0..20_000 {
        let mut random = Random(seed);
        let mut text = r#"{"v":[{"a":-1.5e3,"b":[true,null,"é\n\u00e9"]},"x",{}]}"#.as_bytes().to_vec();
        mutate(&mut random, &mut text);
        let is_json = not_json(&BinaryArray::from_iter_values([&text])).rows.is_empty();
        let reason = parse(&parser, &[&text]).reasons.value(0);
        assert_eq!(is_json, !matches!(reason, 2 | 3), "seed {seed}: {}", String::from_utf8_lossy(&text));
        accepted += u32::from(reason == 0);
    }
    assert!((400..16_000).contains(&accepted), "{accepted} of 20000 were accepted: too one-sided to show much");
}

//! Lines of text: CSV records and patterns. Each value gets the answer that it gets alone.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BinaryArray};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use logpersister_native::{CsvParser, CsvSyntax, Faults, REASONS, RegexParser, Rows, UnknownFields};

use crate::beside::Verdicts;
use crate::common::{Random, mutate};
use crate::{field, list, parsed, required};

const SYNTAX: CsvSyntax = CsvSyntax { delimiter: b',', quote: Some(b'"'), escape: None, null: Vec::new() };

fn csv(fields: Vec<Field>, syntax: CsvSyntax, names: &[&str]) -> Result<CsvParser, String> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    CsvParser::new(Arc::new(Schema::new(fields)), syntax, &names, UnknownFields::Drop)
}

fn regex(fields: Vec<Field>, pattern: &str) -> Result<RegexParser, String> {
    RegexParser::new(Arc::new(Schema::new(fields)), pattern, Some(b"-".to_vec()), Faults::default())
}

fn parse_csv<T: AsRef<[u8]>>(parser: &CsvParser, values: &[T]) -> Rows {
    parsed(parser.parse(&BinaryArray::from_iter_values(values)).unwrap(), values.len())
}

fn parse_regex<T: AsRef<[u8]>>(parser: &RegexParser, values: &[T]) -> Rows {
    parsed(parser.parse(&BinaryArray::from_iter_values(values)).unwrap(), values.len())
}

/// What each value becomes in columns `a` and `b` of text, or the reason of its refusal.
fn told(rows: &Rows) -> Vec<String> {
    let mut row = 0;
    let column = |index: usize, row: usize| {
        let texts = rows.batch.column(index).as_string::<i32>();
        if texts.is_null(row) { "null".to_owned() } else { format!("<{}>", texts.value(row)) }
    };
    rows.reasons
        .values()
        .iter()
        .map(|reason| {
            if *reason != 0 {
                return REASONS[usize::from(*reason)].to_owned();
            }
            row += 1;
            format!("{} {}", column(0, row - 1), column(1, row - 1))
        })
        .collect()
}

#[test]
fn records_are_those_of_rfc_4180() {
    let texts = || vec![field("a", DataType::Utf8), field("b", DataType::Utf8)];
    let escaped = CsvSyntax { delimiter: b'\t', quote: None, escape: Some(b'\\'), null: b"\\N".to_vec() };
    let cases: [(CsvSyntax, &[(&str, &str)]); 2] = [
        (
            SYNTAX,
            &[
                ("x,y", "<x> <y>"),
                ("x,y\n", "<x> <y>"),
                ("x,y\r\n", "<x> <y>"),
                ("x,y\r", "<x> <y>"),
                (" x , ", "< x > < >"),
                (",", "null null"),
                ("\"\",\"\"", "<> <>"),
                ("\"a,\"\"\n\"\"\",b\"c", "<a,\"\n\"> <b\"c>"),
                ("é,\"ü\"", "<é> <ü>"),
                ("x,\"y", "not_csv"),
                ("x,\"y\"z", "not_csv"),
                ("x,\"y\" ", "not_csv"),
                ("x\ny,z", "not_csv"),
                ("x,y\n\n", "not_csv"),
                ("x,y\n\r", "not_csv"),
                ("x,y\r\nz,1", "not_csv"),
                ("", "too_few_columns"),
                ("x", "too_few_columns"),
                ("x,y,", "too_many_columns"),
                ("x,y,\"", "not_csv"),
            ],
        ),
        (
            escaped,
            &[
                ("\\N\t\"", "null <\">"),
                ("\\\\N\t", "<\\N> <>"),
                ("a\\\tb\\\nc\t\\N\n", "<a\tb\nc> null"),
                ("\\N\\N\tx", "<NN> <x>"),
                ("x\ty\\", "not_csv"),
            ],
        ),
    ];
    for (syntax, cases) in cases {
        let parser = csv(texts(), syntax, &["a", "b"]).unwrap();
        let rows = parse_csv(&parser, &cases.iter().map(|(value, _)| value).collect::<Vec<_>>());
        let expected: Vec<_> = cases.iter().map(|(_, expected)| (*expected).to_owned()).collect();
        assert_eq!(told(&rows), expected);
    }
    let others = csv(texts(), SYNTAX, &["x", "b", "y", "a"]).unwrap();
    assert_eq!(told(&parse_csv(&others, &["1,2,3,4", "1,2,3"])), ["<4> <2>", "too_few_columns"]);
}

#[test]
fn patterns_match_whole_values_in_ascii() {
    let texts = || vec![field("a", DataType::Utf8), field("b", DataType::Utf8)];
    let cases: [(&str, &[(&str, &str)]); 5] = [
        (
            r"(?P<a>\w+) (?P<b>.*)",
            &[
                ("x y z", "<x> <y z>"),
                (" x y", "no_match"),
                ("x y\n", "no_match"),
                ("é y", "no_match"),
                ("x ", "<x> <>"),
                ("- -", "no_match"),
            ],
        ),
        (r"(?P<a>x)?(?P<b>\d*)", &[("x1", "<x> <1>"), ("12", "null <12>"), ("", "null <>"), ("٣", "no_match")]),
        (r"(?P<a>[^ ]*)|(?P<b>\S+ \S+)", &[("é", "<é> null"), ("é 1", "null <é 1>"), ("a b c", "no_match")]),
        (r"(?P<a>[\s\d]+)\b(?P<b>[^\W\d]+)", &[("1\u{b}2x_", "no_match"), ("1 x_", "<1 > <x_>"), ("1 é", "no_match")]),
        (
            r"^(?P<a>[a-z]+?)(?P<b>(?:=\x41+)*)$",
            &[("ab=A=AA", "<ab> <=A=AA>"), ("ab", "<ab> <>"), ("ab\n", "no_match")],
        ),
    ];
    for (pattern, cases) in cases {
        let parser = regex(texts(), pattern).unwrap();
        let rows = parse_regex(&parser, &cases.iter().map(|(value, _)| value).collect::<Vec<_>>());
        let expected: Vec<_> = cases.iter().map(|(_, expected)| (*expected).to_owned()).collect();
        assert_eq!(told(&rows), expected, "{pattern}");
    }
}

#[test]
fn what_cannot_be_read_is_told() {
    let text = |name: &str| field(name, DataType::Utf8);
    let no_text = field("l", list(field("item", DataType::Utf8)));
    for (error, expected) in [
        (csv(vec![text("a")], SYNTAX, &["b"]).err(), "a has to be once among the names"),
        (csv(vec![text("a")], SYNTAX, &["a", "a"]).err(), "a has to be once among the names"),
        (csv(vec![no_text.clone()], SYNTAX, &["l"]).err(), "l: no field of a record is List"),
        (regex(vec![no_text], "(?P<l>x)").err(), "l: no text of a group is List"),
        (regex(vec![text("a")], "(?P<b>x)").err(), "the pattern has no group a"),
        (regex(vec![text("a")], "(?P<a>x").err(), "unclosed group"),
        (regex(vec![text("a")], "(?P<a>(?:x{1000}){1000})").err(), "size limit"),
    ] {
        assert!(error.as_ref().is_some_and(|error| error.contains(expected)), "{error:?}, not {expected}");
    }
}

#[test]
fn a_pattern_takes_linear_time() {
    let parser = regex(vec![field("a", DataType::Utf8)], "(?P<a>(?:(?:a|aa)+)+)b").unwrap();
    let rows = parse_regex(&parser, &[vec![b'a'; 100_000], [vec![b'a'; 100_000], vec![b'b']].concat()]);
    assert_eq!(rows.batch.num_rows(), 1);
}

#[test]
fn bad_values_leave_nothing_behind() {
    let at = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    let fields = || {
        vec![
            required("a", DataType::Int32),
            field("b", DataType::Utf8),
            field("c", DataType::Binary),
            field("d", at.clone()),
        ]
    };
    let by_comma = csv(fields(), SYNTAX, &["b", "x", "a", "c", "d"]).unwrap();
    let by_pattern = regex(fields(), r#"(?P<b>"[^"]*"|[^,]*),.*?,(?P<a>-?\d*),(?P<c>[^,]*)(?:,(?P<d>.*))?"#).unwrap();
    let (mut records, mut lines) = (Verdicts::default(), Verdicts::default());
    for seed in 0..600 {
        let mut random = Random(seed);
        let mut pick = |choices: &[&str]| choices[random.below(choices.len())].to_owned();
        let values: Vec<Vec<u8>> = (0..20)
            .map(|_| {
                let parts = [
                    pick(&["text", "", "\"a, é\"", "\"\"", "😀"]),
                    pick(&["", "left out", "1"]),
                    pick(&["0", "-17", "2147483647", "2147483648", "1"]),
                    pick(&["aGk=", "", "AAECAwQF"]),
                    pick(&["2026-11-24T05:00:00Z", "", "1969-01-01 00:00:00.123+01:00"]),
                ];
                parts.join(",").into_bytes()
            })
            .map(|mut value| {
                if seed % 3 == 0 {
                    mutate(&mut Random(seed + value.len() as u64), &mut value);
                }
                value
            })
            .collect();
        records.add(&values, &format!("seed {seed}"), |values| parse_csv(&by_comma, values));
        lines.add(&values, &format!("seed {seed}"), |values| parse_regex(&by_pattern, values));
    }
    records.check(4_000, &["not_csv", "too_few_columns", "too_many_columns", "overflow", "bad_text", "not_utf8"]);
    lines.check(3_200, &["no_match", "overflow", "bad_text", "not_utf8"]);
}

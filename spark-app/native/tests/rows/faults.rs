//! What becomes of values that do not fit, of fields that nobody knows and of those that are not there, as options say.

use std::sync::Arc;

use arrow_array::BinaryArray;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use logpersister_native::{
    CsvParser, CsvSyntax, Faults, MessagePackParser, Options, REASONS, RowParser, Rows, UnknownFields, json_lines,
};

use crate::{field, list, map, noted, parsed, required, structure};

/// All that can be adjusted; of several names the last.
pub const ALL: &str = "wrongType=convert overflow=setNull badText=setNull duplicates=last invalidUtf8=replace";

pub fn options(unknown_fields: UnknownFields, words: &str) -> Options {
    let pairs = words.split_whitespace().map(|pair| pair.split_once('=').unwrap());
    Options { unknown_fields, faults: Faults::from_words(pairs).unwrap() }
}

/// The row that a value becomes and what was adjusted in it, or why it is refused.
fn told(rows: &Rows) -> String {
    if rows.reasons.value(0) != 0 {
        let path: String = rows.paths.iter().flatten().collect();
        return format!("{} {path}", REASONS[usize::from(rows.reasons.value(0))]).trim_end().to_owned();
    }
    let mut text = String::from_utf8(json_lines(&rows.batch).unwrap()).unwrap().trim_end().to_owned();
    for kind in rows.adjusted.kind_of.values() {
        let (refusal, path) = &rows.adjusted.kinds[*kind as usize];
        text += &format!(" {}:{path}", refusal.word());
    }
    text
}

fn json(fields: Vec<Field>, options: Options, value: &[u8]) -> String {
    let parser = RowParser::new(Arc::new(Schema::new(fields)), options).unwrap();
    told(&parsed(parser.parse(&BinaryArray::from_iter_values([value])).unwrap(), 1))
}

fn clock(unit: TimeUnit) -> DataType {
    DataType::Timestamp(unit, Some("UTC".into()))
}

/// A field of each type that is not made of others.
fn scalars() -> Vec<Field> {
    vec![
        field("bool", DataType::Boolean),
        field("int8", DataType::Int8),
        field("int16", DataType::Int16),
        field("int32", DataType::Int32),
        field("int64", DataType::Int64),
        field("float32", DataType::Float32),
        field("float64", DataType::Float64),
        field("decimal", DataType::Decimal128(4, 2)),
        field("date", DataType::Date32),
        field("time", DataType::Time32(TimeUnit::Millisecond)),
        field("at", clock(TimeUnit::Second)),
        noted(field("epoch", clock(TimeUnit::Second)), "epoch[ms]"),
        field("string", DataType::Utf8),
        field("binary", DataType::Binary),
        field("list", list(field("item", DataType::Int8))),
        field("map", map(field("value", DataType::Int8))),
        field("struct", structure(vec![field("a", DataType::Int8)])),
    ]
}

/// Each type with a value that it does not take: why it is refused, and what it becomes by conversion.
const MISFITS: [(&str, &str, &str, &str); 46] = [
    ("bool", r#""True""#, "wrong_type", "true"),
    ("bool", r#""yes""#, "wrong_type", "bad_text"),
    ("bool", "1", "wrong_type", "wrong_type"),
    ("int8", r#""-128""#, "wrong_type", "-128"),
    ("int8", r#""128""#, "wrong_type", "overflow"),
    ("int8", "128", "overflow", "overflow"),
    ("int8", "1.0", "wrong_type", "wrong_type"),
    ("int8", r#""1.0""#, "wrong_type", "wrong_type"),
    ("int8", r#"" 1""#, "wrong_type", "bad_text"),
    ("int8", "true", "wrong_type", "wrong_type"),
    ("int8", "[1]", "wrong_type", "wrong_type"),
    ("int16", r#""\u0031""#, "wrong_type", "1"),
    ("int16", "40000", "overflow", "overflow"),
    ("int32", r#""2147483648""#, "wrong_type", "overflow"),
    ("int64", r#""9223372036854775807""#, "wrong_type", "9223372036854775807"),
    ("int64", "9223372036854775808", "overflow", "overflow"),
    ("int64", r#""""#, "wrong_type", "bad_text"),
    ("float32", r#""1e39""#, "wrong_type", "overflow"),
    ("float32", r#""0.5""#, "wrong_type", "0.5"),
    ("float64", r#""-1.5e3""#, "wrong_type", "-1500.0"),
    ("float64", r#""NaN""#, "wrong_type", "bad_text"),
    ("float64", "{}", "wrong_type", "wrong_type"),
    ("decimal", "123.4", "overflow", "overflow"),
    ("decimal", r#""x""#, "bad_text", "bad_text"),
    ("decimal", "false", "wrong_type", "wrong_type"),
    ("date", r#""2026-02-29""#, "bad_text", "bad_text"),
    ("date", r#""0000-01-01""#, "overflow", "overflow"),
    ("date", "20", "wrong_type", "wrong_type"),
    ("time", r#""24:00:00""#, "bad_text", "bad_text"),
    ("time", "1", "wrong_type", "wrong_type"),
    ("at", r#""yesterday""#, "bad_text", "bad_text"),
    ("at", "1", "wrong_type", "wrong_type"),
    ("epoch", r#""1500""#, "wrong_type", r#""1970-01-01T00:00:01Z""#),
    ("epoch", r#""2026-11-26T00:00:00Z""#, "wrong_type", "bad_text"),
    ("epoch", "9223372036854775807", "overflow", "overflow"),
    ("string", "1.50", "wrong_type", r#""1.50""#),
    ("string", "-1E400", "wrong_type", r#""-1E400""#),
    ("string", "true", "wrong_type", r#""true""#),
    ("string", "[ 1 ]", "wrong_type", "wrong_type"),
    ("binary", r#""a""#, "bad_text", "bad_text"),
    ("binary", "1", "wrong_type", "wrong_type"),
    ("list", r#""[1]""#, "wrong_type", "wrong_type"),
    ("list", "{}", "wrong_type", "wrong_type"),
    ("map", "[]", "wrong_type", "wrong_type"),
    ("struct", r#""{}""#, "wrong_type", "wrong_type"),
    ("struct", "null", "null", "null"),
];

#[test]
fn each_fault_of_each_type_under_each_option() {
    for (name, value, refusal, converted) in MISFITS {
        let of = scalars().into_iter().find(|field| field.name() == name).unwrap();
        let text = format!("{{\"{name}\":{value}}}");
        let verdict = |words: &str| json(vec![of.clone()], options(UnknownFields::Drop, words), text.as_bytes());
        let null = |reason: &str| format!("{{\"{name}\":null}} {reason}:{name}");
        let refused = |reason: &str| format!("{reason} {name}");
        if refusal == "null" {
            assert_eq!(verdict("wrongType=setNull"), format!("{{\"{name}\":null}}"));
            continue;
        }
        assert_eq!(verdict("duplicates=first"), refused(refusal), "{text}");
        for (fault, reason) in [("wrongType", "wrong_type"), ("overflow", "overflow"), ("badText", "bad_text")] {
            let expected = if reason == refusal { null(reason) } else { refused(refusal) };
            assert_eq!(verdict(&format!("{fault}=setNull")), expected, "{text} {fault}");
        }
        let by_conversion = match converted {
            _ if refusal != "wrong_type" => refused(refusal),
            "wrong_type" | "bad_text" | "overflow" => refused(converted),
            value => format!("{{\"{name}\":{value}}} wrong_type:{name}"),
        };
        assert_eq!(verdict("wrongType=convert"), by_conversion, "{text}");
        // What a converted text is no value for is told by its own reason, and is null by its own option.
        let with_nulls = match converted {
            "wrong_type" => refused("wrong_type"),
            reason @ ("bad_text" | "overflow") => null(reason),
            _ => by_conversion.clone(),
        };
        assert_eq!(verdict("wrongType=convert overflow=setNull badText=setNull"), with_nulls, "{text}");
    }
}

fn nested() -> Vec<Field> {
    let item = structure(vec![required("price", DataType::Float64), field("sku", DataType::Utf8)]);
    vec![
        required("id", DataType::Int64),
        field("geo", structure(vec![field("lat", DataType::Float64), field("country", DataType::Utf8)])),
        field("items", list(field("item", item))),
        field("tags", map(field("value", structure(vec![field("n", DataType::Int8)])))),
    ]
}

#[test]
fn values_inside_of_others() {
    let cases = [
        (ALL, r#"{"id":"1","items":[{"price":"2","sku":7},5,{"price":1}]}"#, "wrong_type items[]"),
        (
            "wrongType=setNull",
            r#"{"id":1,"items":[{"price":1,"sku":7},5]}"#,
            concat!(
                r#"{"id":1,"geo":null,"items":[{"price":1.0,"sku":null},null],"tags":null}"#,
                " wrong_type:items[].sku wrong_type:items[]"
            ),
        ),
        // A required place stays required: the record is refused, whatever is around.
        ("wrongType=setNull", r#"{"id":1,"items":[{"price":"1"}]}"#, "wrong_type items[].price"),
        ("wrongType=setNull", r#"{"id":"1"}"#, "wrong_type id"),
        ("wrongType=setNull", r#"{"id":1,"items":[{"price":null}]}"#, "missing items[].price"),
        (
            "overflow=setNull",
            r#"{"id":1,"tags":{"a":{"n":1},"b":{"n":128}},"geo":{"lat":1e999}}"#,
            concat!(
                r#"{"id":1,"geo":{"lat":null,"country":null},"items":null,"tags":{"a":{"n":1},"b":{"n":null}}}"#,
                " overflow:tags{}.n overflow:geo.lat"
            ),
        ),
        // What is no JSON is called so, wherever it is.
        (ALL, r#"{"id":1,"geo":{"lat":tru}}"#, "not_json"),
        (ALL, r#"{"id":1,"geo":"x" "#, "not_json"),
        (ALL, r#"[]"#, "not_an_object"),
    ];
    for (words, text, expected) in cases {
        assert_eq!(json(nested(), options(UnknownFields::Drop, words), text.as_bytes()), expected, "{text}");
    }
}

#[test]
fn names_that_are_several_times() {
    let row = |id: &str, geo: &str, tags: &str| format!(r#"{{"id":{id},"geo":{geo},"items":null,"tags":{tags}}}"#);
    let cases = [
        ("first", r#"{"id":1,"id":"x","\u0069d":3}"#, row("1", "null", "null") + " duplicate:id duplicate:id"),
        ("last", r#"{"id":"x","id":{},"\u0069d":3}"#, row("3", "null", "null") + " duplicate:id duplicate:id"),
        ("last", r#"{"id":1,"id":"x"}"#, "wrong_type id".into()),
        ("first", r#"{"id":null,"id":1}"#, "missing id".into()),
        ("last", r#"{"id":null,"id":1}"#, row("1", "null", "null") + " duplicate:id"),
        (
            "last",
            r#"{"geo":{"lat":1,"lat":2},"id":1}"#,
            row("1", r#"{"lat":2.0,"country":null}"#, "null") + " duplicate:geo.lat",
        ),
        // What is left out with a value counts no more.
        ("last", r#"{"geo":{"lat":1,"lat":2},"id":1,"geo":null}"#, row("1", "null", "null") + " duplicate:geo"),
        (
            "first",
            r#"{"id":1,"tags":{"a":{"n":1},"b":null,"a":{"n":300}}}"#,
            row("1", "null", r#"{"a":{"n":1},"b":null}"#) + " duplicate:tags{}",
        ),
        ("last", r#"{"id":1,"x":1,"x":2}"#, row("1", "null", "null")),
        ("last", r#"{"id":1,"id":2"#, "not_json".into()),
        ("first", r#"{"id":1,"id":"\ud83d"}"#, "bad_text".into()),
    ];
    for (which, text, expected) in cases {
        let options = options(UnknownFields::Drop, &format!("duplicates={which}"));
        assert_eq!(json(nested(), options, text.as_bytes()), expected, "{which} {text}");
    }
    let deep = [r#"{"id":1,"id":"#, &"[".repeat(64), &"]".repeat(64), "}"].concat();
    assert_eq!(json(nested(), options(UnknownFields::Drop, "duplicates=first"), deep.as_bytes()), "too_deep");
}

#[test]
fn text_that_is_no_utf_8() {
    let fields = || vec![field("s", DataType::Utf8), noted(field("j", DataType::Utf8), "json")];
    // As the Unicode standard recommends: one for each maximal subpart.
    let cases: [(&[u8], &str); 9] = [
        (b"{\"s\":\"a\xffb\"}", r#"{"s":"a�b","j":null} not_utf8:"#),
        (b"{\"s\":\"\xf0\x9f\x98\"}", r#"{"s":"�","j":null} not_utf8:"#),
        (b"{\"s\":\"\xf0\x80\x80\x41\xe2\x82\"}", r#"{"s":"���A�","j":null} not_utf8:"#),
        (b"{\"s\":\"\xed\xa0\x80\"}", r#"{"s":"���","j":null} not_utf8:"#),
        (br#"{"s":"\ud83d"}"#, r#"{"s":"�","j":null} not_utf8:"#),
        (br#"{"s":"\udc00\ud83d\ud83d\ude00\\ud83d"}"#, r#"{"s":"��😀\\ud83d","j":null} not_utf8:"#),
        (br#"{"j":["\uD83D","\ud83d\ude00"]}"#, r#"{"s":null,"j":["\ufffd","\ud83d\ude00"]} not_utf8:"#),
        (b"{\"s\":\"\xff\",}", "not_json"),
        (b"{\"s\":\"\\ud83\"}", "not_json"),
    ];
    for (value, expected) in cases {
        let found = json(fields(), options(UnknownFields::Drop, "invalidUtf8=replace"), value);
        assert_eq!(found, expected, "{}", String::from_utf8_lossy(value));
    }
}

fn with_rest(mut fields: Vec<Field>) -> Vec<Field> {
    fields.push(noted(field("_rest", DataType::Utf8), "json"));
    fields
}

#[test]
fn what_nobody_knows_is_kept_where_it_is() {
    let cases = [
        (r#"{"id":1}"#, "null"),
        (r#"{"x": [ 1 , "a b" ], "id":1, "\u00e9" : null}"#, r#"{"x":[1,"a b"],"\u00e9":null}"#),
        (r#"{"id":1,"_rest":{"id":2}}"#, r#"{"_rest":{"id":2}}"#),
        (r#"{"geo":{"zip":"1","lat":2,"c":{}},"id":1,"z":0}"#, r#"{"geo":{"zip":"1","c":{}},"z":0}"#),
        (
            r#"{"id":1,"items":[{"price":1},{"price":1,"x":1},null,{"y":2,"price":1}]}"#,
            r#"{"items":{"1":{"x":1},"3":{"y":2}}}"#,
        ),
        (r#"{"id":1,"tags":{"a":{"n":1},"b c":{"m":[]},"\n":{"o":1}}}"#, r#"{"tags":{"b c":{"m":[]},"\n":{"o":1}}}"#),
        (r#"{"id":1,"x":{"a":1,"a":2}}"#, r#"{"x":{"a":1,"a":2}}"#),
    ];
    for (text, expected) in cases {
        let found = json(with_rest(nested()), options(UnknownFields::Keep, ""), text.as_bytes());
        assert!(found.ends_with(&format!(r#""_rest":{expected}}}"#)), "{text}: {found}");
    }
    let twice = r#"{"id":1,"geo":{"x":1,"\u0078":2,"y":3}}"#;
    for (words, expected) in [
        ("", "duplicate geo"),
        ("duplicates=first", r#""_rest":{"geo":{"x":1,"y":3}}} duplicate:geo"#),
        ("duplicates=last", r#""_rest":{"geo":{"\u0078":2,"y":3}}} duplicate:geo"#),
    ] {
        let found = json(with_rest(nested()), options(UnknownFields::Keep, words), twice.as_bytes());
        assert!(found.ends_with(expected), "{words}: {found}");
    }
    let many: Vec<_> = (0..5_000).map(|number| format!(r#""f{}":1"#, number % 4_999)).collect();
    let text = format!(r#"{{"id":1,{}}}"#, many.join(","));
    assert_eq!(json(with_rest(nested()), options(UnknownFields::Keep, ""), text.as_bytes()), "duplicate");
}

#[test]
fn what_is_unknown_needs_a_column() {
    let fields = [
        vec![noted(field("_rest", DataType::Utf8), "json")],
        vec![field("a", DataType::Int8), field("_rest", DataType::Utf8)],
        vec![field("a", DataType::Int8), noted(required("_rest", DataType::Utf8), "json")],
    ];
    for fields in fields {
        RowParser::new(Arc::new(Schema::new(fields)), UnknownFields::Keep).unwrap_err();
    }
}

#[test]
fn what_is_not_there_has_its_default() {
    let default = |field: Field, text: &str| {
        let mut metadata = field.metadata().clone();
        metadata.insert("logpersister.default".to_owned(), text.to_owned());
        field.with_metadata(metadata)
    };
    let fields = vec![
        default(required("n", DataType::Int64), "7"),
        default(field("s", DataType::Utf8), r#""a\n""#),
        default(noted(field("at", clock(TimeUnit::Millisecond)), "epoch[s]"), "1"),
        field("x", DataType::Int8),
    ];
    let cases = [
        ("{}", r#"{"n":7,"s":"a\n","at":"1970-01-01T00:00:01.000Z","x":null}"#),
        (r#"{"n":1,"s":null,"at":2}"#, r#"{"n":1,"s":null,"at":"1970-01-01T00:00:02.000Z","x":null}"#),
        (r#"{"n":null}"#, "missing n"),
    ];
    for (text, expected) in cases {
        assert_eq!(json(fields.clone(), UnknownFields::Refuse.into(), text.as_bytes()), expected, "{text}");
    }
    for (of, text) in
        [(DataType::Int8, "128"), (DataType::Utf8, "1"), (DataType::Utf8, "\"a\" 1"), (DataType::Int8, "")]
    {
        let schema = Arc::new(Schema::new(vec![default(field("n", of), text)]));
        assert!(RowParser::new(schema, UnknownFields::Drop).unwrap_err().starts_with("n: its default"), "{text}");
    }
}

#[test]
fn messagepack() {
    let fields = vec![
        field("id", DataType::Int64),
        field("s", DataType::Utf8),
        field("m", map(field("value", structure(vec![field("n", DataType::Int8)])))),
    ];
    let cases: [(&[u8], &str); 10] = [
        (b"\x81\xa2id\xa1\x37", r#"{"id":7,"s":null,"m":null,"_rest":null} wrong_type:id"#),
        (b"\x81\xa1s\xcb\x3f\xf8\0\0\0\0\0\0", r#"{"id":null,"s":"1.5","m":null,"_rest":null} wrong_type:s"#),
        (b"\x81\xa2id\xcf\xff\0\0\0\0\0\0\0", r#"{"id":null,"s":null,"m":null,"_rest":null} overflow:id"#),
        (b"\x81\xa2id\xc4\x01\x37", "wrong_type id"),
        (b"\x81\xa1s\xa2a\xff", r#"{"id":null,"s":"a�","m":null,"_rest":null} not_utf8:s"#),
        (b"\x81\xa1m\x82\xa1\xfe\x81\xa1n\x01\xa1\xff\xc0",
            r#"{"id":null,"s":null,"m":{"�":null},"_rest":null} duplicate:m{} not_utf8:m{}"#),
        (b"\x82\xa2id\x01\xa2id\x02", r#"{"id":2,"s":null,"m":null,"_rest":null} duplicate:id"#),
        // Bytes, extensions, instants, numbers that JSON has not, keys that are no text.
        (b"\x85\x05\xc4\x02\xff\0\xc2\xd4\x07\x01\xc0\xd6\xff\0\0\0\x01\xca\x7f\xc0\0\0\xca\xff\x80\0\0\x91\xc0\x81\xa1\xff\xa1a",
            concat!(r#"{"id":null,"s":null,"m":null,"_rest":{"5":"/wA=","false":{"type":7,"data":"AQ=="},"#,
                r#""null":"1970-01-01T00:00:01Z","NaN":"-Infinity","kcA=":{"/w==":"a"}}}"#)),
        (b"\x81\xa1m\x81\xa1k\x82\xa1n\x01\x01\x02", r#"{"id":null,"s":null,"m":{"k":{"n":1}},"_rest":{"m":{"k":{"1":2}}}}"#),
        (b"\x81\xa1x", "not_messagepack"),
    ];
    let schema = Arc::new(Schema::new(with_rest(fields)));
    let parser = MessagePackParser::new(schema, options(UnknownFields::Keep, ALL)).unwrap();
    for (value, expected) in cases {
        let rows = parsed(parser.parse(&BinaryArray::from_iter_values([value])).unwrap(), 1);
        assert_eq!(told(&rows), expected, "{value:?}");
    }
}

#[test]
fn csv() {
    let fields = with_rest(vec![required("id", DataType::Int64), field("price", DataType::Decimal128(5, 2))]);
    let names = ["id", "price", "note"].map(String::from);
    let cases: [(&[u8], &str, &str); 9] = [
        (b"1,x,n", "", "bad_text price"),
        (b"1,x,n", "badText=setNull", r#"{"id":1,"price":null,"_rest":{"note":"n"}} bad_text:price"#),
        (b"1,1e9,", "overflow=setNull", r#"{"id":1,"price":null,"_rest":{"note":null}} overflow:price"#),
        (b"1.5,1,", "wrongType=setNull", "wrong_type id"),
        (b"x,1,", "badText=setNull", "bad_text id"),
        (b"1,1,a,\"b \"\"c\",", "", r#"{"id":1,"price":1.00,"_rest":{"note":"a","3":"b \"c","4":null}}"#),
        (b"1,1,a\xff", "invalidUtf8=replace", r#"{"id":1,"price":1.00,"_rest":{"note":"a�"}} not_utf8:"#),
        (b"1,\"1,\xff", "invalidUtf8=replace", "not_csv"),
        (b"1,1", "", "too_few_columns"),
    ];
    for (value, words, expected) in cases {
        let syntax = CsvSyntax { delimiter: b',', quote: Some(b'"'), escape: None, null: Vec::new() };
        let schema = Arc::new(Schema::new(fields.clone()));
        let parser = CsvParser::new(schema, syntax, &names, options(UnknownFields::Keep, words)).unwrap();
        let rows = parsed(parser.parse(&BinaryArray::from_iter_values([value])).unwrap(), 1);
        assert_eq!(told(&rows), expected, "{}", String::from_utf8_lossy(value));
    }
}

#[test]
fn words_that_say_nothing_are_refused() {
    for pair in [("overflow", "convert"), ("duplicates", "setNull"), ("missing", "refuse"), ("wrongType", "")] {
        Faults::from_words([pair]).unwrap_err();
    }
}

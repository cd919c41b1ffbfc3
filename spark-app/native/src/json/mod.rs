//! Which values are JSON documents (RFC 8259), for whole columns at once.
//!
//! When a value is judged otherwise than before, `DOCUMENT_RULES` in `values/json/rows.py` must be raised.

mod fast;

use arrow_array::BinaryArray;
use serde_core::de::IgnoredAny;

use crate::error::{Reason, bail};

/// How many arrays and objects may stand in each other. Readers that have a limit have it about there, or far beyond.
pub const MOST_NESTED: usize = 128;

/// The values of a column that are no JSON documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Their rows, ascending.
    pub rows: Vec<i64>,
    /// Why the first one is none; never has anything of the value.
    pub reason: Option<Reason>,
}

/// Checks every value that is not null. Total: any bytes give an answer, on a stack of constant size.
pub fn not_json(values: &BinaryArray) -> Refused {
    let mut rows = Vec::new();
    let mut reason = None;
    for (row, value) in values.iter().enumerate() {
        if let Some(Err(error)) = value.map(check) {
            reason.get_or_insert(error);
            rows.push(row as i64);
        }
    }
    Refused { rows, reason }
}

/// Says whether a value is one JSON document; if not, what is wrong and where.
///
/// Most documents are told by a quick look; about all others serde_json decides, so that it alone says what is none.
///
/// serde_json takes what it is to ignore by the grammar alone, with a stack of its own: numbers of any size, and any
/// `\u` of four digits, also half of a surrogate pair, which RFC 8259 allows. It does not look whether text is UTF-8, nor
/// how deep it goes.
pub fn check(value: &[u8]) -> Result<(), Reason> {
    let text = std::str::from_utf8(value)
        .map_err(|error| Reason::new(format!("invalid UTF-8 after {} bytes", error.valid_up_to())))?;
    if fast::is_surely_json(value) {
        return Ok(());
    }
    check_grammar(text)?;
    check_nesting(value, MOST_NESTED)
}

/// Says whether a text is one JSON document, however deep it goes.
pub fn check_grammar(text: &str) -> Result<(), Reason> {
    serde_json::from_str::<IgnoredAny>(text).map(drop).map_err(|error| Reason::new(error.to_string()))
}

/// Checks that in a valid document at most `most` arrays and objects stand in each other.
pub fn check_nesting(document: &[u8], most: usize) -> Result<(), Reason> {
    // Most documents have not even so many brackets; counting them is nearly free.
    if document.len() <= 2 * most || openings(document) <= most {
        return Ok(());
    }
    let (mut depth, mut in_string, mut escaped) = (0, false, false);
    for (position, byte) in document.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' if depth == most => bail!("nested more than {most} deep after {position} bytes"),
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
    }
    Ok(())
}

/// Counts opening brackets and braces, also those in strings.
fn openings(document: &[u8]) -> usize {
    document.iter().filter(|byte| matches!(byte, b'[' | b'{')).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(value: &[u8]) -> String {
        check(value).expect_err(&format!("{value:?} is no JSON")).to_string()
    }

    fn nested(open: &str, close: &str, depth: usize) -> Vec<u8> {
        (open.repeat(depth) + "0" + &close.repeat(depth)).into_bytes()
    }

    #[test]
    fn documents_of_every_kind_are_json() {
        let good: [&[u8]; 22] = [
            b"null",
            b"true",
            b"false",
            b"0",
            b"-0",
            b"-0.0e-0",
            b"1E+9",
            b"1e999999",
            b"123456789012345678901234567890.123456789012345678901234567890",
            b"\"\"",
            b"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
            b"\"\x7f\"",
            "\"π 😀 \u{2028} \u{feff}\"".as_bytes(),
            b"\"\\ud83d\\ude00\"",
            b"\"\\ud83d\"",
            b"\"\\ude00 \\ud83dx\"",
            b"\"\\u0000\"",
            b"[]",
            b"{}",
            b" \t\r\n[ 1 , [ ] , { \"a\" : null } ] \t\r\n",
            b"{\"a\":1,\"a\":2}",
            b"{\"\":{\"\":[{}]}}",
        ];
        for value in good {
            check(value).unwrap_or_else(|reason| panic!("{}: {reason}", String::from_utf8_lossy(value)));
        }
    }

    #[test]
    fn everything_else_is_refused() {
        let bad: [&[u8]; 58] = [
            b"",
            b" ",
            b"\n",
            b"\xef\xbb\xbf{}",
            b"NaN",
            b"Infinity",
            b"-Infinity",
            b"nan",
            b"None",
            b"True",
            b"nul",
            b"nulls",
            b"undefined",
            b"'a'",
            b"a",
            b"01",
            b"-",
            b"-01",
            b"+1",
            b".5",
            b"1.",
            b"1.e1",
            b"1e",
            b"1e+",
            b"0x1",
            b"1_000",
            b"1 2",
            b"{} {}",
            b"{}\n{}",
            b"{},",
            b"[]]",
            b"[",
            b"[1",
            b"[1,]",
            b"[,1]",
            b"[1 2]",
            b"{",
            b"{\"a\"",
            b"{\"a\":",
            b"{\"a\":1",
            b"{\"a\":1,}",
            b"{\"a\" 1}",
            b"{1:1}",
            b"{a:1}",
            b"[}",
            b"{]",
            b"\"",
            b"\"a",
            b"\"\\\"",
            b"\"\\x41\"",
            b"\"\\u12\"",
            b"\"\\u12g4\"",
            b"\"\n\"",
            b"\"\t\"",
            b"\"\0\"",
            b"// a\n1",
            b"1/**/",
            b"\0",
        ];
        for value in bad {
            reason(value);
        }
    }

    #[test]
    fn what_is_not_utf_8_is_refused_inside_of_strings_and_outside() {
        let cases: [(&[u8], usize); 8] = [
            (b"\"\xff\"", 1),
            (b"\"a\xc3\"", 2),
            (b"\"\xc0\x80\"", 1),
            (b"\"\xed\xa0\x80\"", 1),
            (b"\"\xf4\x90\x80\x80\"", 1),
            (b"\"\xe2\x82\"", 1),
            (b"{}\x80", 2),
            (b"\xfe\xff\0{", 0),
        ];
        for (value, after) in cases {
            assert_eq!(reason(value), format!("invalid UTF-8 after {after} bytes"));
        }
    }

    #[test]
    fn reasons_say_where_and_nothing_of_the_value() {
        for (value, expected) in [
            (&b""[..], "EOF while parsing a value at line 1 column 0"),
            (b"secret", "expected value at line 1 column 1"),
            (b"{\"secret\": 1}\n {\"secret\": 2}", "trailing characters at line 2 column 2"),
            (b"{\"secret\": hunter2}", "expected value at line 1 column 12"),
            (b"[\"secret]", "EOF while parsing a string at line 1 column 9"),
        ] {
            assert_eq!(reason(value), expected);
        }
    }

    #[test]
    fn nesting_has_a_limit() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]"), (" [ ", " ] ")] {
            let levels = open.matches(['[', '{']).count();
            check(&nested(open, close, MOST_NESTED / levels)).unwrap();
            let reason = reason(&nested(open, close, MOST_NESTED / levels + 1));
            assert!(reason.starts_with("nested more than 128 deep after"), "{reason}");
        }
        assert_eq!(reason(&nested("[", "]", 129)), "nested more than 128 deep after 128 bytes");
    }

    #[test]
    fn brackets_in_strings_and_side_by_side_are_no_nesting() {
        check(format!("[\"{}\", \"\\\"{}\\\\\", \"\\\\\"]", "[".repeat(500), "{".repeat(500)).as_bytes()).unwrap();
        check(format!("[{}[]]", "[],{\"a\":{}},".repeat(1000)).as_bytes()).unwrap();
    }

    #[test]
    fn millions_of_brackets_are_refused_without_a_stack() {
        for depth in [10_000, 5_000_000] {
            reason(&nested("[", "]", depth));
            reason(&b"[".repeat(depth));
            reason(&b"{\"a\":".repeat(depth));
            reason(&b"]".repeat(depth));
        }
    }

    #[test]
    fn a_column_tells_its_bad_rows_and_the_first_reason() {
        let values = BinaryArray::from_opt_vec(vec![
            Some(b"{}"),
            None,
            Some(b""),
            Some(b"1"),
            Some(b"\xff"),
            None,
            Some(b"[1"),
            Some(b"[1]"),
        ]);
        let Refused { rows, reason } = not_json(&values);
        assert_eq!(rows, [2, 4, 6]);
        assert_eq!(reason.unwrap().to_string(), "EOF while parsing a value at line 1 column 0");

        let slice = not_json(&values.slice(3, 3));
        assert_eq!((slice.rows, slice.reason.unwrap().to_string()), (vec![1], "invalid UTF-8 after 0 bytes".into()));
        for nothing in [values.slice(0, 0), values.slice(0, 2), BinaryArray::new_null(5)] {
            assert_eq!(not_json(&nothing), Refused { rows: vec![], reason: None });
        }
    }
}

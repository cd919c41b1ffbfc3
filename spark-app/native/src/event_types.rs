//! What tells the types of records: a field of JSON objects, and parts of frames.
//!
//! When a value is judged otherwise than before, `RULES` in `records/type_names.py` must be raised.

use std::fmt;

use arrow_array::builder::BinaryBuilder;
use arrow_array::{Array, BinaryArray, Int64Array};
use serde_core::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::rows::{Framing, Opener};

/// Returns of each value that is a JSON object the text or whole number at a path; null where there is none.
///
/// None is there, too, where the value is no JSON document behind its header, or has a name of the path twice.
pub fn json_texts(values: &BinaryArray, framing: Framing, path: &[String]) -> BinaryArray {
    let mut opener = Opener::new(framing);
    let mut found = BinaryBuilder::with_capacity(values.len(), 0);
    for value in values {
        match value.and_then(|value| text_at(opener.open(value).ok()?.1, path)) {
            Some(text) => found.append_value(text),
            None => found.append_null(),
        }
    }
    found.finish()
}

fn text_at(value: &[u8], path: &[String]) -> Option<String> {
    let text = std::str::from_utf8(value).ok()?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let found = At(path).deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    found
}

/// Reads a value, and returns what is at a path in it.
struct At<'a>(&'a [String]);

impl<'de> DeserializeSeed<'de> for At<'_> {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for At<'_> {
    type Value = Option<String>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let Some((name, below)) = self.0.split_first() else {
            while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(None);
        };
        let mut found = None;
        while let Some(is_wanted) = members.next_key_seed(Is(name))? {
            if !is_wanted {
                members.next_value::<IgnoredAny>()?;
            } else if found.replace(members.next_value_seed(At(below))?).is_some() {
                return Err(A::Error::custom("a name twice"));
            }
        }
        Ok(found.flatten())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(self.0.is_empty().then(|| text.to_owned()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(self.0.is_empty().then(|| number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(self.0.is_empty().then(|| number.to_string()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Reads a name, and returns whether it is the wanted one.
struct Is<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Is<'_> {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok(self.0 == name)
    }
}

/// Returns of each value the bytes from a begin to an end; null for null, and where they are not within the value.
pub fn parts(values: &BinaryArray, begins: &Int64Array, ends: &Int64Array) -> BinaryArray {
    let offsets = values.value_offsets();
    let bytes = (offsets[values.len()] - offsets[0]) as usize;
    let mut found = BinaryBuilder::with_capacity(values.len(), bytes);
    for (row, value) in values.iter().enumerate() {
        let within = || {
            let begin = usize::try_from(begins.value(row)).ok()?;
            value?.get(begin..usize::try_from(ends.value(row)).ok()?)
        };
        found.append_option(within());
    }
    found.finish()
}

/// Returns the signed number of so many bytes at a place of each value, the highest byte first; 0 where a value ends before.
pub fn numbers(values: &BinaryArray, at: usize, bytes: usize) -> Int64Array {
    let number = |value: &[u8]| {
        let (first, rest) = value.get(at..at.checked_add(bytes)?)?.split_first()?;
        let highest = i64::from(first.cast_signed());
        Some(rest.iter().fold(highest, |number, byte| number << 8 | i64::from(*byte)))
    };
    let data = values.value_data();
    let each = values.value_offsets().windows(2).map(|ends| &data[ends[0] as usize..ends[1] as usize]);
    each.map(|value| number(value).unwrap_or_default()).collect::<Vec<_>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(value: &str, path: &[&str]) -> Option<String> {
        let path: Vec<String> = path.iter().map(|&name| name.to_owned()).collect();
        let found = json_texts(&BinaryArray::from_opt_vec(vec![Some(value.as_bytes())]), Framing::Plain, &path);
        found.is_valid(0).then(|| String::from_utf8(found.value(0).to_vec()).expect("text"))
    }

    #[test]
    fn a_text_or_a_whole_number_is_a_type() {
        assert_eq!(at(r#"{"a": 1, "type": "click"}"#, &["type"]).as_deref(), Some("click"));
        assert_eq!(at(r#"{"type": "c\u006cick"}"#, &["type"]).as_deref(), Some("click"));
        assert_eq!(at(r#"{"ty\u0070e": -7}"#, &["type"]).as_deref(), Some("-7"));
        assert_eq!(
            at(r#"{"meta": {"type": 18446744073709551615}}"#, &["meta", "type"]).as_deref(),
            Some("18446744073709551615")
        );
    }

    #[test]
    fn nothing_else_is() {
        for value in [
            r#"{"type": 1.0}"#,
            r#"{"type": 18446744073709551616}"#,
            r#"{"type": true}"#,
            r#"{"type": null}"#,
            r#"{"type": ["a"]}"#,
            r#"{"type": {"type": "a"}}"#,
            r#"{"type": "a", "type": "a"}"#,
            r#"{"type": "a"} x"#,
            r#"{"type": "a", "b": }"#,
            r#"["type", "a"]"#,
            r#""type""#,
            "",
        ] {
            assert_eq!(at(value, &["type"]), None, "{value}");
        }
        assert_eq!(at(r#"{"meta": "type"}"#, &["meta", "type"]), None);
    }

    #[test]
    fn a_value_may_be_nested_deeply_beside_the_type() {
        let deep = format!(r#"{{"a": {}{}, "type": "b"}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(at(&deep, &["type"]).as_deref(), Some("b"));
    }

    #[test]
    fn parts_are_within_values() {
        let values = BinaryArray::from_opt_vec(vec![Some(b"abcdef"), None, Some(b"ab"), Some(b"ab")]);
        let found = parts(&values, &Int64Array::from(vec![2, 0, 1, -1]), &Int64Array::from(vec![6, 0, 3, 1]));
        assert_eq!(found, BinaryArray::from_opt_vec(vec![Some(b"cdef"), None, None, None]));
    }

    #[test]
    fn numbers_are_signed_and_within_values() {
        let values = BinaryArray::from_vec(vec![b"\x00\x01\x02\xff\xfe", b"\x80", b"", b"\x00\x01\x02\x03"]);
        let found = |at, bytes| numbers(&values.slice(1, 3), at, bytes).values().to_vec();
        assert_eq!(found(0, 1), [-128, 0, 0]);
        assert_eq!(found(1, 2), [0, 0, 0x102]);
        assert_eq!(found(usize::MAX, 2), [0, 0, 0]);
        assert_eq!(numbers(&values, 3, 2).value(0), -2);
    }
}

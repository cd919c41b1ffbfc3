//! `google.protobuf.Struct`, `Value` and `ListValue` as JSON text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Write;

use super::super::reader::MOST_NESTED;
use super::super::reason::Refusal;
use super::input::{Input, Wire};

/// What a message of JSON holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Json {
    Object,
    Value,
    Array,
}

/// Appends a message as JSON. Members whose names come again have the last value, and its place.
pub fn write(of: Json, bytes: &[u8], target: &mut Vec<u8>) -> Result<(), Refusal> {
    write_at(of, bytes, target, MOST_NESTED)
}

fn write_at(of: Json, bytes: &[u8], target: &mut Vec<u8>, depth: usize) -> Result<(), Refusal> {
    let depth = depth.checked_sub(1).ok_or(Refusal::TooDeep)?;
    match of {
        Json::Object => object(bytes, target, depth),
        Json::Value => value(bytes, target, depth),
        Json::Array => array(bytes, target, depth),
    }
}

enum Found<'a> {
    Null,
    Number(f64),
    Text(&'a [u8]),
    Bool(bool),
    Inner(Json, Cow<'a, [u8]>),
}

fn value(bytes: &[u8], target: &mut Vec<u8>, depth: usize) -> Result<(), Refusal> {
    let mut input = Input::new(bytes);
    let mut found = Found::Null;
    while input.left() > 0 {
        found = match input.field()? {
            (1, Wire::Varint) => {
                input.varint()?;
                Found::Null
            }
            (2, Wire::Fixed64) => Found::Number(f64::from_le_bytes(input.array()?)),
            (3, Wire::Sized) => Found::Text(text(input.sized()?)?),
            (4, Wire::Varint) => Found::Bool(input.varint()? != 0),
            (number @ (5 | 6), Wire::Sized) => {
                let kind = if number == 5 { Json::Object } else { Json::Array };
                let piece = input.sized()?;
                match found {
                    // Pieces of one message are one message.
                    Found::Inner(before, inner) if before == kind => {
                        let mut whole = inner.into_owned();
                        whole.extend_from_slice(piece);
                        Found::Inner(kind, whole.into())
                    }
                    _ => Found::Inner(kind, piece.into()),
                }
            }
            (number, wire) => {
                input.skip(number, wire)?;
                continue;
            }
        }
    }
    match found {
        Found::Null => target.extend_from_slice(b"null"),
        Found::Number(number) if !number.is_finite() => return Err(Refusal::Overflow),
        // Never with an exponent, and without a point where it is whole.
        Found::Number(number) => write!(target, "{number}").map_err(|_| Refusal::Overflow)?,
        Found::Text(text) => quoted(text, target)?,
        Found::Bool(flag) => target.extend_from_slice(if flag { b"true" } else { b"false" }),
        Found::Inner(kind, inner) => write_at(kind, &inner, target, depth)?,
    }
    Ok(())
}

fn object(bytes: &[u8], target: &mut Vec<u8>, depth: usize) -> Result<(), Refusal> {
    let mut input = Input::new(bytes);
    let mut members: Vec<(&[u8], Cow<'_, [u8]>)> = Vec::new();
    while input.left() > 0 {
        match input.field()? {
            (1, Wire::Sized) => members.push(member(input.sized()?)?),
            (number, wire) => input.skip(number, wire)?,
        }
    }
    let last: HashMap<&[u8], usize> = members.iter().map(|(name, _)| *name).zip(0..).collect();
    let mut begin = b'{';
    for (place, (name, inner)) in members.iter().enumerate() {
        if last.get(name) != Some(&place) {
            continue;
        }
        target.push(begin);
        quoted(name, target)?;
        target.push(b':');
        write_at(Json::Value, inner, target, depth)?;
        begin = b',';
    }
    target.extend_from_slice(if begin == b'{' { b"{}" } else { b"}" });
    Ok(())
}

/// The name and the value of an entry.
fn member(bytes: &[u8]) -> Result<(&[u8], Cow<'_, [u8]>), Refusal> {
    let mut input = Input::new(bytes);
    let (mut name, mut inner): (&[u8], Cow<'_, [u8]>) = (b"", Cow::Borrowed(b""));
    while input.left() > 0 {
        match input.field()? {
            (1, Wire::Sized) => name = text(input.sized()?)?,
            (2, Wire::Sized) => {
                let piece = input.sized()?;
                if inner.is_empty() {
                    inner = piece.into();
                } else {
                    inner.to_mut().extend_from_slice(piece);
                }
            }
            (number, wire) => input.skip(number, wire)?,
        }
    }
    Ok((name, inner))
}

fn array(bytes: &[u8], target: &mut Vec<u8>, depth: usize) -> Result<(), Refusal> {
    let mut input = Input::new(bytes);
    let mut begin = b'[';
    while input.left() > 0 {
        match input.field()? {
            (1, Wire::Sized) => {
                target.push(begin);
                write_at(Json::Value, input.sized()?, target, depth)?;
                begin = b',';
            }
            (number, wire) => input.skip(number, wire)?,
        }
    }
    target.extend_from_slice(if begin == b'[' { b"[]" } else { b"]" });
    Ok(())
}

fn text(bytes: &[u8]) -> Result<&[u8], Refusal> {
    std::str::from_utf8(bytes).map(|_| bytes).map_err(|_| Refusal::NotUtf8)
}

fn quoted(text: &[u8], target: &mut Vec<u8>) -> Result<(), Refusal> {
    let text = std::str::from_utf8(text).map_err(|_| Refusal::NotUtf8)?;
    serde_json::to_writer(target, text).map_err(|_| Refusal::NotUtf8)
}

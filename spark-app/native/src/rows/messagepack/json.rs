//! MessagePack as JSON, for what a schema does not name.
//!
//! Bytes and texts that are no UTF-8 become text in base64, timestamps text as RFC 3339, other extensions an object of their
//! type and their bytes in base64, numbers that JSON does not have text. Keys become text: numbers, bools and nil as they are
//! written, what is made of others its bytes in base64. (As JSON in quotes, keys in keys would double with each of them.)

use std::io::Write;

use base64_simd::STANDARD;

use super::super::reason::Refusal;
use super::super::rest::{quote, quoted};
use super::super::time;
use super::input::{Input, Token};
use super::read::{TIMESTAMP, instant};
use crate::lines;

/// Appends the value that comes next, and nothing more when the target has so many bytes. Its depth is limited, so the stack
/// is, too.
pub fn value(input: &mut Input<'_>, target: &mut Vec<u8>, most: usize) -> Result<(), Refusal> {
    if target.len() > most {
        return input.skip();
    }
    match input.token()? {
        Token::Nil => target.extend_from_slice(b"null"),
        Token::Array(items) => {
            input.open()?;
            target.push(b'[');
            for item in 0..items {
                target.extend_from_slice(if item > 0 { b"," } else { b"" });
                value(input, target, most)?;
            }
            target.push(b']');
            input.close();
        }
        Token::Map(entries) => {
            input.open()?;
            target.push(b'{');
            for entry in 0..entries {
                target.extend_from_slice(if entry > 0 { b"," } else { b"" });
                target.append(&mut key(input)?);
                target.push(b':');
                value(input, target, most)?;
            }
            target.push(b'}');
            input.close();
        }
        Token::Text(text) if std::str::from_utf8(text).is_ok() => quote(text, target),
        Token::Text(bytes) | Token::Bytes(bytes) => in_base64(bytes, target),
        Token::Extension(kind, bytes) => extension(kind, bytes, target),
        number @ (Token::Float32(_) | Token::Float64(_)) => {
            let begin = target.len();
            scalar(number, target);
            if !target.last().is_some_and(u8::is_ascii_digit) {
                target.insert(begin, b'"');
                target.push(b'"');
            }
        }
        other => {
            scalar(other, target);
        }
    }
    Ok(())
}

/// The key that comes next, in quotes.
pub fn key(input: &mut Input<'_>) -> Result<Vec<u8>, Refusal> {
    let (before, mut text) = (*input, Vec::new());
    match input.token()? {
        token @ (Token::Array(_) | Token::Map(_)) => input.skip_rest(token)?,
        _ => value(&mut { before }, &mut text, usize::MAX)?,
    }
    Ok(match text.first() {
        Some(b'"') => text,
        None | Some(b'{') => {
            text.clear();
            in_base64(input.since(&before), &mut text);
            text
        }
        _ => quoted(&text),
    })
}

/// Appends a number or a bool; None where it is neither.
pub fn scalar(token: Token<'_>, target: &mut Vec<u8>) -> Option<()> {
    match token {
        Token::Bool(bit) => target.extend_from_slice(if bit { b"true" } else { b"false" }),
        Token::Unsigned(number) => write!(target, "{number}").ok()?,
        Token::Signed(number) => write!(target, "{number}").ok()?,
        Token::Float32(number) => real(number.into(), target)?,
        Token::Float64(number) => real(number, target)?,
        _ => return None,
    }
    Some(())
}

fn real(number: f64, target: &mut Vec<u8>) -> Option<()> {
    match number {
        f64::INFINITY => target.extend_from_slice(b"Infinity"),
        f64::NEG_INFINITY => target.extend_from_slice(b"-Infinity"),
        _ if number.is_nan() => target.extend_from_slice(b"NaN"),
        _ => serde_json::to_writer(target, &number).ok()?,
    }
    Some(())
}

fn in_base64(bytes: &[u8], target: &mut Vec<u8>) {
    target.push(b'"');
    STANDARD.encode_append(bytes, target);
    target.push(b'"');
}

fn extension(kind: i8, bytes: &[u8], target: &mut Vec<u8>) {
    let found = if kind == TIMESTAMP { instant(bytes) } else { None };
    match found {
        Some((seconds, nanoseconds)) if time::instant(seconds, nanoseconds.into(), 1).is_ok() => {
            target.push(b'"');
            lines::timestamp(target, seconds, 1);
            if nanoseconds > 0 {
                target.pop();
                target.extend_from_slice(format!(".{nanoseconds:09}Z").as_bytes());
            }
            target.push(b'"');
        }
        _ => {
            target.extend_from_slice(format!("{{\"type\":{kind},\"data\":").as_bytes());
            in_base64(bytes, target);
            target.push(b'}');
        }
    }
}

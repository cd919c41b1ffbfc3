//! Documents changed at random are JSON or not: no panic, and the same answer as of a parser that makes values of them.

mod common;

use arrow_array::BinaryArray;
use common::Random;
use logpersister_native::{MOST_NESTED, not_json};
use serde_json::Value;

const PIECES: [&[u8]; 40] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b",",
    b":",
    b"\"",
    b"\"",
    b"\"a\":",
    b"\"\"",
    b"\\",
    b"\\u",
    b"\\u00e9",
    b"\\ud83d",
    b"\\n",
    b"true",
    b"false",
    b"null",
    b"0",
    b"-",
    b"1",
    b".5",
    b"e",
    b"E+1",
    b" ",
    b"\n",
    b"\t",
    b"\0",
    b"\xc3\xa9",
    b"\xc3",
    b"\xf0\x9f\x98\x80",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\"\\\\\"",
];

fn document(random: &mut Random, depth: usize) -> Vec<u8> {
    let scalars: [&[u8]; 8] =
        [b"null", b"true", b"-1.5e3", b"12", b"\"text\"", b"\"\\u00e9\\\\\"", "\"é😀\"".as_bytes(), b"\"\""];
    let (open, close, members) = match random.below(if depth == 0 { 1 } else { 3 }) {
        0 => return scalars[random.below(scalars.len())].to_vec(),
        1 => (b'[', b']', false),
        _ => (b'{', b'}', true),
    };
    let mut text = vec![open];
    for index in 0..random.below(4) {
        if index > 0 {
            text.push(b',');
        }
        if members {
            text.extend(b"\"name\": ");
        }
        text.extend(document(random, depth - 1));
    }
    text.push(close);
    text
}

/// Whether serde_json makes a value of it. That knows no number beyond 64-bit floats and no half surrogate pairs.
fn has_value(text: &[u8]) -> bool {
    serde_json::from_slice::<Value>(text).is_ok()
}

fn is_json(texts: &[Vec<u8>]) -> Vec<bool> {
    let refused = not_json(&BinaryArray::from_iter_values(texts));
    assert_eq!(refused.reason.is_some(), !refused.rows.is_empty());
    (0..texts.len() as i64).map(|row| refused.rows.binary_search(&row).is_err()).collect()
}

#[test]
fn documents_changed_anywhere() {
    let mut bad = 0;
    for seed in 0..20_000 {
        let mut random = Random(seed);
        let mut text = document(&mut random, 6);
        for _ in 0..=random.below(2) {
            let at = random.below(text.len());
            match random.below(3) {
                0 => text[at] = random.next() as u8,
                1 => drop(text.drain(at..(at + 1 + random.below(3)).min(text.len()))),
                _ => drop(text.splice(at..at, PIECES[random.below(PIECES.len())].iter().copied())),
            }
            if text.is_empty() {
                text.push(b'1');
            }
        }
        let json = is_json(std::slice::from_ref(&text))[0];
        bad += u64::from(!json);
        if !text.contains(&b'u') && !text.iter().any(|byte| byte.eq_ignore_ascii_case(&b'e')) {
            assert_eq!(json, has_value(&text), "seed {seed}: {}", String::from_utf8_lossy(&text));
        }
        assert!(json || !has_value(&text), "seed {seed}: {}", String::from_utf8_lossy(&text));
    }
    assert!((5_000..19_000).contains(&bad), "{bad} of 20000 are none: too one-sided to show much");
}

#[test]
fn any_depth_is_told_from_the_limit() {
    for seed in 0..5_000 {
        let mut random = Random(seed);
        let depth = MOST_NESTED - 3 + random.below(7);
        let mut text = b"\"[{\\\"\"".to_vec();
        for _ in 0..depth {
            let around = [("[", "]"), ("{\"[\":", "}"), ("[\"]\",", "]")][random.below(3)];
            text = [around.0.as_bytes(), &text, around.1.as_bytes()].concat();
        }
        assert_eq!(is_json(&[text]), [depth <= MOST_NESTED], "seed {seed}: depth {depth}");
    }
}

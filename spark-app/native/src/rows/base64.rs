//! Base64 by RFC 4648: the standard alphabet, padded, and only what an encoder writes.

/// No digit has a high bit.
const NONE: u8 = 0x80;

const ALPHABET: [u8; 64] = *b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const DIGITS: [u8; 256] = {
    let mut digits = [NONE; 256];
    let mut at = 0;
    while at < ALPHABET.len() {
        digits[ALPHABET[at] as usize] = at as u8;
        at += 1;
    }
    digits
};

/// Appends what `text` stands for; None when it is no base64.
pub fn decode(text: &[u8], target: &mut Vec<u8>) -> Option<()> {
    let (groups, []) = text.as_chunks::<4>() else { return None };
    let Some((last, groups)) = groups.split_last() else { return Some(()) };
    target.reserve(3 * groups.len() + 3);
    for group in groups {
        target.extend_from_slice(&bytes(*group)?);
    }
    let (digits, length) = match *last {
        [a, b, b'=', b'='] => ([a, b, b'A', b'A'], 1),
        [a, b, c, b'='] => ([a, b, c, b'A'], 2),
        digits => (digits, 3),
    };
    let bytes = bytes(digits)?;
    let (bytes, behind) = bytes.split_at(length);
    target.extend_from_slice(bytes);
    behind.iter().all(|bits| *bits == 0).then_some(())
}

/// Appends the text that stands for bytes.
pub fn encode(bytes: &[u8], text: &mut Vec<u8>) {
    let (groups, rest) = bytes.as_chunks::<3>();
    text.reserve(4 * (groups.len() + 1));
    for group in groups {
        text.extend_from_slice(&characters(*group));
    }
    match *rest {
        [a] => {
            let [first, second, ..] = characters([a, 0, 0]);
            text.extend_from_slice(&[first, second, b'=', b'=']);
        }
        [a, b] => {
            let [first, second, third, _] = characters([a, b, 0]);
            text.extend_from_slice(&[first, second, third, b'=']);
        }
        _ => {}
    }
}

#[inline]
fn characters([a, b, c]: [u8; 3]) -> [u8; 4] {
    [a >> 2, a << 4 & 0x30 | b >> 4, b << 2 & 0x3c | c >> 6, c & 0x3f].map(|digit| ALPHABET[usize::from(digit)])
}

#[inline]
fn bytes(digits: [u8; 4]) -> Option<[u8; 3]> {
    let [a, b, c, d] = digits.map(|digit| DIGITS[usize::from(digit)]);
    let bytes = [a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d];
    ((a | b | c | d) & NONE == 0).then_some(bytes)
}

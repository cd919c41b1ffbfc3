//! Base64 by RFC 4648: the standard alphabet, padded, and only what an encoder writes.

/// No digit has a high bit.
const NONE: u8 = 0x80;

const DIGITS: [u8; 256] = {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut digits = [NONE; 256];
    let mut at = 0;
    while at < alphabet.len() {
        digits[alphabet[at] as usize] = at as u8;
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

#[inline]
fn bytes(digits: [u8; 4]) -> Option<[u8; 3]> {
    let [a, b, c, d] = digits.map(|digit| DIGITS[usize::from(digit)]);
    let bytes = [a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d];
    ((a | b | c | d) & NONE == 0).then_some(bytes)
}

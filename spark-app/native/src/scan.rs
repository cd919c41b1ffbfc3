//! What values consist of mostly: plain text, found in large steps, and short texts, taken in one.

const ONES: u64 = u64::from_le_bytes([0x01; 8]);
const HIGH_BITS: u64 = ONES << 7;
/// Bytes that are looked at together once a string is not short. Compilers make a few instructions of that.
const BLOCK: usize = 32;

/// The length of what stands before the next quote, backslash or control character, or the end.
#[inline]
pub fn plain(bytes: &[u8]) -> usize {
    let mut at = 0;
    // Most strings are short.
    while at < BLOCK {
        let Some(word) = bytes[at..].first_chunk() else { return at + few(&bytes[at..]) };
        if let Some(length) = special(u64::from_le_bytes(*word)) {
            return at + length;
        }
        at += 8;
    }
    while let Some(block) = bytes[at..].first_chunk::<BLOCK>() {
        if block.iter().fold(false, |found, byte| found | is_special(*byte)) {
            break;
        }
        at += BLOCK;
    }
    while let Some(word) = bytes[at..].first_chunk() {
        if let Some(length) = special(u64::from_le_bytes(*word)) {
            return at + length;
        }
        at += 8;
    }
    at + few(&bytes[at..])
}

#[inline(always)]
fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < b' ')
}

/// Which of eight bytes is the first special one: its high bit is set, and perhaps those of some behind it.
#[inline(always)]
fn special(word: u64) -> Option<usize> {
    let quotes = word ^ (ONES * u64::from(b'"'));
    let backslashes = word ^ (ONES * u64::from(b'\\'));
    let found = (quotes.wrapping_sub(ONES) & !quotes)
        | (backslashes.wrapping_sub(ONES) & !backslashes)
        | (word.wrapping_sub(ONES * 0x20) & !word);
    let found = found & HIGH_BITS;
    (found != 0).then_some(found.trailing_zeros() as usize / 8)
}

#[inline]
fn few(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| !is_special(**byte)).count()
}

/// Says whether a text begins with a name, which is mostly short: its two ends are compared, which may overlap.
#[inline(always)]
pub fn begins(text: &[u8], name: &[u8]) -> bool {
    let Some(text) = text.get(..name.len()) else { return false };
    match name.len() {
        8..=16 => ends::<8>(text) == ends::<8>(name),
        4..8 => ends::<4>(text) == ends::<4>(name),
        _ => text == name,
    }
}

#[inline(always)]
fn ends<const N: usize>(bytes: &[u8]) -> Option<(&[u8; N], &[u8; N])> {
    bytes.first_chunk().zip(bytes.last_chunk())
}

/// Bytes that are copied, and looked at, at once.
const FEW: usize = 16;

/// Appends the first `length` bytes. Few of them are copied with what follows and cut back, which is faster than to ask how many.
#[inline(always)]
pub fn append(target: &mut Vec<u8>, bytes: &[u8], length: usize) {
    match bytes.first_chunk::<FEW>() {
        Some(chunk) if length <= FEW => {
            target.extend_from_slice(chunk);
            target.truncate(target.len() - (FEW - length));
        }
        _ => target.extend_from_slice(&bytes[..length]),
    }
}

/// Says whether the first `length` bytes are UTF-8. Most texts are ASCII, and that is seen faster.
#[inline(always)]
pub fn is_utf8(bytes: &[u8], length: usize) -> bool {
    let is_ascii = match bytes.first_chunk::<FEW>() {
        Some(chunk) if length <= FEW => {
            let high_bits = u128::from_le_bytes(*chunk) & u128::from_le_bytes([0x80; FEW]);
            high_bits.unbounded_shl((FEW - length) as u32 * 8) == 0
        }
        _ => bytes[..length].is_ascii(),
    };
    is_ascii || std::str::from_utf8(&bytes[..length]).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_special_byte_ends_plain_text_wherever_it_is() {
        for length in 0..140 {
            let text: Vec<u8> = (0..length).map(|at| [b'a', 0x7f, 0xc3, b' ', b'#', 0xff][at % 6]).collect();
            assert_eq!(plain(&text), length);
            for at in 0..length {
                for byte in [b'"', b'\\', 0, 0x1f] {
                    let mut text = text.clone();
                    text[at] = byte;
                    if let Some(next) = text.get_mut(at + 1) {
                        *next = b'"';
                    }
                    assert_eq!(plain(&text), at);
                }
            }
        }
    }

    #[test]
    fn a_text_begins_with_a_name_if_each_byte_does() {
        let name: Vec<u8> = (b'a'..=b't').collect();
        for length in 0..name.len() {
            let name = &name[..length];
            assert!(begins(name, name) && begins(&[name, b"!"].concat(), name));
            for at in 0..length {
                let mut other = [name, b"!"].concat();
                other[at] ^= 1;
                assert!(!begins(&other, name) && !begins(&name[..at], name));
            }
        }
    }

    #[test]
    fn texts_are_appended_and_judged_whatever_follows_them() {
        for length in 0..40 {
            for behind in 0..20 {
                for other in [0x7f, 0x80, 0xff] {
                    let mut text: Vec<u8> = (b'a'..).take(length).map(|byte| byte & 0x7f).collect();
                    let expected = [b"before", &text[..]].concat();
                    text.resize(length + behind, other);
                    let mut target = b"before".to_vec();
                    append(&mut target, &text, length);
                    assert_eq!(target, expected);
                    assert!(is_utf8(&text, length));
                    for at in 0..length {
                        let mut text = text.clone();
                        text[at] = 0x80;
                        assert!(!is_utf8(&text, length), "{text:?}");
                        text[at] = other;
                        assert_eq!(is_utf8(&text, length), other < 0x80);
                    }
                }
            }
        }
        assert!(is_utf8("K\u{f6}ln und mehr!".as_bytes(), 5) && !is_utf8("K\u{f6}ln und mehr!".as_bytes(), 2));
    }
}

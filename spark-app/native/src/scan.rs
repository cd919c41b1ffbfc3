//! What JSON texts consist of mostly: plain text in strings, found in large steps.

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
}

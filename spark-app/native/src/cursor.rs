//! Reading Kafka's primitive types off the front of a byte slice. `None` always means: not there, or malformed.

/// The unread rest of a byte slice. No method panics or reads beyond it.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    #[inline(always)]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline(always)]
    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    #[inline(always)]
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }

    #[inline(always)]
    pub fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// A zigzag variable-length 32-bit integer: at most 5 bytes, and no bit beyond the 32nd.
    #[inline(always)]
    pub fn varint(&mut self) -> Option<i32> {
        let raw = self.unsigned_varint32()?;
        Some((raw >> 1) as i32 ^ -((raw & 1) as i32))
    }

    /// A variable-length 32-bit integer without a sign: at most 5 bytes, and no bit beyond the 32nd.
    #[inline(always)]
    pub fn unsigned_varint32(&mut self) -> Option<u32> {
        self.unsigned_varint::<5, 0x0f>().map(|raw| raw as u32)
    }

    /// A zigzag variable-length 64-bit integer: at most 10 bytes, and no bit beyond the 64th.
    #[inline(always)]
    pub fn varlong(&mut self) -> Option<i64> {
        let raw = self.unsigned_varint::<10, 0x01>()?;
        Some((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    #[inline(always)]
    fn unsigned_varint<const MOST_BYTES: usize, const LAST_BYTE_MASK: u8>(&mut self) -> Option<u64> {
        let first = self.byte()?;
        if first < 0x80 {
            return Some(u64::from(first));
        }
        let mut value = u64::from(first & 0x7f);
        for position in 1..MOST_BYTES {
            let byte = self.byte()?;
            if position == MOST_BYTES - 1 && byte & !LAST_BYTE_MASK != 0 {
                return None;
            }
            value |= u64::from(byte & 0x7f) << (7 * position);
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// Bytes after their length as a varint; a negative length is a null (`Some(None)`).
    #[inline(always)]
    pub fn nullable_bytes(&mut self) -> Option<Option<&'a [u8]>> {
        let length = self.varint()?;
        if length < 0 {
            return Some(None);
        }
        Some(Some(self.take(length as usize)?))
    }
}

#[cfg(test)]
mod tests {
    use super::Cursor;

    fn varint(bytes: &[u8]) -> Option<i32> {
        Cursor::new(bytes).varint()
    }

    fn varlong(bytes: &[u8]) -> Option<i64> {
        Cursor::new(bytes).varlong()
    }

    #[test]
    fn varints_are_zigzag() {
        for (bytes, expected) in [
            (&[0x00][..], 0),
            (&[0x01], -1),
            (&[0x02], 1),
            (&[0x7e], 63),
            (&[0x80, 0x01], 64),
            (&[0xff, 0xff, 0xff, 0xff, 0x0f], i32::MIN),
            (&[0xfe, 0xff, 0xff, 0xff, 0x0f], i32::MAX),
        ] {
            assert_eq!(varint(bytes), Some(expected), "{bytes:?}");
        }
        let mut longest = [0xff; 10];
        longest[9] = 0x01;
        assert_eq!(varlong(&longest), Some(i64::MIN));
        longest[0] = 0xfe;
        assert_eq!(varlong(&longest), Some(i64::MAX));
    }

    #[test]
    fn varints_that_are_cut_off_or_too_long_are_refused() {
        for bytes in [&[][..], &[0x80], &[0x80, 0x80, 0x80, 0x80, 0x10], &[0x80, 0x80, 0x80, 0x80, 0x80, 0x00]] {
            assert_eq!(varint(bytes), None, "{bytes:?}");
        }
        assert_eq!(varlong(&[0x80; 9]), None);
        assert_eq!(varlong(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02]), None);
        assert_eq!(varlong(&[0x80; 11]), None);
    }

    #[test]
    fn null_is_not_empty() {
        assert_eq!(Cursor::new(&[0x01]).nullable_bytes(), Some(None));
        assert_eq!(Cursor::new(&[0x00]).nullable_bytes(), Some(Some(&[][..])));
        assert_eq!(Cursor::new(&[0x04, 7]).nullable_bytes(), None);
    }
}

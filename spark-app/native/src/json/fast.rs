//! A quick look that takes most documents for what they are; whoever is not taken is looked at by [`super::check`].

use super::MOST_NESTED;
use crate::scan::plain;

/// Says whether a text in UTF-8 is surely one JSON document that is not too deep. False: it may still be one.
#[inline]
pub fn is_surely_json(text: &[u8]) -> bool {
    let mut scanner = Scanner { text, at: 0, objects: 0, depth: 0 };
    scanner.value().is_some() && scanner.peek().is_none()
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    /// Of what is open, the innermost last: whether it is an object.
    objects: u128,
    depth: usize,
}

// One bit for each level.
const _: () = assert!(MOST_NESTED <= u128::BITS as usize);

impl Scanner<'_> {
    /// Goes behind a value, and behind all that stands in it.
    #[inline]
    fn value(&mut self) -> Option<()> {
        loop {
            match self.peek()? {
                b'"' => self.string()?,
                b'-' | b'0'..=b'9' => self.number()?,
                b'{' => {
                    self.open(true)?;
                    if self.peek()? != b'}' {
                        self.name()?;
                        continue;
                    }
                    self.close();
                }
                b'[' => {
                    self.open(false)?;
                    if self.peek()? != b']' {
                        continue;
                    }
                    self.close();
                }
                b't' => self.word(b"true")?,
                b'f' => self.word(b"false")?,
                b'n' => self.word(b"null")?,
                _ => return None,
            }
            if !self.goes_on()? {
                return Some(());
            }
        }
    }

    /// Behind a value: closes what ends here; says whether another value follows, and goes to it.
    #[inline]
    fn goes_on(&mut self) -> Option<bool> {
        while self.depth > 0 {
            let is_object = self.objects & 1 == 1;
            match self.peek()? {
                b',' => {
                    self.at += 1;
                    if is_object {
                        self.peek();
                        self.name()?;
                    }
                    return Some(true);
                }
                b'}' if is_object => self.close(),
                b']' if !is_object => self.close(),
                _ => return None,
            }
        }
        Some(false)
    }

    #[inline(always)]
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.text.get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other.copied(),
            }
        }
    }

    #[inline(always)]
    fn open(&mut self, is_object: bool) -> Option<()> {
        if self.depth == MOST_NESTED {
            return None;
        }
        self.at += 1;
        self.depth += 1;
        self.objects = self.objects << 1 | u128::from(is_object);
        Some(())
    }

    #[inline(always)]
    fn close(&mut self) {
        self.at += 1;
        self.depth -= 1;
        self.objects >>= 1;
    }

    /// A name and its colon.
    #[inline(always)]
    fn name(&mut self) -> Option<()> {
        self.string()?;
        if self.peek()? != b':' {
            return None;
        }
        self.at += 1;
        Some(())
    }

    #[inline]
    fn string(&mut self) -> Option<()> {
        if self.text.get(self.at)? != &b'"' {
            return None;
        }
        self.at += 1;
        loop {
            self.at += plain(&self.text[self.at..]);
            match self.text.get(self.at)? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                // What else can be escaped is rare.
                b'\\'
                    if matches!(
                        self.text.get(self.at + 1)?,
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't'
                    ) =>
                {
                    self.at += 2;
                }
                _ => return None,
            }
        }
    }

    #[inline(always)]
    fn word(&mut self, word: &[u8]) -> Option<()> {
        if !self.text[self.at..].starts_with(word) {
            return None;
        }
        self.at += word.len();
        Some(())
    }

    #[inline]
    fn number(&mut self) -> Option<()> {
        self.at += usize::from(self.text[self.at] == b'-');
        let begin = self.at;
        self.digits();
        if self.at == begin || (self.text[begin] == b'0' && self.at > begin + 1) {
            return None;
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            let begin = self.at;
            self.digits();
            if self.at == begin {
                return None;
            }
        }
        // Numbers with an exponent are rare.
        if matches!(self.text.get(self.at), Some(b'e' | b'E')) { None } else { Some(()) }
    }

    #[inline(always)]
    fn digits(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }
}

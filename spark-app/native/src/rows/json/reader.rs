//! A JSON text (RFC 8259) being read, piece by piece; what is wrong with it as a whole, [`crate::json`] says.

use super::super::number::Number;
use super::super::reason::Refusal;
use crate::scan::{append, begins, plain};

/// How many arrays and objects may stand in each other, the row itself included.
pub const MOST_NESTED: usize = 64;

/// A position in a text, and how deep it is.
pub struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

/// Where a reader was.
#[derive(Debug, Clone, Copy)]
pub struct Position {
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    /// `text` is UTF-8.
    pub fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    pub fn position(&self) -> Position {
        Position { at: self.at, depth: self.depth }
    }

    pub fn return_to(&mut self, position: Position) {
        (self.at, self.depth) = (position.at, position.depth);
    }

    /// The text from a position on.
    pub fn since(&self, position: Position) -> &'a [u8] {
        self.text.get(position.at..self.at).unwrap_or_default()
    }

    /// The first byte that is not white space.
    #[inline(always)]
    pub fn peek(&mut self) -> Option<u8> {
        loop {
            match self.text.get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other.copied(),
            }
        }
    }

    /// Nothing but white space may follow.
    pub fn end(&mut self) -> Result<(), Refusal> {
        self.peek().map_or(Ok(()), |_| Err(Refusal::NotJson))
    }

    /// Goes behind the bracket that was seen, and says whether something stands before the one that closes.
    #[inline]
    pub fn open(&mut self, close: u8) -> Result<bool, Refusal> {
        self.at += 1;
        self.depth += 1;
        if self.depth > MOST_NESTED {
            return Err(Refusal::TooDeep);
        }
        if self.peek() != Some(close) {
            return Ok(true);
        }
        self.close();
        Ok(false)
    }

    /// Behind a member or an item: says whether another one follows.
    #[inline]
    pub fn more(&mut self, close: u8) -> Result<bool, Refusal> {
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.close();
                Ok(false)
            }
            _ => Err(Refusal::NotJson),
        }
    }

    #[inline]
    fn close(&mut self) {
        self.at += 1;
        self.depth -= 1;
    }

    #[inline]
    pub fn colon(&mut self) -> Result<(), Refusal> {
        if self.peek() != Some(b':') {
            return Err(Refusal::NotJson);
        }
        self.at += 1;
        Ok(())
    }

    /// Goes behind these bytes if they come next.
    #[inline(always)]
    pub fn take(&mut self, bytes: &[u8]) -> bool {
        let found = begins(&self.text[self.at..], bytes);
        if found {
            self.at += bytes.len();
        }
        found
    }

    #[inline]
    pub fn literal(&mut self, word: &'static str) -> Result<(), Refusal> {
        if self.take(word.as_bytes()) { Ok(()) } else { Err(Refusal::NotJson) }
    }

    #[inline]
    pub fn number(&mut self) -> Result<Number<'a>, Refusal> {
        let number = self.text.get(self.at..).and_then(Number::read).ok_or(Refusal::NotJson)?;
        self.at += number.text.len();
        Ok(number)
    }

    /// Appends the string that begins here, in UTF-8, its escapes resolved.
    #[inline]
    pub fn string(&mut self, target: &mut Vec<u8>) -> Result<(), Refusal> {
        self.quote()?;
        let begin = self.at;
        let length = self.plain().len();
        append(target, &self.text[begin..], length);
        if self.take(b"\"") { Ok(()) } else { self.rest_of_string(target) }
    }

    /// Appends what follows plain text of a string.
    #[cold]
    fn rest_of_string(&mut self, target: &mut Vec<u8>) -> Result<(), Refusal> {
        while let Some(character) = self.escape()? {
            target.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            target.extend_from_slice(self.plain());
        }
        Ok(())
    }

    /// The string that begins here; one with escapes is put into `space`.
    #[inline]
    pub fn text<'s>(&mut self, space: &'s mut Vec<u8>) -> Result<&'s [u8], Refusal>
    where
        'a: 's,
    {
        let begin = self.at;
        self.quote()?;
        let plain = self.plain();
        if self.take(b"\"") {
            return Ok(plain);
        }
        self.at = begin;
        space.clear();
        self.string(space)?;
        Ok(space)
    }

    /// Goes behind the value that begins here, whatever it is, and returns its text.
    pub fn raw(&mut self) -> Result<&'a [u8], Refusal> {
        self.peek();
        let begin = self.at;
        self.skip()?;
        self.text.get(begin..self.at).ok_or(Refusal::NotJson)
    }

    /// Goes behind the value that begins here. Its depth is limited, so the stack is, too.
    pub fn skip(&mut self) -> Result<(), Refusal> {
        match self.peek() {
            Some(b'"') => self.skip_string(),
            Some(b'-' | b'0'..=b'9') => self.number().map(drop),
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            Some(b'[') => {
                let mut more = self.open(b']')?;
                while more {
                    self.skip()?;
                    more = self.more(b']')?;
                }
                Ok(())
            }
            Some(b'{') => {
                let mut more = self.open(b'}')?;
                while more {
                    self.peek();
                    self.skip_string()?;
                    self.colon()?;
                    self.skip()?;
                    more = self.more(b'}')?;
                }
                Ok(())
            }
            _ => Err(Refusal::NotJson),
        }
    }

    fn skip_string(&mut self) -> Result<(), Refusal> {
        self.quote()?;
        loop {
            self.plain();
            if self.escape()?.is_none() {
                return Ok(());
            }
        }
    }

    #[inline]
    fn quote(&mut self) -> Result<(), Refusal> {
        if self.take(b"\"") { Ok(()) } else { Err(Refusal::NotJson) }
    }

    /// Goes to the next quote, backslash or control character, and returns what stands before it.
    #[inline]
    fn plain(&mut self) -> &'a [u8] {
        let rest = &self.text[self.at..];
        let found = &rest[..plain(rest)];
        self.at += found.len();
        found
    }

    /// What stands behind plain text: the end of the string (None), or an escaped character.
    #[inline]
    fn escape(&mut self) -> Result<Option<char>, Refusal> {
        match self.byte() {
            Some(b'"') => Ok(None),
            Some(b'\\') => self.escaped().map(Some),
            _ => Err(Refusal::NotJson),
        }
    }

    fn escaped(&mut self) -> Result<char, Refusal> {
        Ok(match self.byte() {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.code_point(),
            _ => return Err(Refusal::NotJson),
        })
    }

    /// One `\u`, or two that are a surrogate pair.
    fn code_point(&mut self) -> Result<char, Refusal> {
        let mut code = self.four_digits()?;
        if let 0xd800..=0xdbff = code {
            if !self.take(b"\\u") {
                return Err(Refusal::BadText);
            }
            let low = self.four_digits()?;
            if !(0xdc00..=0xdfff).contains(&low) {
                return Err(Refusal::BadText);
            }
            code = 0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        char::from_u32(code).ok_or(Refusal::BadText)
    }

    fn four_digits(&mut self) -> Result<u32, Refusal> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.byte().and_then(|byte| char::from(byte).to_digit(16)).ok_or(Refusal::NotJson)?;
            code = code * 16 + digit;
        }
        Ok(code)
    }

    #[inline]
    fn byte(&mut self) -> Option<u8> {
        let byte = self.text.get(self.at).copied();
        self.at += usize::from(byte.is_some());
        byte
    }
}

/// Appends a JSON text without the white space that stands outside of its strings.
pub fn compact(json: &[u8], target: &mut Vec<u8>) {
    if !json.iter().any(|byte| *byte <= b' ') {
        return target.extend_from_slice(json);
    }
    let (mut in_string, mut escaped) = (false, false);
    for byte in json.iter().copied() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            b' ' | b'\n' | b'\r' | b'\t' if !in_string => continue,
            _ => {}
        }
        target.push(byte);
    }
}

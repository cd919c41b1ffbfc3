//! Instants in a notation that a manifest spells out: `pattern[yyyy-MM-dd HH:mm:ss.SSS]`. Each part has a fixed width.

use super::time::{Instant, NANOSECONDS, civil_days, two, utc_instant};

const MONTHS: [&[u8]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
const MOST_DIGITS: usize = 9;

#[derive(Debug)]
pub struct Pattern(Vec<Part>);

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Year,
    Month,
    MonthName,
    Day,
    Hour,
    Minute,
    Second,
    /// So many digits of a second.
    Fraction(usize),
    Offset(Offset),
    Literal(u8),
}

/// How the distance to UTC is written.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Offset {
    colon: bool,
    /// Whether `Z` may stand for none.
    zulu: bool,
}

impl Pattern {
    /// None: it is no pattern. The manifest checks more, such as that each part stands once.
    pub fn new(text: &str) -> Option<Self> {
        let (mut parts, mut rest) = (Vec::new(), text.as_bytes());
        while let Some(first) = rest.first() {
            if *first == b'\'' {
                let length = rest[1..].iter().position(|byte| *byte == b'\'')?;
                let quoted = if length == 0 { &rest[..1] } else { &rest[1..=length] };
                parts.extend(quoted.iter().map(|byte| Part::Literal(*byte)));
                rest = &rest[length + 2..];
            } else if first.is_ascii_alphabetic() {
                let length = rest.iter().take_while(|byte| *byte == first).count();
                parts.push(part(&rest[..length])?);
                rest = &rest[length..];
            } else {
                parts.push(Part::Literal(*first));
                rest = &rest[1..];
            }
        }
        Some(Self(parts))
    }

    /// Reads a text that is so, to its end; without an offset it is UTC.
    pub fn read(&self, text: &[u8]) -> Option<Instant> {
        let ([mut year, mut month, mut day], mut clock, mut offset) = ([0, 0, 0], [0; 4], 0);
        let mut rest = text;
        for part in &self.0 {
            match part {
                Part::Literal(byte) => rest = rest.strip_prefix(&[*byte])?,
                Part::Year => (year, rest) = number(rest, 4)?,
                Part::Month => (month, rest) = number(rest, 2)?,
                Part::MonthName => {
                    let (name, following) = rest.split_at_checked(3)?;
                    month = MONTHS.iter().position(|known| *known == name)? as i64 + 1;
                    rest = following;
                }
                Part::Day => (day, rest) = number(rest, 2)?,
                Part::Hour => (clock[0], rest) = number(rest, 2)?,
                Part::Minute => (clock[1], rest) = number(rest, 2)?,
                Part::Second => (clock[2], rest) = number(rest, 2)?,
                Part::Fraction(digits) => {
                    let (read, following) = number(rest, *digits)?;
                    clock[3] = read * (NANOSECONDS / 10_i64.pow(*digits as u32));
                    rest = following;
                }
                Part::Offset(form) => (offset, rest) = form.read(rest)?,
            }
        }
        if !rest.is_empty() {
            return None;
        }
        utc_instant(civil_days(year, month, day)?, clock, offset)
    }
}

impl Offset {
    /// Seconds that a local time is ahead of UTC, and what follows.
    fn read(self, text: &[u8]) -> Option<(i64, &[u8])> {
        if let (true, [b'Z', rest @ ..]) = (self.zulu, text) {
            return Some((0, rest));
        }
        let (sign, rest) = match text {
            [b'+', rest @ ..] => (1, rest),
            [b'-', rest @ ..] => (-1, rest),
            _ => return None,
        };
        let (hours, rest) = number(rest, 2)?;
        let rest = if self.colon { rest.strip_prefix(b":")? } else { rest };
        let (minutes, rest) = number(rest, 2)?;
        (hours <= 23 && minutes <= 59).then_some((sign * (hours * 60 + minutes) * 60, rest))
    }
}

fn part(letters: &[u8]) -> Option<Part> {
    Some(match letters {
        b"yyyy" => Part::Year,
        b"MM" => Part::Month,
        b"MMM" => Part::MonthName,
        b"dd" => Part::Day,
        b"HH" => Part::Hour,
        b"mm" => Part::Minute,
        b"ss" => Part::Second,
        b"Z" => Part::Offset(Offset { colon: false, zulu: false }),
        b"XX" => Part::Offset(Offset { colon: false, zulu: true }),
        b"XXX" => Part::Offset(Offset { colon: true, zulu: true }),
        [b'S', ..] if letters.len() <= MOST_DIGITS => Part::Fraction(letters.len()),
        _ => return None,
    })
}

/// A number of so many digits, and what follows.
fn number(text: &[u8], digits: usize) -> Option<(i64, &[u8])> {
    let (digits, rest) = text.split_at_checked(digits)?;
    let mut pairs = digits.chunks_exact(2);
    let whole = pairs.by_ref().try_fold(0, |sum, pair| Some(sum * 100 + two([pair[0], pair[1]])?))?;
    match pairs.remainder() {
        [last] => Some((whole * 10 + two([b'0', *last])?, rest)),
        _ => Some((whole, rest)),
    }
}

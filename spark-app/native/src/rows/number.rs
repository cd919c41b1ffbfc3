//! Numbers of JSON texts, converted exactly or to the nearest.

use std::fmt::Display;
use std::str::FromStr;

use super::reason::Refusal;

/// Digits that always fit 64 bits.
const EXACT_DIGITS: usize = 19;

/// Powers of ten that a double has exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Up to here doubles and singles have all whole numbers.
const DENSE_DOUBLES: u128 = 1 << f64::MANTISSA_DIGITS;
const DENSE_SINGLES: u128 = 1 << f32::MANTISSA_DIGITS;

/// A whole number as a double that is exactly it.
#[inline]
pub fn double_of(number: i128) -> Result<f64, Refusal> {
    let double = number as f64;
    if number.unsigned_abs() <= DENSE_DOUBLES || double as i128 == number { Ok(double) } else { Err(Refusal::Overflow) }
}

/// A whole number as a single that is exactly it.
#[inline]
pub fn single_of(number: i128) -> Result<f32, Refusal> {
    let single = number as f32;
    if number.unsigned_abs() <= DENSE_SINGLES || single as i128 == number { Ok(single) } else { Err(Refusal::Overflow) }
}

/// A number as it is written: (-1)^negative * mantissa * 10^exponent.
#[derive(Debug, Clone, Copy)]
pub struct Number<'a> {
    pub text: &'a [u8],
    negative: bool,
    /// Without `.` and exponent.
    integer: bool,
    /// All digits together; None: more than fit.
    mantissa: Option<u64>,
    exponent: i64,
}

impl<'a> Number<'a> {
    /// Reads the number at the beginning of a text; None when none is there.
    #[inline]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let negative = bytes.first() == Some(&b'-');
        let first = usize::from(negative);
        let (mut at, mut mantissa) = digits(bytes, first, 0);
        let mut number = at - first;
        if number == 0 || (number > 1 && bytes[first] == b'0') {
            return None;
        }
        let (mut integer, mut exponent) = (true, 0);
        if bytes.get(at) == Some(&b'.') {
            integer = false;
            let begin = at + 1;
            (at, mantissa) = digits(bytes, begin, mantissa);
            if at == begin {
                return None;
            }
            number += at - begin;
            exponent = -((at - begin) as i64);
        }
        if let Some(b'e' | b'E') = bytes.get(at) {
            integer = false;
            let (end, power) = read_exponent(bytes, at + 1)?;
            at = end;
            exponent = power.saturating_add(exponent);
        }
        let mantissa = (number <= EXACT_DIGITS).then_some(mantissa);
        Some(Self { text: bytes.get(..at)?, negative, integer, mantissa, exponent })
    }

    /// Reads a text that is a number and nothing else.
    pub fn whole(text: &'a [u8]) -> Option<Self> {
        Self::read(text).filter(|number| number.text.len() == text.len())
    }

    /// Parses the text in the general way, which costs more.
    fn parse<T: FromStr>(&self) -> Option<T> {
        std::str::from_utf8(self.text).ok()?.parse().ok()
    }

    /// The integer that is written without `.` and exponent.
    #[inline]
    pub fn integer(&self) -> Result<i64, Refusal> {
        if !self.integer {
            return Err(Refusal::WrongType);
        }
        let mantissa = self.mantissa.ok_or(Refusal::Overflow)?;
        match self.negative {
            false => i64::try_from(mantissa).map_err(|_| Refusal::Overflow),
            true => 0_i64.checked_sub_unsigned(mantissa).ok_or(Refusal::Overflow),
        }
    }

    /// The double nearest to it. A whole number must be one that a double is, or how it is written.
    #[inline]
    pub fn double(&self) -> Result<f64, Refusal> {
        // Two exact doubles: their product or quotient is rounded once.
        if let (Some(mantissa @ ..=0x20_0000_0000_0000), -22..=22) = (self.mantissa, self.exponent) {
            let power = POWERS[self.exponent.unsigned_abs() as usize];
            let value = if self.exponent < 0 { mantissa as f64 / power } else { mantissa as f64 * power };
            return Ok(if self.negative { -value } else { value });
        }
        let is_it = |value: &f64| value.is_finite() && self.is_written(value, *value);
        self.parse().filter(is_it).ok_or(Refusal::Overflow)
    }

    /// The single nearest to it, as `double`; not by way of a double, which would round twice.
    #[inline]
    pub fn single(&self) -> Result<f32, Refusal> {
        if let (Some(mantissa @ ..=0x100_0000), -10..=10) = (self.mantissa, self.exponent) {
            let power = POWERS[self.exponent.unsigned_abs() as usize] as f32;
            let value = if self.exponent < 0 { mantissa as f32 / power } else { mantissa as f32 * power };
            return Ok(if self.negative { -value } else { value });
        }
        let is_it = |value: &f32| value.is_finite() && self.is_written(value, f64::from(*value));
        self.parse().filter(is_it).ok_or(Refusal::Overflow)
    }

    /// Whether a float is what a whole number says: by all of its digits, or by the fewest that make it, and zeros, as
    /// JavaScript writes floats. Fractions and exponents say no more than the nearest.
    fn is_written(&self, shortest: &impl Display, value: f64) -> bool {
        !self.integer || [shortest.to_string(), format!("{value:.0}")].iter().any(|one| one.as_bytes() == self.text)
    }
}

/// Reads digits from `at` on behind those of `mantissa`; returns where they end. What does not fit wraps.
#[inline(always)]
fn digits(bytes: &[u8], mut at: usize, mut mantissa: u64) -> (usize, u64) {
    while let Some(digit) = bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    (at, mantissa)
}

/// Reads what stands behind the `e`; returns where it ends. What does not fit saturates.
fn read_exponent(bytes: &[u8], mut at: usize) -> Option<(usize, i64)> {
    let negative = bytes.get(at) == Some(&b'-');
    at += usize::from(negative || bytes.get(at) == Some(&b'+'));
    let begin = at;
    let mut power: i64 = 0;
    while let Some(digit) = bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        power = power.saturating_mul(10).saturating_add(i64::from(digit));
        at += 1;
    }
    (at > begin).then_some((at, if negative { -power } else { power }))
}

/// Fixed-point numbers of at most `precision` digits, `scale` of them behind the point.
#[derive(Debug, Clone, Copy)]
pub struct Decimal {
    pub precision: u8,
    pub scale: u8,
}

impl Decimal {
    /// The number times 10^scale; it must be exact.
    pub fn unscaled(self, number: &Number<'_>) -> Result<i128, Refusal> {
        let (mantissa, exponent) = significant(number)?;
        let shift = exponent.saturating_add(i64::from(self.scale));
        if mantissa == 0 {
            return Ok(0);
        }
        let power = u32::try_from(shift).ok().and_then(|shift| 10_i128.checked_pow(shift)).ok_or(Refusal::Overflow)?;
        let value = mantissa.checked_mul(power).ok_or(Refusal::Overflow)?;
        self.fitting(if number.negative { -value } else { value })
    }

    /// The unscaled value of a whole number.
    pub fn whole(self, number: i128) -> Result<i128, Refusal> {
        let power = 10_i128.checked_pow(self.scale.into());
        self.fitting(power.and_then(|power| number.checked_mul(power)).ok_or(Refusal::Overflow)?)
    }

    /// The unscaled value, unless it has too many digits.
    pub fn fitting(self, unscaled: i128) -> Result<i128, Refusal> {
        let fits = unscaled.unsigned_abs() < 10_u128.pow(u32::from(self.precision));
        if fits { Ok(unscaled) } else { Err(Refusal::Overflow) }
    }
}

/// A number's digits from the first to the last that is not zero, and the power of ten of that one.
fn significant(number: &Number<'_>) -> Result<(i128, i64), Refusal> {
    let mut mantissa: i128 = 0;
    let mut zeros = 0;
    for byte in number.text {
        match byte {
            b'0' => zeros += i64::from(mantissa != 0),
            b'1'..=b'9' => {
                // No decimal has as many digits as overflow here.
                let power = u32::try_from(zeros + 1).ok().and_then(|power| 10_i128.checked_pow(power));
                mantissa = power
                    .and_then(|power| mantissa.checked_mul(power))
                    .and_then(|mantissa| mantissa.checked_add(i128::from(*byte - b'0')))
                    .ok_or(Refusal::Overflow)?;
                zeros = 0;
            }
            b'e' | b'E' => break,
            _ => {}
        }
    }
    Ok((mantissa, number.exponent.saturating_add(zeros)))
}

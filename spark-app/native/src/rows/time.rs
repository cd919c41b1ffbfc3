//! Dates, times and timestamps from text and from numbers. All lie in the years 1 to 9999 of UTC, so that every
//! reader and every writer can have them; a number of another unit than declared is mostly found by that.

use super::iso8601;
use super::kind::TextNotation;
use super::reason::Refusal;

/// Seconds from 1970 in UTC, and nanoseconds from there.
pub type Instant = (i64, i64);

pub const DAY: i64 = 86_400;
pub const NANOSECONDS: i64 = 1_000_000_000;
/// 0001-01-01T00:00:00Z and the last second of 9999, from 1970.
const FIRST_SECOND: i64 = -62_135_596_800;
const LAST_SECOND: i64 = 253_402_300_799;

/// Days from 1970 to a `YYYY-MM-DD`.
pub fn date(text: &[u8]) -> Result<i32, Refusal> {
    let (days, rest) = read_date(text).ok_or(Refusal::BadText)?;
    if !rest.is_empty() {
        return Err(Refusal::BadText);
    }
    checked_second(days * DAY)?;
    i32::try_from(days).map_err(|_| Refusal::Overflow)
}

/// What a `HH:MM:SS[.fraction]` is from midnight, in units of which a second has `per_second`; finer digits are cut off.
pub fn time(text: &[u8], per_second: i64) -> Result<i64, Refusal> {
    let (seconds, nanoseconds, rest) = read_time(text).ok_or(Refusal::BadText)?;
    if !rest.is_empty() {
        return Err(Refusal::BadText);
    }
    Ok(seconds * per_second + nanoseconds / (NANOSECONDS / per_second))
}

/// What a text in a notation is from 1970, in units of which a second has `per_second`; without an offset it is UTC, finer
/// digits are cut off.
#[inline]
pub fn timestamp(text: &[u8], notation: &TextNotation, per_second: i64) -> Result<i64, Refusal> {
    let read = match notation {
        TextNotation::Rfc3339 => read_timestamp(text),
        TextNotation::Iso8601 => iso8601::read(text),
        TextNotation::Pattern(pattern) => pattern.read(text),
    };
    let (seconds, nanoseconds) = read.ok_or(Refusal::BadText)?;
    instant(seconds, nanoseconds, per_second)
}

/// The instant of a time in UTC's distance `offset`, on a day from 1970: hour, minute, second and nanoseconds.
///
/// The leap second 23:59:60 of UTC is read as 23:59:59, so it stays in its day; no other second 60 is one.
pub fn utc_instant(days: i64, [hour, minute, second, nanoseconds]: [i64; 4], offset: i64) -> Option<Instant> {
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = days * DAY + (hour * 60 + minute) * 60 + second.min(59) - offset;
    (second < 60 || seconds.rem_euclid(DAY) == DAY - 1).then_some((seconds, nanoseconds))
}

/// The same of seconds from 1970 and nanoseconds from there.
pub fn instant(seconds: i64, nanoseconds: i64, per_second: i64) -> Result<i64, Refusal> {
    checked_second(seconds)?;
    if nanoseconds >= NANOSECONDS {
        return Err(Refusal::Overflow);
    }
    let units = i128::from(seconds) * i128::from(per_second) + i128::from(nanoseconds / (NANOSECONDS / per_second));
    i64::try_from(units).map_err(|_| Refusal::Overflow)
}

/// The same of a number of units of which a second has `from_per_second`.
pub fn epoch(number: i64, from_per_second: i64, per_second: i64) -> Result<i64, Refusal> {
    checked_second(number.div_euclid(from_per_second))?;
    if from_per_second > per_second {
        return Ok(number.div_euclid(from_per_second / per_second));
    }
    number.checked_mul(per_second / from_per_second).ok_or(Refusal::Overflow)
}

/// A number of days from 1970, if it is a date.
pub fn day(days: i32) -> Result<i32, Refusal> {
    checked_second(i64::from(days) * DAY).map(|()| days)
}

/// A number of units from midnight, of which a second has `from_per_second`, in other units; finer ones are cut off.
pub fn of_day(number: i64, from_per_second: i64, per_second: i64) -> Result<i64, Refusal> {
    if !(0..DAY * from_per_second).contains(&number) {
        return Err(Refusal::Overflow);
    }
    Ok(if from_per_second > per_second {
        number / (from_per_second / per_second)
    } else {
        number * (per_second / from_per_second)
    })
}

fn checked_second(second: i64) -> Result<(), Refusal> {
    if (FIRST_SECOND..=LAST_SECOND).contains(&second) { Ok(()) } else { Err(Refusal::Overflow) }
}

fn read_timestamp(text: &[u8]) -> Option<Instant> {
    let (days, rest) = read_date(text)?;
    let (b'T' | b't' | b' ', rest) = rest.split_first()? else { return None };
    let (seconds, nanoseconds, rest) = read_time(rest)?;
    Some((days * DAY + seconds - read_offset(rest)?, nanoseconds))
}

/// Days from 1970, and what follows.
fn read_date(text: &[u8]) -> Option<(i64, &[u8])> {
    let ([y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2], rest) = text.split_first_chunk()? else { return None };
    let year = two([*y1, *y2])? * 100 + two([*y3, *y4])?;
    Some((civil_days(year, two([*m1, *m2])?, two([*d1, *d2])?)?, rest))
}

/// Days from 1970 to a day; None: there is no such day.
pub fn civil_days(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (1..=last).contains(&day).then(|| days(year, month, day))
}

/// Days from 1970 to a day of the proleptic Gregorian calendar. Years are counted from March, so that the leap day ends one.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year - era * 400;
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Seconds from midnight, nanoseconds, and what follows.
fn read_time(text: &[u8]) -> Option<(i64, i64, &[u8])> {
    let ([h1, h2, b':', m1, m2, b':', s1, s2], rest) = text.split_first_chunk()? else { return None };
    let (hour, minute, second) = (two([*h1, *h2])?, two([*m1, *m2])?, two([*s1, *s2])?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = (hour * 60 + minute) * 60 + second;
    let Some((b'.', digits)) = rest.split_first() else { return Some((seconds, 0, rest)) };
    let (nanoseconds, rest) = fraction(digits)?;
    Some((seconds, nanoseconds, rest))
}

/// Nanoseconds of the digits behind a point, of which there is one at least, and what follows.
pub fn fraction(text: &[u8]) -> Option<(i64, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return None;
    }
    let (digits, rest) = text.split_at(digits);
    let (mut nanoseconds, mut unit) = (0, NANOSECONDS / 10);
    for digit in digits {
        nanoseconds += i64::from(digit - b'0') * unit;
        unit /= 10;
    }
    Some((nanoseconds, rest))
}

/// Seconds that a local time is ahead of UTC.
fn read_offset(text: &[u8]) -> Option<i64> {
    match text {
        [] | [b'Z' | b'z'] => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (two([*h1, *h2])?, two([*m1, *m2])?);
            let seconds = (hours * 60 + minutes) * 60;
            (hours <= 23 && minutes <= 59).then_some(if *sign == b'+' { seconds } else { -seconds })
        }
        _ => None,
    }
}

#[inline]
pub fn two(digits: [u8; 2]) -> Option<i64> {
    let [tens, ones] = digits.map(|digit| digit.wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then(|| i64::from(tens * 10 + ones))
}

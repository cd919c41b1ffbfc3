//! Dates, times and timestamps from text (RFC 3339) and from numbers. All lie in the years 1 to 9999 of UTC, so that every
//! reader and every writer can have them; a number of another unit than declared is mostly found by that.

use super::reason::Refusal;

const DAY: i64 = 86_400;
const NANOSECONDS: i64 = 1_000_000_000;
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

/// What an RFC 3339 text is from 1970, in units of which a second has `per_second`; without an offset it is UTC, finer
/// digits are cut off.
pub fn timestamp(text: &[u8], per_second: i64) -> Result<i64, Refusal> {
    let (seconds, nanoseconds) = read_timestamp(text).ok_or(Refusal::BadText)?;
    instant(seconds, nanoseconds, per_second)
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

fn read_timestamp(text: &[u8]) -> Option<(i64, i64)> {
    let (days, rest) = read_date(text)?;
    let (b'T' | b't' | b' ', rest) = rest.split_first()? else { return None };
    let (seconds, nanoseconds, rest) = read_time(rest)?;
    Some((days * DAY + seconds - read_offset(rest)?, nanoseconds))
}

/// Days from 1970, and what follows.
fn read_date(text: &[u8]) -> Option<(i64, &[u8])> {
    let ([y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2], rest) = text.split_first_chunk()? else { return None };
    let year = two([*y1, *y2])? * 100 + two([*y3, *y4])?;
    let (month, day) = (two([*m1, *m2])?, two([*d1, *d2])?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (1..=last).contains(&day).then(|| (days(year, month, day), rest))
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
    let Some((b'.', fraction)) = rest.split_first() else { return Some((seconds, 0, rest)) };
    let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return None;
    }
    let (fraction, rest) = fraction.split_at(digits);
    let (mut nanoseconds, mut unit) = (0, NANOSECONDS / 10);
    for digit in fraction {
        nanoseconds += i64::from(digit - b'0') * unit;
        unit /= 10;
    }
    Some((seconds, nanoseconds, rest))
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
fn two(digits: [u8; 2]) -> Option<i64> {
    let [tens, ones] = digits.map(|digit| digit.wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then(|| i64::from(tens * 10 + ones))
}

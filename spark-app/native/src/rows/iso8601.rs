//! Instants as ISO 8601 has them and as people write it: with or without signs between, to the day, hour, minute or second.

use super::time::{DAY, Instant, civil_days, fraction, two, utc_instant};

/// Reads a date, and a time if one follows, each in its basic or its extended form.
pub fn read(text: &[u8]) -> Option<Instant> {
    let (days, rest) = date(text)?;
    let Some((separator, rest)) = rest.split_first() else { return Some((days * DAY, 0)) };
    if !matches!(separator, b'T' | b't' | b' ') {
        return None;
    }
    let (clock, rest) = time(rest)?;
    utc_instant(days, clock, offset(rest)?)
}

fn date(text: &[u8]) -> Option<(i64, &[u8])> {
    match text {
        [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, rest @ ..] | [y1, y2, y3, y4, m1, m2, d1, d2, rest @ ..] => {
            let year = two([*y1, *y2])? * 100 + two([*y3, *y4])?;
            Some((civil_days(year, two([*m1, *m2])?, two([*d1, *d2])?)?, rest))
        }
        _ => None,
    }
}

/// Hour, minute, second and nanoseconds, and what follows; minutes and seconds may be left out.
fn time(text: &[u8]) -> Option<([i64; 4], &[u8])> {
    let mut found = [0; 4];
    let (hour, mut rest) = digits(text)?;
    found[0] = hour;
    let colon = rest.first() == Some(&b':');
    for (place, part) in found[1..3].iter_mut().enumerate() {
        let next =
            if colon { rest.strip_prefix(b":") } else { rest.first().is_some_and(u8::is_ascii_digit).then_some(rest) };
        let Some(next) = next else { return Some((found, rest)) };
        (*part, rest) = digits(next)?;
        let fraction_follows = place == 1 && matches!(rest.first(), Some(b'.' | b','));
        if fraction_follows {
            let (nanoseconds, rest) = fraction(&rest[1..])?;
            found[3] = nanoseconds;
            return Some((found, rest));
        }
    }
    Some((found, rest))
}

/// Seconds that a local time is ahead of UTC: nothing, `Z`, or a sign with hours, and minutes with or without a colon.
fn offset(text: &[u8]) -> Option<i64> {
    let (sign, rest) = match text {
        [] | [b'Z' | b'z'] => return Some(0),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let (hours, rest) = digits(rest)?;
    let minutes = match rest {
        [] => 0,
        [b':', m1, m2] | [m1, m2] => two([*m1, *m2])?,
        _ => return None,
    };
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * 60 + minutes) * 60)
}

fn digits(text: &[u8]) -> Option<(i64, &[u8])> {
    let ([tens, ones], rest) = text.split_first_chunk()?;
    Some((two([*tens, *ones])?, rest))
}

//! Dates, times and timestamps as RFC 3339 writes them; a year that has not four digits as ECMAScript does (`+012345-01-01`).

const DAY: i64 = 86_400;

/// Days from 1970.
pub fn date(text: &mut Vec<u8>, days: i64) {
    let (year, month, day) = civil(days);
    if (0..=9999).contains(&year) {
        digits(text, year, 4);
    } else {
        text.push(if year < 0 { b'-' } else { b'+' });
        digits(text, year.abs(), 6);
    }
    text.push(b'-');
    digits(text, month, 2);
    text.push(b'-');
    digits(text, day, 2);
}

/// Units from midnight, of which a second has `per_second`, with all their digits.
pub fn time(text: &mut Vec<u8>, units: i64, per_second: i64) {
    let seconds = units.div_euclid(per_second);
    digits(text, seconds / 3600, 2);
    text.push(b':');
    digits(text, seconds / 60 % 60, 2);
    text.push(b':');
    digits(text, seconds % 60, 2);
    if per_second > 1 {
        text.push(b'.');
        digits(text, units.rem_euclid(per_second), per_second.ilog10() as usize);
    }
}

/// Units from 1970 in UTC, of which a second has `per_second`.
pub fn timestamp(text: &mut Vec<u8>, units: i64, per_second: i64) {
    let day = DAY * per_second;
    date(text, units.div_euclid(day));
    text.push(b'T');
    time(text, units.rem_euclid(day), per_second);
    text.push(b'Z');
}

/// The day of the proleptic Gregorian calendar; the inverse of `rows::time::days`.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// A number from 0 on, with at least so many digits.
fn digits(text: &mut Vec<u8>, mut number: i64, least: usize) {
    let mut digits = [b'0'; 19];
    let mut begin = digits.len();
    while number > 0 {
        begin -= 1;
        digits[begin] += (number % 10) as u8;
        number /= 10;
    }
    text.extend_from_slice(&digits[begin.min(digits.len() - least)..]);
}

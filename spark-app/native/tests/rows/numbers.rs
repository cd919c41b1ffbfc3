//! Numbers: integers that fit, the nearest float, exact decimals.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float32Type, Float64Type, Int8Type};
use arrow_schema::DataType;

use crate::common::Random;
use crate::{column, field, parse, parser, refused};

const INTEGERS: [(DataType, u32); 4] =
    [(DataType::Int8, 8), (DataType::Int16, 16), (DataType::Int32, 32), (DataType::Int64, 64)];

#[test]
fn integers_that_fit() {
    for (data_type, bits) in INTEGERS {
        let edge = 1_i128 << (bits - 1);
        let numbers = [-edge, 1 - edge, -1, 0, 1, edge - 2, edge - 1];
        let array = column(&field("v", data_type), &numbers.map(|number| number.to_string()));
        let bytes: Vec<u8> =
            numbers.iter().flat_map(|number| number.to_le_bytes()[..bits as usize / 8].to_vec()).collect();
        assert_eq!(array.to_data().buffers()[0].as_slice(), bytes);
    }
    assert_eq!(column(&field("v", DataType::Int8), &["-0"]).as_primitive::<Int8Type>().values(), &[0]);
}

#[test]
fn integers_that_do_not_fit_and_what_is_none() {
    for (data_type, bits) in INTEGERS {
        let field = field("v", data_type);
        let edge = 1_i128 << (bits - 1);
        let far = ["18446744073709551616", "-18446744073709551617", "100000000000000000000000000"];
        refused(&field, "overflow", &[edge.to_string(), (-edge - 1).to_string()]);
        refused(&field, "overflow", &far);
        refused(&field, "wrong_type", &["1.0", "1e0", "1E2", "-0.0", "1.5", "\"1\"", "true", "[1]", "{}", "1e999"]);
    }
}

/// Numbers of all lengths, with points and exponents anywhere, some of them at the edges of the types.
fn texts(count: u64) -> Vec<String> {
    let text = |seed| {
        let mut random = Random(seed);
        let digits = |random: &mut Random, most| {
            let count = 1 + random.below(most);
            (0..count).map(|_| char::from(b'0' + random.below(10) as u8)).collect::<String>()
        };
        let most = [1, 3, 8, 17, 20, 30][random.below(6)];
        let whole = digits(&mut random, most);
        let whole = whole.trim_start_matches('0');
        let mut text = ["", "-"][random.below(2)].to_owned() + if whole.is_empty() { "0" } else { whole };
        if random.below(3) > 0 {
            let most = [1, 3, 8, 17, 30][random.below(5)];
            text = text + "." + &digits(&mut random, most);
        }
        if random.below(3) == 0 {
            let power = [3, 10, 25, 50, 320][random.below(5)];
            text += &format!("{}{}", ["e", "E", "e+", "E-", "e-0"][random.below(5)], random.below(power));
        }
        text
    };
    let edges = [
        "0.1",
        "1e23",
        "9007199254740993",
        "9007199254740992.5",
        "1.7976931348623157e308",
        "5e-324",
        "2e-324",
        "1e-999",
        "3.4028235e38",
        "1.401298464324817e-45",
        "16777217",
        "1.00000005960464477540",
        "1.000000059604644775390625",
        "123456789012345678901234567890e-20",
        "0e999999999999999999999",
        "-0",
        "-0.0e5",
        "8.5e-22",
        "1e22",
        "4503599627370496.5",
    ];
    edges.into_iter().map(String::from).chain((0..count).map(text)).collect()
}

/// Whether a float says what a text says: the nearest is enough for a fraction, whole numbers have all digits or the fewest.
fn says(text: &str, exact: i128, fewest: &str) -> bool {
    text.contains(['.', 'e', 'E']) || text.parse() == Ok(exact) || text == fewest
}

#[test]
fn floats_are_the_nearest_to_the_text() {
    let texts = texts(30_000);
    let values: Vec<_> = texts.iter().map(|text| format!("{{\"double\":{text}}}")).collect();
    let rows = parse(&parser(vec![field("double", DataType::Float64)]), &values);
    let mut found = rows.batch.column(0).as_primitive::<Float64Type>().values().iter();
    for (text, reason) in texts.iter().zip(rows.reasons.values()) {
        let expected: f64 = text.parse().unwrap();
        let is_good = expected.is_finite() && says(text, expected as i128, &expected.to_string());
        assert_eq!(*reason, if is_good { 0 } else { 7 }, "{text}");
        if is_good {
            assert_eq!(found.next().unwrap().to_bits(), expected.to_bits(), "{text}");
        }
    }
    let values: Vec<_> = texts.iter().map(|text| format!("{{\"single\":{text}}}")).collect();
    let rows = parse(&parser(vec![field("single", DataType::Float32)]), &values);
    let mut found = rows.batch.column(0).as_primitive::<Float32Type>().values().iter();
    for (text, reason) in texts.iter().zip(rows.reasons.values()) {
        let expected: f32 = text.parse().unwrap();
        let is_good = expected.is_finite() && says(text, expected as i128, &expected.to_string());
        assert_eq!(*reason, if is_good { 0 } else { 7 }, "{text}");
        if is_good {
            assert_eq!(found.next().unwrap().to_bits(), expected.to_bits(), "{text}");
        }
    }
    for data_type in [DataType::Float32, DataType::Float64] {
        refused(&field("v", data_type.clone()), "wrong_type", &["\"1\"", "true", "[]", "{}"]);
        refused(&field("v", data_type), "overflow", &["1e309", "-1e309", "1e99999999999999999999"]);
    }
    refused(&field("v", DataType::Float32), "overflow", &["3.4028235677973367e38", "1e39"]);
}

/// The number times 10^scale by another way: its digits moved about as text.
fn shifted(text: &str, scale: i64) -> Option<String> {
    let (number, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (negative, number) = number.strip_prefix('-').map_or((false, number), |rest| (true, rest));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some("0".into());
    }
    let shift = power.parse::<i64>().unwrap() - fraction.len() as i64 + scale;
    let text = if shift >= 0 {
        digits.to_owned() + &"0".repeat(shift.min(100) as usize)
    } else {
        let kept = digits.len().saturating_sub(shift.unsigned_abs() as usize);
        if kept == 0 || digits[kept..].contains(|digit| digit != '0') {
            return None;
        }
        digits[..kept].to_owned()
    };
    Some(if negative { format!("-{text}") } else { text })
}

#[test]
fn decimals_are_exact_or_refused() {
    let texts: Vec<_> = texts(20_000).into_iter().filter(|text| !text.ends_with("999999999999")).collect();
    let mut good = 0;
    for (precision, scale) in [(1, 0), (1, 1), (5, 2), (9, 9), (18, 6), (38, 0), (38, 10), (38, 38)] {
        let parser = parser(vec![
            field("number", DataType::Decimal128(precision, scale)),
            field("again", DataType::Decimal128(precision, scale)),
        ]);
        let values: Vec<_> = texts.iter().map(|text| format!("{{\"number\":{text},\"again\":\"{text}\"}}")).collect();
        let rows = parse(&parser, &values);
        assert_eq!(&rows.batch.column(0).to_data(), &rows.batch.column(1).to_data());
        let mut found = rows.batch.column(0).as_primitive::<Decimal128Type>().values().iter();
        for (text, reason) in texts.iter().zip(rows.reasons.values()) {
            let expected = shifted(text, scale.into())
                .filter(|digits| digits.trim_start_matches('-').len() <= usize::from(precision));
            match expected {
                Some(digits) => assert_eq!(found.next().map(i128::to_string), Some(digits), "{text}"),
                None => assert_eq!(*reason, 7, "{text} as decimal({precision},{scale})"),
            }
        }
        good += rows.batch.num_rows();
    }
    assert!((20_000..120_000).contains(&good), "{good} of 160000 fit: too one-sided to show much");
}

#[test]
fn decimals_from_other_texts() {
    let field = field("v", DataType::Decimal128(3, 2));
    let good =
        ["\"1.50\"", "1.500", "15e-1", "\"0.015E2\"", "\"\\u0031.5\"", "1.5000000000000000000000000000000000000000000"];
    let array = column(&field, &good);
    assert!(array.as_primitive::<Decimal128Type>().values().iter().all(|value| *value == 150));
    assert_eq!(column(&field, &["0e999999999999999999999", "-0.0"]).as_primitive::<Decimal128Type>().values(), &[0, 0]);
    refused(&field, "overflow", &["10", "1.505", "\"-10.00\"", "1e999999999999999999999", "1e-999999999999999999999"]);
    refused(
        &field,
        "bad_text",
        &["\"\"", "\" 1\"", "\"1 \"", "\"+1\"", "\".5\"", "\"1.\"", "\"01\"", "\"NaN\"", "\"1,5\"", "\"0x1\""],
    );
    refused(&field, "wrong_type", &["true", "[1]", "{}"]);
}

//! Dates, times and timestamps.

use arrow_array::ArrowPrimitiveType;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Time32MillisecondType, Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_schema::{DataType, Field, TimeUnit};

use crate::{column, field, noted, refused};

const UNITS: [TimeUnit; 4] = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];

fn timestamp(unit: TimeUnit) -> Field {
    field("v", DataType::Timestamp(unit, Some("UTC".into())))
}

fn values<T: ArrowPrimitiveType>(field: &Field, texts: &[&str]) -> Vec<T::Native> {
    column(field, texts).as_primitive::<T>().values().to_vec()
}

/// Every one of the texts, which are apart by `|`, is no value.
fn none_of_it(field: &Field, texts: &str) {
    refused(field, "bad_text", &texts.split('|').map(|text| format!("\"{text}\"")).collect::<Vec<_>>());
}

#[test]
fn every_day_of_the_calendar_is_one_more_than_the_day_before() {
    let (mut year, mut month, mut day) = (1, 1, 1);
    let mut texts = Vec::new();
    while year <= 9999 {
        texts.push(format!("\"{year:04}-{month:02}-{day:02}\""));
        let leap = year % 4 == 0 && year % 100 != 0 || year % 400 == 0;
        day += 1;
        if day > [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] {
            (month, day) = (month + 1, 1);
        }
        if month > 12 {
            (year, month) = (year + 1, 1);
        }
    }
    let first = -719_162;
    let array = column(&field("v", DataType::Date32), &texts);
    assert!(array.as_primitive::<Date32Type>().values().iter().copied().eq(first..first + texts.len() as i32));
    assert_eq!(values::<Date32Type>(&field("v", DataType::Date32), &["\"1970-01-01\""]), [0]);
}

#[test]
fn what_is_no_date() {
    let field = field("v", DataType::Date32);
    let bad = "|2026|2026-1-1|2026-00-01|2026-13-01|2026-01-00|2026-01-32|2026-04-31|2025-02-29|1900-02-29\
        |2026-01-01T00:00:00Z| 2026-01-01|2026-01-01 |20260101|2026/01/01|+2026-01-01|12026-01-01\
        |-2026-01-01|2026-01-0a|２026-01-01";
    none_of_it(&field, bad);
    refused(&field, "overflow", &["\"0000-12-31\"", "\"0000-02-29\""]);
    refused(&field, "wrong_type", &["0", "20000", "{}", "[]", "true"]);
}

#[test]
fn times_of_day() {
    let (milliseconds, microseconds) =
        (field("v", DataType::Time32(TimeUnit::Millisecond)), field("v", DataType::Time64(TimeUnit::Microsecond)));
    let texts = ["\"00:00:00\"", "\"23:59:59.999999999\"", "\"12:34:56.7\"", "\"01:02:03.0004567\""];
    assert_eq!(values::<Time32MillisecondType>(&milliseconds, &texts), [0, 86_399_999, 45_296_700, 3_723_000]);
    assert_eq!(
        values::<Time64MicrosecondType>(&microseconds, &texts),
        [0, 86_399_999_999, 45_296_700_000, 3_723_000_456]
    );
    for field in [milliseconds, microseconds] {
        let bad = "|12:00|24:00:00|12:60:00|12:00:60|12:00:00.|12:00:00,5|1:00:00|12:00:00Z|12:00:00+01:00\
            | 12:00:00|12-00-00";
        none_of_it(&field, bad);
        refused(&field, "wrong_type", &["0", "43200000", "[]"]);
    }
}

#[test]
fn timestamps_from_text() {
    let texts = [
        "\"1970-01-01T00:00:00Z\"",
        "\"2026-11-23T19:25:23.123456789Z\"",
        "\"2026-11-23t19:25:23.1234567899z\"",
        "\"2026-11-23 19:25:23.123456789\"",
        "\"2026-11-24T01:10:23.123456789+05:45\"",
        "\"2026-11-22T19:26:23.123456789-23:59\"",
        "\"1969-12-31T23:59:59.9999999999999999999999999Z\"",
        "\"1969-12-31T23:59:59-00:00\"",
        "\"2000-02-29T12:00:00.5Z\"",
        "\"\\u00320\\u00300-02-29T12:00:00.500Z\"",
    ];
    let second = 1_795_461_923_i64;
    assert_eq!(
        values::<TimestampSecondType>(&timestamp(TimeUnit::Second), &texts),
        [0, second, second, second, second, second, -1, -1, 951_825_600, 951_825_600]
    );
    let nanosecond = second * 1_000_000_000 + 123_456_789;
    let expected = [
        0,
        nanosecond,
        nanosecond,
        nanosecond,
        nanosecond,
        nanosecond,
        -1,
        -1_000_000_000,
        951_825_600_500_000_000,
        951_825_600_500_000_000,
    ];
    assert_eq!(values::<TimestampNanosecondType>(&timestamp(TimeUnit::Nanosecond), &texts), expected);
    assert_eq!(
        values::<TimestampMicrosecondType>(&timestamp(TimeUnit::Microsecond), &texts),
        expected.map(|number| number.div_euclid(1_000))
    );
    assert_eq!(
        values::<TimestampMillisecondType>(&timestamp(TimeUnit::Millisecond), &texts),
        expected.map(|number| number.div_euclid(1_000_000))
    );
    let explicit = noted(timestamp(TimeUnit::Second), "rfc3339");
    assert_eq!(values::<TimestampSecondType>(&explicit, &texts[..2]), [0, second]);
}

#[test]
fn what_is_no_timestamp() {
    for unit in UNITS {
        let field = timestamp(unit);
        let bad = "|2026-11-23|2026-11-23T19:25|2026-11-23T19:25Z|2026-11-23_19:25:23Z|2026-11-23T19:25:60Z\
            |2026-11-23T24:00:00Z|2026-02-30T00:00:00Z|2026-11-23T19:25:23.Z|2026-11-23T19:25:23 Z\
            |2026-11-23T19:25:23+0100|2026-11-23T19:25:23+01|2026-11-23T19:25:23+24:00\
            |2026-11-23T19:25:23+00:60|2026-11-23T19:25:23ZZ|2026-11-23T19:25:23Z+01:00\
            |2026-11-23T19:25:23 UTC|1795461923|now";
        none_of_it(&field, bad);
        refused(&field, "wrong_type", &["1795461923", "0", "1.5", "{}", "[]", "true"]);
        let out = ["0000-12-31T23:59:59Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59.999-00:01"];
        refused(&field, "overflow", &out.map(|text| format!("\"{text}\"")));
    }
    let most = ["\"0001-01-01T00:00:00Z\"", "\"9999-12-31T23:59:59.999999999Z\""];
    assert_eq!(
        values::<TimestampMicrosecondType>(&timestamp(TimeUnit::Microsecond), &most),
        [-62_135_596_800_000_000, 253_402_300_799_999_999]
    );
    let most = ["\"1677-09-21T00:12:43.145224192Z\"", "\"2262-04-11T23:47:16.854775807Z\""];
    assert_eq!(values::<TimestampNanosecondType>(&timestamp(TimeUnit::Nanosecond), &most), [i64::MIN, i64::MAX]);
    let beyond =
        ["\"1677-09-21T00:12:43.145224191Z\"", "\"2262-04-11T23:47:16.854775808Z\"", "\"9999-01-01T00:00:00Z\""];
    refused(&timestamp(TimeUnit::Nanosecond), "overflow", &beyond);
}

#[test]
fn timestamps_as_iso_8601_has_them() {
    let field = noted(timestamp(TimeUnit::Millisecond), "iso8601");
    let (midnight, hour) = (1_795_219_200_000, 3_600_000);
    let texts = [
        ("2026-11-21", midnight),
        ("20261121", midnight),
        ("2026-11-21T05", midnight + 5 * hour),
        ("2026-11-21T05Z", midnight + 5 * hour),
        ("2026-11-21T05:00Z", midnight + 5 * hour),
        ("2026-11-21 05:00", midnight + 5 * hour),
        ("2026-11-21t05:00:00z", midnight + 5 * hour),
        ("20261121T050000Z", midnight + 5 * hour),
        ("20261121T0500+0100", midnight + 4 * hour),
        ("2026-11-21T05:00:00+0100", midnight + 4 * hour),
        ("2026-11-21T05:00:00-01", midnight + 6 * hour),
        ("2026-11-21T05:00:00,5+01:00", midnight + 4 * hour + 500),
        ("2026-11-21T050000.1239999999999Z", midnight + 5 * hour + 123),
        ("2016-12-31T23:59:60Z", 1_483_228_799_000),
        ("2017-01-01T00:59:60.25+01:00", 1_483_228_799_250),
    ];
    let (texts, expected): (Vec<_>, Vec<_>) = texts.iter().map(|(text, value)| (format!("\"{text}\""), *value)).unzip();
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    assert_eq!(values::<TimestampMillisecondType>(&field, &texts), expected);
    let bad = "|2026|2026-11|2026-11-1|2026-1121|202611-21|2026-325|2026-W47-6|20261121050000|2026-11-21T|2026-11-21T5\
        |2026-11-21T05:|2026-11-21T05:0030|2026-11-21T0500:30|2026-11-21T24:00|2026-11-21T05:60|2026-11-21T05:00:60Z\
        |2026-11-21T22:59:60+01:00|2026-11-21T05:00:61|2026-11-21T05.5|2026-11-21T05:00,5|2026-11-21T05:00:00.\
        |2026-11-21Z|2026-11-21+01:00|2026-11-21T05:00:00 Z|2026-11-21T05:00:00+1|2026-11-21T05:00:00+01:0\
        |2026-11-21T05:00:00+24:00|2026-11-21T05:00:00+00:60|2026-11-21_05:00| 2026-11-21|2026-11-21 |2026-02-29\
        |2026-11-31|+2026-11-21|２０２６-11-21";
    none_of_it(&field, bad);
    refused(&field, "wrong_type", &["20261121", "1795219200000", "[]", "true"]);
    refused(&field, "overflow", &["\"00001231\"", "\"99991231T235959-0001\""]);
}

#[test]
fn timestamps_by_a_pattern() {
    let read = |pattern: &str, text: &str| {
        let field = noted(timestamp(TimeUnit::Nanosecond), &format!("pattern[{pattern}]"));
        values::<TimestampNanosecondType>(&field, &[&format!("\"{text}\"")])[0]
    };
    let second = 1_000_000_000;
    let five = 1_795_237_200 * second;
    assert_eq!(read("yyyyMMdd", "20261121"), five - 5 * 3600 * second);
    assert_eq!(read("dd/MMM/yyyy:HH:mm:ss Z", "21/Nov/2026:06:00:01 +0100"), five + second);
    assert_eq!(read("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2026-11-21T05:00:00.250Z"), five + second / 4);
    assert_eq!(read("yyyy-MM-dd'T'HH:mm:ss,SXXX", "2026-11-21T04:00:00,5-01:00"), five + second / 2);
    assert_eq!(read("ssmmHHddMMyyyy SSSSSSSSSXX", "01000521112026 000000007+0000"), five + second + 7);
    assert_eq!(read("yyyy''MM''dd 'o'''HH", "2026'11'21 o'05"), five);
    assert_eq!(read("yyyy-MM-dd HH:mm:ssXX", "2016-12-31 23:59:60Z"), 1_483_228_799 * second);
    let field = noted(timestamp(TimeUnit::Second), "pattern[yyyy-MM-dd HH:mm:ss.SSXXX]");
    let bad = "|2026-11-21|2026-11-21 05:00:00.00|2026-11-21 05:00:00.0Z|2026-11-21 05:00:00.000Z\
        |2026-11-21 05:00:00.00z|2026-11-21 05:00:00.00+0100|2026-11-21T05:00:00.00Z|2026-11-21 24:00:00.00Z\
        |2026-11-21 05:00:60.00Z|2026-13-21 05:00:00.00Z|2026-02-30 05:00:00.00Z|2026-11-21 05:00:00.00Z \
        |2026-11-21 05:00:00.00+24:00|2026-11-21 05:00:00.00+00:60|2O26-11-21 05:00:00.00Z";
    none_of_it(&field, bad);
    let field = noted(timestamp(TimeUnit::Second), "pattern[dd MMM yyyy]");
    refused(&field, "bad_text", &["\"21 nov 2026\"", "\"21 NOV 2026\"", "\"21 11 2026\"", "\"21 No\""]);
}

#[test]
fn timestamps_from_numbers() {
    let scale = |unit| 10_i128.pow(3 * UNITS.iter().position(|other| *other == unit).unwrap() as u32);
    for (to, from) in UNITS.into_iter().flat_map(|to| UNITS.map(|from| (to, from))) {
        let name = ["s", "ms", "us", "ns"][UNITS.iter().position(|other| *other == from).unwrap()];
        let field = noted(timestamp(to), &format!("epoch[{name}]"));
        let mut numbers = vec![0, 1, -1, 999, -999, 1000, -1000, 1_795_461_923, i64::MAX.into(), i64::MIN.into()];
        numbers.extend(
            [-62_135_596_801, -62_135_596_800, 253_402_300_799, 253_402_300_800].map(|second| second * scale(from)),
        );
        numbers.extend([i64::MIN, i64::MAX].map(|most| i128::from(most) * scale(from) / scale(TimeUnit::Nanosecond)));
        for number in numbers {
            let second = number.div_euclid(scale(from));
            let value = (number * scale(to)).div_euclid(scale(from));
            let text = number.to_string();
            let fits = i64::try_from(number).is_ok() && (-62_135_596_800..=253_402_300_799).contains(&second);
            match i64::try_from(value) {
                Ok(value) if fits => {
                    let data = column(&field, &[&text]).to_data();
                    assert_eq!(data.buffers()[0].typed_data::<i64>(), [value], "{number} from {from:?} to {to:?}");
                }
                _ => refused(&field, "overflow", &[text]),
            }
        }
        refused(&field, "wrong_type", &["1.0", "1e3", "\"1\"", "\"2026-11-23T19:25:23Z\"", "[]", "false"]);
    }
}

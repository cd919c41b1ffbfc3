//! Typed rows of JSON texts: what each type takes, which reason and path the rest gets, and that no bad row touches others.

#[path = "../common/columns.rs"]
mod columns;
#[path = "../common/mod.rs"]
mod common;

mod avro;
mod beside;
mod damage;
mod faults;
mod framings;
mod lines;
mod messagepack;
mod numbers;
mod protobuf;
mod reasons;
mod texts;
mod thrift;
mod times;
mod values;

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray};
use arrow_schema::{Field, Schema};
pub use columns::*;
use logpersister_native::{REASONS, RowParser, Rows, UnknownFields};

pub fn parser(fields: Vec<Field>) -> RowParser {
    RowParser::new(Arc::new(Schema::new(fields)), UnknownFields::Drop).unwrap()
}

/// Parses the values, and checks what holds whatever they are.
pub fn parse<T: AsRef<[u8]>>(parser: &RowParser, values: &[T]) -> Rows {
    parsed(parser.parse(&BinaryArray::from_iter_values(values)).unwrap(), values.len())
}

/// Checks what holds whatever so many values are.
pub fn parsed(rows: Rows, values: usize) -> Rows {
    let accepted = rows.reasons.values().iter().filter(|reason| **reason == 0).count();
    assert_eq!((rows.batch.num_rows(), rows.reasons.len(), rows.paths.len()), (accepted, values, values));
    for column in rows.batch.columns() {
        column.to_data().validate_full().unwrap();
    }
    for (reason, path) in rows.reasons.values().iter().zip(&rows.paths) {
        assert!(*reason != 0 || path.is_none());
    }
    rows
}

/// The reason of each value that is refused; "accepted" of others.
pub fn reasons(rows: &Rows) -> Vec<&'static str> {
    rows.reasons.values().iter().map(|reason| REASONS[usize::from(*reason)]).collect()
}

/// Reason and path of a value that is refused; "accepted" of others.
pub fn verdict(parser: &RowParser, value: impl AsRef<[u8]>) -> (&'static str, String) {
    let rows = parse(parser, &[value]);
    (REASONS[usize::from(rows.reasons.value(0))], rows.paths.iter().flatten().collect())
}

/// The column of a field `v` of this type, of rows that all have to be accepted.
pub fn column<T: AsRef<str>>(field: &Field, values: &[T]) -> ArrayRef {
    let texts: Vec<_> = values.iter().map(|value| format!("{{\"v\":{}}}", value.as_ref())).collect();
    let rows = parse(&parser(vec![field.clone()]), &texts);
    for (text, reason) in texts.iter().zip(rows.reasons.values()) {
        assert_eq!(REASONS[usize::from(*reason)], "accepted", "{text} as {}", field.data_type());
    }
    rows.batch.column(0).clone()
}

/// Every one of the values of a field `v` is refused for this reason, at this field.
pub fn refused<T: AsRef<str>>(field: &Field, reason: &str, values: &[T]) {
    let parser = parser(vec![field.clone()]);
    for value in values {
        let found = verdict(&parser, format!("{{\"v\":{}}}", value.as_ref()));
        assert_eq!(found, (known(reason), "v".to_owned()), "{} as {}", value.as_ref(), field.data_type());
    }
}

fn known(reason: &str) -> &'static str {
    REASONS.iter().find(|known| **known == reason).unwrap()
}

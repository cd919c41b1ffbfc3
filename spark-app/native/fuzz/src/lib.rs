//! What targets share: columns, and what holds of good values that stand around any bytes.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use logpersister_native::Rows;

#[path = "../../tests/common/columns.rs"]
mod columns;

pub use columns::*;

pub fn schema(fields: Vec<Field>) -> SchemaRef {
    Arc::new(Schema::new(fields))
}

pub fn timestamp(name: &str) -> Field {
    field(name, DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())))
}

/// Checks the rows of a good value, of any bytes, and of the good value again: what is good is stored as always.
pub fn check(rows: &Rows) {
    let reasons = rows.reasons.values();
    let last = rows.batch.num_rows() - 1;
    assert_eq!((reasons[0], reasons[2], last == 2), (0, 0, reasons[1] == 0));
    assert_eq!(rows.batch.slice(0, 1), rows.batch.slice(last, 1));
    for column in rows.batch.columns() {
        column.to_data().validate_full().unwrap();
    }
}

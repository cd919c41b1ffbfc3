//! Columns of tests and fuzz targets.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};

/// A field that may be null.
pub fn field(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, true)
}

pub fn required(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, false)
}

pub fn noted(field: Field, notation: &str) -> Field {
    field.with_metadata(HashMap::from([("logpersister.notation".to_owned(), notation.to_owned())]))
}

pub fn list(item: Field) -> DataType {
    DataType::List(Arc::new(item))
}

pub fn map(value: Field) -> DataType {
    let fields = Fields::from(vec![required("key", DataType::Utf8), value]);
    DataType::Map(Arc::new(required("entries", DataType::Struct(fields))), false)
}

pub fn structure(fields: Vec<Field>) -> DataType {
    DataType::Struct(fields.into())
}

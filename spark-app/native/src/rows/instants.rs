//! Texts of a column that say when something was, in a notation of manifests.

use arrow_array::{Int64Array, StringArray};
use arrow_schema::TimeUnit;

use super::kind::{Clock, time_notation};
use super::text::timestamp;

/// Milliseconds from 1970 of each text; null for null, and for what is no instant of the years 1 to 9999. None: there is
/// no such notation.
pub fn instants(texts: &StringArray, notation: &str) -> Option<Int64Array> {
    let clock = Clock { unit: TimeUnit::Millisecond, notation: time_notation(Some(notation))? };
    Some(texts.iter().map(|text| timestamp(text?.as_bytes(), &clock).ok()).collect())
}

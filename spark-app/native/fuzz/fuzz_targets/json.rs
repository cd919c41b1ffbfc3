//! Any bytes as a value: refused, or UTF-8 that a parser which makes values of it takes, but for what only that one minds.

#![no_main]

use arrow_array::BinaryArray;
use libfuzzer_sys::fuzz_target;
use logpersister_native::not_json;
use serde_json::Value;

fuzz_target!(|input: &[u8]| {
    let refused = not_json(&BinaryArray::from_iter_values([input]));
    match refused.rows.as_slice() {
        [] => {
            assert!(std::str::from_utf8(input).is_ok());
            if let Err(error) = serde_json::from_slice::<Value>(input) {
                let text = error.to_string();
                let harmless = ["number out of range", "surrogate", "hex escape", "recursion limit"];
                assert!(harmless.iter().any(|what| text.contains(what)), "{text}");
            }
        }
        [0] => {
            assert!(serde_json::from_slice::<Value>(input).is_err());
            assert!(refused.reason.is_some());
        }
        rows => panic!("{rows:?} of one value"),
    }
});

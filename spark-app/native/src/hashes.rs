//! Keyed hashes of texts: HMAC-SHA-256 (RFC 2104), in hexadecimal digits.

use arrow_array::builder::StringBuilder;
use arrow_array::{Array, StringArray};
use hmac::{Hmac, Mac};
use sha2::Sha256;

const DIGITS: &[u8; 16] = b"0123456789abcdef";
const LENGTH: usize = 64;

/// The hash of each text; null for null.
pub fn keyed_hashes(texts: &StringArray, key: &[u8]) -> StringArray {
    let mut hashes = StringBuilder::with_capacity(texts.len(), texts.len() * LENGTH);
    // The key is mixed in once; each text begins with a copy of that state.
    let keyed = Hmac::<Sha256>::new_from_slice(key).expect("keys of any length are taken");
    let mut digits = String::with_capacity(LENGTH);
    for text in texts {
        digits.clear();
        if let Some(text) = text {
            let found = keyed.clone().chain_update(text).finalize().into_bytes();
            digits.extend(
                found.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| DIGITS[usize::from(digit)] as char),
            );
        }
        hashes.append_option(text.map(|_| &digits));
    }
    hashes.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_rfc_4231() {
        let texts = StringArray::from(vec![Some("what do ya want for nothing?"), None]);
        let hashes = keyed_hashes(&texts, b"Jefe");
        let known = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(hashes.iter().collect::<Vec<_>>(), [Some(known), None]);
    }
}

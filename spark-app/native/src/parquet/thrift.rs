//! Thrift's compact protocol, as much of it as the metadata of Parquet takes.
//!
//! Source: `doc/specs/thrift-compact-protocol.md` of Apache Thrift.

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const INTEGER_8: u8 = 3;
const INTEGER_16: u8 = 4;
const INTEGER_32: u8 = 5;
const INTEGER_64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// The fields of one struct; their ids ascend.
pub struct Fields<'a> {
    bytes: &'a mut Vec<u8>,
    last: i16,
}

/// Appends a struct.
pub fn structure(bytes: &mut Vec<u8>, fill: impl FnOnce(&mut Fields<'_>)) {
    let mut fields = Fields { bytes, last: 0 };
    fill(&mut fields);
    bytes.push(0);
}

impl Fields<'_> {
    pub fn boolean(&mut self, id: i16, value: bool) {
        self.begin(id, truth(value));
    }

    pub fn integer8(&mut self, id: i16, value: u8) {
        self.begin(id, INTEGER_8);
        self.bytes.push(value);
    }

    pub fn integer16(&mut self, id: i16, value: i16) {
        self.begin(id, INTEGER_16);
        signed(self.bytes, value.into());
    }

    pub fn integer32(&mut self, id: i16, value: i32) {
        self.begin(id, INTEGER_32);
        signed(self.bytes, value.into());
    }

    pub fn integer64(&mut self, id: i16, value: i64) {
        self.begin(id, INTEGER_64);
        signed(self.bytes, value);
    }

    /// A number of things, which fits, in 32 bits as Parquet has most of them.
    pub fn count32(&mut self, id: i16, value: usize) {
        self.integer32(id, i32::try_from(value).expect("pages and their values are counted in 31 bits"));
    }

    pub fn count64(&mut self, id: i16, value: usize) {
        self.integer64(id, i64::try_from(value).expect("no memory has more"));
    }

    pub fn binary(&mut self, id: i16, value: &[u8]) {
        self.begin(id, BINARY);
        binary(self.bytes, value);
    }

    pub fn structure(&mut self, id: i16, fill: impl FnOnce(&mut Fields<'_>)) {
        self.begin(id, STRUCT);
        structure(self.bytes, fill);
    }

    pub fn structures<T>(&mut self, id: i16, items: &[T], mut fill: impl FnMut(&mut Fields<'_>, &T)) {
        self.list(id, STRUCT, items, |bytes, item| structure(bytes, |fields| fill(fields, item)));
    }

    pub fn booleans(&mut self, id: i16, items: &[bool]) {
        self.list(id, TRUE, items, |bytes, item| bytes.push(truth(*item)));
    }

    pub fn integers32(&mut self, id: i16, items: &[i32]) {
        self.list(id, INTEGER_32, items, |bytes, item| signed(bytes, (*item).into()));
    }

    pub fn integers64(&mut self, id: i16, items: &[i64]) {
        self.list(id, INTEGER_64, items, |bytes, item| signed(bytes, *item));
    }

    pub fn binaries<T: AsRef<[u8]>>(&mut self, id: i16, items: &[T]) {
        self.list(id, BINARY, items, |bytes, item| binary(bytes, item.as_ref()));
    }

    fn list<T>(&mut self, id: i16, kind: u8, items: &[T], mut write: impl FnMut(&mut Vec<u8>, &T)) {
        self.begin(id, LIST);
        match u8::try_from(items.len()) {
            Ok(length @ ..15) => self.bytes.push(length << 4 | kind),
            _ => {
                self.bytes.push(0xf0 | kind);
                unsigned(self.bytes, items.len() as u64);
            }
        }
        items.iter().for_each(|item| write(self.bytes, item));
    }

    fn begin(&mut self, id: i16, kind: u8) {
        match id - self.last {
            step @ 1..=15 => self.bytes.push((step as u8) << 4 | kind),
            _ => {
                self.bytes.push(kind);
                signed(self.bytes, id.into());
            }
        }
        self.last = id;
    }
}

/// Seven bits a byte, the lowest first.
pub fn unsigned(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn truth(value: bool) -> u8 {
    if value { TRUE } else { FALSE }
}

/// Zigzag: small numbers are short whatever their sign.
fn signed(bytes: &mut Vec<u8>, value: i64) {
    unsigned(bytes, (value << 1 ^ value >> 63).cast_unsigned());
}

fn binary(bytes: &mut Vec<u8>, value: &[u8]) {
    unsigned(bytes, value.len() as u64);
    bytes.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_struct_is_as_the_specification_has_it() {
        let mut bytes = Vec::new();
        structure(&mut bytes, |fields| {
            fields.boolean(1, true);
            fields.integer32(3, -1);
            fields.binary(4, b"ab");
            fields.structure(5, |inner| inner.integer64(20, 300));
            fields.integers32(6, &[1; 15]);
            fields.booleans(7, &[true, false]);
        });
        let expected: [&[u8]; 6] = [
            &[0x11],
            &[0x25, 1],
            &[0x18, 2, b'a', b'b'],
            &[0x1c, 0x06, 40, 0xd8, 0x04, 0],
            &[0x19, 0xf5, 15, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
            &[0x19, 0x21, 1, 2, 0],
        ];
        assert_eq!(bytes, expected.concat());
    }
}

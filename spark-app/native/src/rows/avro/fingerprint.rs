//! The parsing canonical form of a schema, and its CRC-64-AVRO, by which single-object values name their schema.

use crc_fast::CrcParams;

use super::schema::{Id, Kind, Schema};

/// The fingerprint of the empty text, which the polynomial is, too, with its bits in reverse.
const EMPTY: u64 = 0xc15d_213a_a4d7_a795;

/// The CRC-64-AVRO of a schema's canonical form.
pub fn fingerprint(schema: &Schema) -> u64 {
    let params = CrcParams::new("CRC-64/AVRO", 64, EMPTY.reverse_bits(), EMPTY, true, 0, 0);
    crc_fast::checksum_with_params(params, canonical(schema).as_bytes())
}

/// What of a schema decides how values are written, in one line.
pub fn canonical(schema: &Schema) -> String {
    let mut writer = Writer { schema, told: vec![], text: String::new() };
    writer.write(schema.root);
    writer.text
}

struct Writer<'a> {
    schema: &'a Schema,
    /// Named types that stand there already: from then on by name.
    told: Vec<Id>,
    text: String,
}

impl Writer<'_> {
    fn write(&mut self, id: Id) {
        let schema = self.schema;
        let found = schema.get(id);
        if let Some(name) = &found.name {
            if self.told.contains(&id) {
                return self.quoted(name);
            }
            self.told.push(id);
            self.text.push_str("{\"name\":");
            self.quoted(name);
            self.text.push(',');
        }
        match &found.kind {
            Kind::Record(fields) => {
                self.text.push_str("\"type\":\"record\",\"fields\":[");
                for (index, field) in fields.iter().enumerate() {
                    self.text.push_str(if index == 0 { "{\"name\":" } else { ",{\"name\":" });
                    self.quoted(&field.name);
                    self.text.push_str(",\"type\":");
                    self.write(field.id);
                    self.text.push('}');
                }
                self.text.push_str("]}");
            }
            Kind::Enum(symbols) => {
                self.text.push_str("\"type\":\"enum\",\"symbols\":[");
                for (index, symbol) in symbols.iter().enumerate() {
                    self.text.push_str(if index == 0 { "" } else { "," });
                    self.quoted(symbol);
                }
                self.text.push_str("]}");
            }
            Kind::Fixed(size) => self.text.push_str(&format!("\"type\":\"fixed\",\"size\":{size}}}")),
            Kind::Array(items) => self.around("{\"type\":\"array\",\"items\":", &[*items], "}"),
            Kind::Map(values) => self.around("{\"type\":\"map\",\"values\":", &[*values], "}"),
            Kind::Union(branches) => self.around("[", branches, "]"),
            _ => {
                // `told` adds the logical type, which the canonical form leaves out.
                let word = schema.told(id);
                self.quoted(word.split(' ').next().unwrap_or_default());
            }
        }
    }

    fn around(&mut self, before: &str, ids: &[Id], after: &str) {
        self.text.push_str(before);
        for (index, id) in ids.iter().enumerate() {
            self.text.push_str(if index == 0 { "" } else { "," });
            self.write(*id);
        }
        self.text.push_str(after);
    }

    fn quoted(&mut self, text: &str) {
        self.text.push('"');
        self.text.push_str(text);
        self.text.push('"');
    }
}

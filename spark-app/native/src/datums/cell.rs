//! One column as Avro: for each type how a value of it is encoded.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::{DataType, Field, Fields, TimeUnit};

use crate::leaf::Leaf;

/// The fields of a record, and the columns that hold their values.
pub struct Members<'a>(Vec<Member<'a>>);

struct Member<'a> {
    name: &'a str,
    cell: Cell<'a>,
    column: &'a dyn Array,
    /// Whether it is a union with null.
    nullable: bool,
    /// Whether there are nulls at all; asking each row costs a tenth.
    has_nulls: bool,
}

enum Cell<'a> {
    Leaf(Leaf<'a>),
    Struct(Members<'a>),
    List(&'a [i32], Box<Member<'a>>),
    Map(&'a [i32], &'a StringArray, Box<Member<'a>>),
}

impl<'a> Members<'a> {
    /// An error says which column cannot be written.
    pub fn of(fields: &'a Fields, columns: &'a [ArrayRef]) -> Result<Self, String> {
        fields.iter().zip(columns).map(|(field, column)| Member::of(field, column)).collect::<Result<_, _>>().map(Self)
    }

    /// Appends the record of a row. An error names what does not fit into Avro's type.
    pub fn write(&self, row: usize, bytes: &mut Vec<u8>) -> Result<(), String> {
        self.0.iter().try_for_each(|member| member.write(row, bytes))
    }
}

impl<'a> Member<'a> {
    fn of(field: &'a Field, column: &'a ArrayRef) -> Result<Self, String> {
        Ok(Self {
            name: field.name(),
            cell: Cell::of(field.data_type(), column).map_err(|error| format!("{}{error}", field.name()))?,
            column: &**column,
            nullable: field.is_nullable(),
            has_nulls: column.null_count() > 0,
        })
    }

    fn write(&self, row: usize, bytes: &mut Vec<u8>) -> Result<(), String> {
        // Arrow sees to it that only what may be null is.
        let is_null = self.has_nulls && self.column.is_null(row);
        if self.nullable {
            // The place in the union [null, type], as a long.
            bytes.push(if is_null { 0 } else { 2 });
        }
        if is_null { Ok(()) } else { self.write_value(row, bytes) }
    }

    fn write_value(&self, row: usize, bytes: &mut Vec<u8>) -> Result<(), String> {
        match &self.cell {
            Cell::Leaf(Leaf::Timestamp(values, TimeUnit::Second)) => {
                // Avro has no seconds: they become milliseconds.
                long(bytes, values[row].checked_mul(1_000).ok_or_else(|| self.too_late())?);
            }
            Cell::Leaf(leaf) => write_leaf(leaf, row, bytes),
            Cell::Struct(members) => members.write(row, bytes)?,
            Cell::List(ends, item) => items(bytes, ends, row, |bytes, at| item.write(at, bytes))?,
            Cell::Map(ends, keys, value) => items(bytes, ends, row, |bytes, at| {
                sized(bytes, keys.value(at).as_bytes());
                value.write(at, bytes)
            })?,
        }
        Ok(())
    }

    fn too_late(&self) -> String {
        format!("{}: a timestamp beyond what milliseconds can count", self.name)
    }
}

impl<'a> Cell<'a> {
    /// An error begins with where below the column its reason is.
    fn of(type_: &'a DataType, column: &'a ArrayRef) -> Result<Self, String> {
        Ok(match type_ {
            DataType::Struct(fields) => Self::Struct(Members::of(fields, column.as_struct().columns()).map_err(below)?),
            DataType::List(item) => {
                let list = column.as_list::<i32>();
                Self::List(list.value_offsets(), Box::new(Member::of(item, list.values()).map_err(below)?))
            }
            DataType::Map(entries, _) => {
                let map = column.as_map();
                let keys = map.keys().as_string_opt().ok_or("{}: keys of a map are strings")?;
                let DataType::Struct(entry) = entries.data_type() else { return Err("{}: no entries".into()) };
                let value = entry.get(1).ok_or("{}: entries without values")?;
                Self::Map(map.value_offsets(), keys, Box::new(Member::of(value, map.values()).map_err(below)?))
            }
            other => Self::Leaf(Leaf::of(column).ok_or_else(|| format!(": the type {other} cannot be written"))?),
        })
    }
}

fn below(error: String) -> String {
    format!(".{error}")
}

/// Appends the value of a row that is not null. Types that Avro has no own encoding for are whole numbers.
fn write_leaf(leaf: &Leaf<'_>, row: usize, bytes: &mut Vec<u8>) {
    match leaf {
        Leaf::Bool(values) => bytes.push(u8::from(values.value(row))),
        Leaf::Int8(values) => long(bytes, values[row].into()),
        Leaf::Int16(values) => long(bytes, values[row].into()),
        Leaf::Int32(values) | Leaf::Date(values) | Leaf::TimeMilliseconds(values) => long(bytes, values[row].into()),
        Leaf::Int64(values) | Leaf::TimeMicroseconds(values) | Leaf::Timestamp(values, _) => long(bytes, values[row]),
        Leaf::Float32(values) => bytes.extend_from_slice(&values[row].to_le_bytes()),
        Leaf::Float64(values) => bytes.extend_from_slice(&values[row].to_le_bytes()),
        Leaf::Decimal(values, _) => decimal(bytes, values[row]),
        Leaf::Text(values) => sized(bytes, values.value(row).as_bytes()),
        Leaf::Bytes(values) => sized(bytes, values.value(row)),
    }
}

/// Zigzag, then seven bits a byte, the lowest first.
fn long(bytes: &mut Vec<u8>, value: i64) {
    let mut rest = (value << 1 ^ value >> 63).cast_unsigned();
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

fn sized(bytes: &mut Vec<u8>, content: &[u8]) {
    long(bytes, content.len() as i64);
    bytes.extend_from_slice(content);
}

/// The shortest two's complement, the highest byte first.
fn decimal(bytes: &mut Vec<u8>, unscaled: i128) {
    let whole = unscaled.to_be_bytes();
    let sign = if unscaled < 0 { 0xff } else { 0 };
    let spare = whole.iter().take_while(|byte| **byte == sign).count();
    // The first bit is the sign.
    let begin = if spare == whole.len() || (whole[spare] ^ sign) & 0x80 != 0 { spare - 1 } else { spare };
    sized(bytes, &whole[begin..]);
}

/// One block of all items of a row, and the empty block that ends them.
fn items(
    bytes: &mut Vec<u8>,
    ends: &[i32],
    row: usize,
    mut write: impl FnMut(&mut Vec<u8>, usize) -> Result<(), String>,
) -> Result<(), String> {
    let (begin, end) = (ends[row], ends[row + 1]);
    if begin < end {
        long(bytes, i64::from(end - begin));
        for at in begin..end {
            write(bytes, at as usize)?;
        }
    }
    bytes.push(0);
    Ok(())
}

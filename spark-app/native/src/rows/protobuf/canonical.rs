//! A message as it would have been written if each field that can be there once was: what comes again is merged, what is
//! set anew is gone. By the rules of protobuf's encoding, as the official libraries follow them.

use std::collections::HashMap;

use super::super::reason::Refusal;
use super::entry::EntryParts;
use super::input::{Input, Wire};
use super::plan::{FieldPlan, Plan, Shape};
use super::read::is_known;

/// One field as it stands in a message.
struct Part<'a> {
    /// Place in the plan.
    field: usize,
    /// With its tag.
    whole: &'a [u8],
    /// What is in it, for messages.
    inner: &'a [u8],
    kept: bool,
}

/// Returns the message without unknown fields. What stays keeps its order; what came again stands where it came last.
pub fn canonical(plan: &Plan, bytes: &[u8]) -> Result<Vec<u8>, Refusal> {
    let mut parts = parts(plan, bytes)?;
    // Of fields that can be there once: where their pieces are, which are one for all but messages.
    let mut pieces: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut set: HashMap<usize, usize> = HashMap::new();
    let mut keys: HashMap<(usize, Vec<u8>), usize> = HashMap::new();
    for place in 0..parts.len() {
        let index = parts[place].field;
        let field = &plan.fields[index];
        if let Some(before) = field.oneof.and_then(|oneof| set.insert(oneof, index)).filter(|before| *before != index) {
            drop_all(&mut parts, pieces.remove(&before));
        }
        match &field.shape {
            Shape::List(..) => {}
            Shape::Map(_, entry) => match EntryParts::read(entry, parts[place].inner) {
                Ok(Some(found)) => {
                    if let Some(before) = keys.insert((index, found.key), place) {
                        parts[before].kept = false;
                    }
                }
                Ok(None) => parts[place].kept = false,
                Err(_) => {} // told when it is read
            },
            shape if shape.is_message() => pieces.entry(index).or_default().push(place),
            _ => {
                let before = pieces.insert(index, vec![place]);
                drop_all(&mut parts, before);
            }
        }
    }
    let mut target = Vec::with_capacity(bytes.len());
    for (place, part) in parts.iter().enumerate().filter(|(_, part)| part.kept) {
        match pieces.get(&part.field).map(Vec::as_slice) {
            Some(all @ [_, .., last]) => {
                if *last == place {
                    let inner: Vec<u8> = all.iter().flat_map(|one| parts[*one].inner).copied().collect();
                    write(&plan.fields[part.field], &inner, &mut target);
                }
            }
            _ => target.extend_from_slice(part.whole),
        }
    }
    Ok(target)
}

fn drop_all(parts: &mut [Part<'_>], places: Option<Vec<usize>>) {
    for place in places.into_iter().flatten() {
        parts[place].kept = false;
    }
}

/// The fields that count.
fn parts<'a>(plan: &Plan, bytes: &'a [u8]) -> Result<Vec<Part<'a>>, Refusal> {
    let mut input = Input::new(bytes);
    let mut found = Vec::new();
    while input.left() > 0 {
        let begin = bytes.len() - input.left();
        let (number, wire) = input.field()?;
        let field = plan.find(number, 0).filter(|index| {
            let field = &plan.fields[*index];
            field.takes(wire) && is_known(field, wire, input)
        });
        let inner = if matches!(wire, Wire::Sized | Wire::Group) {
            input.message(number, wire)?
        } else {
            input.skip(number, wire)?;
            &[]
        };
        if let Some(field) = field {
            let whole = &bytes[begin..bytes.len() - input.left()];
            found.push(Part { field, whole, inner, kept: true });
        }
    }
    Ok(found)
}

fn write(field: &FieldPlan, inner: &[u8], target: &mut Vec<u8>) {
    if field.wire == Wire::Group {
        varint(field.number << 3 | 3, target);
        target.extend_from_slice(inner);
        varint(field.number << 3 | 4, target);
    } else {
        varint(field.number << 3 | 2, target);
        varint(inner.len() as u32, target);
        target.extend_from_slice(inner);
    }
}

fn varint(mut number: u32, target: &mut Vec<u8>) {
    while number >= 0x80 {
        target.push(number as u8 | 0x80);
        number >>= 7;
    }
    target.push(number as u8);
}

//! The part of a message that says its type: an `Any`, or the set field of a `oneof`; found without reading the rest.
//!
//! When a value is judged otherwise than before, `RULES` in `records/type_names.py` must be raised.

use std::collections::HashMap;

use arrow_array::builder::{BinaryBuilder, Int32Builder};
use arrow_array::{Array, BinaryArray, Int32Array};
use serde_json::Value;

use super::super::framing::{Framing, Opener};
use super::super::reason::Refusal;
use super::super::writers::{Learned, Writers};
use super::framing::split;
use super::input::{Input, Wire};
use super::schema::Schema;

/// Finds the types of messages.
#[derive(Debug)]
pub struct MessageParts {
    framing: Framing,
    /// Of all values, whoever wrote them; None: each writer's schema has one.
    plan: Option<Plan>,
    writers: Writers<Writer>,
}

#[derive(Debug)]
struct Writer {
    schema: Schema,
    /// For each of its messages; None: there is no such part in it.
    plans: Vec<Option<Plan>>,
}

/// The types of a column of values.
#[derive(Debug)]
pub struct MessageTypes {
    /// Each once.
    pub names: Vec<Vec<u8>>,
    /// For each value its name; null where it has none.
    pub indices: Int32Array,
    /// Ids that nobody has added, ascending.
    pub unknown: Vec<u128>,
}

/// How the part is found in a message.
#[derive(Debug)]
struct Plan {
    /// The messages around it, from the outside in.
    steps: Vec<Step>,
    /// The fields of a `oneof`, by number; None: what the steps lead to is an `Any`.
    members: Option<Vec<Member>>,
}

#[derive(Debug)]
struct Step {
    field: Known,
    /// Fields that remove it when they are set, by number.
    siblings: Vec<Known>,
}

#[derive(Debug)]
struct Member {
    field: Known,
    /// Empty where it is no type.
    name: Vec<u8>,
    /// Whether the pieces of a value are merged.
    is_message: bool,
}

/// A field, and which of its values are known.
#[derive(Debug)]
struct Known {
    number: u32,
    wire: Wire,
    /// Of a closed enum.
    values: Option<Vec<i32>>,
}

impl MessageParts {
    /// `plan` is for all values; without one, writers have to be added. An error is one of ours.
    pub fn new(framing: Framing, plan: Option<&str>) -> Result<Self, String> {
        let plan = plan.map(|text| read(text, Plan::read)).transpose()?;
        Ok(Self { framing, plan, writers: Writers::default() })
    }

    /// From now on values of this id are read by this schema, as Python has resolved it, and by a plan for each message that
    /// has the part.
    pub fn add_writer(&self, id: u128, schema: &str, plans: &str) -> Result<(), String> {
        let schema = Schema::parse(schema)?;
        let mut by_name: HashMap<String, Plan> = read(plans, |value| {
            value.as_object()?.iter().map(|(name, plan)| Some((name.clone(), Plan::read(plan)?))).collect()
        })?;
        let plans = schema.messages.iter().map(|message| by_name.remove(&message.name)).collect();
        self.writers.set(id, Some(Writer { schema, plans }));
        Ok(())
    }

    /// Finds the types of all values. Total.
    pub fn types(&self, values: &BinaryArray) -> MessageTypes {
        let mut names = Vec::new();
        let mut known: HashMap<Vec<u8>, i32> = HashMap::new();
        let mut last: Option<i32> = None;
        let mut indices = Int32Builder::with_capacity(values.len());
        let unknown = self.each(values, |found| {
            let Some((name, _)) = found else { return indices.append_null() };
            let index = match last {
                Some(index) if names[index as usize] == name => index,
                _ => known.get(name).copied().unwrap_or_else(|| {
                    names.push(name.to_vec());
                    known.insert(name.to_vec(), names.len() as i32 - 1);
                    names.len() as i32 - 1
                }),
            };
            last = Some(index);
            indices.append_value(index);
        });
        MessageTypes { names, indices: indices.finish(), unknown }
    }

    /// Returns of each value the part; null where there is none. Total.
    pub fn bodies(&self, values: &BinaryArray) -> BinaryArray {
        let bytes = values.values().len().min(1 << 20);
        let mut bodies = BinaryBuilder::with_capacity(values.len(), bytes);
        self.each(values, |found| bodies.append_option(found.map(|(_, body)| body)));
        bodies.finish()
    }

    /// Calls `sink` once for each value, with its type and its part; returns the ids that nobody has added.
    fn each(&self, values: &BinaryArray, mut sink: impl FnMut(Option<(&[u8], &[u8])>)) -> Vec<u128> {
        let mut writers = self.writers.learned();
        let mut opener = Opener::new(self.framing);
        for value in values {
            let mut is_told = false;
            let mut tell = |name: &[u8], body: &[u8]| {
                is_told = true;
                sink(Some((name, body)));
            };
            let _ = value.map_or(Ok(()), |value| self.find(opener.open(value)?, &mut writers, &mut tell));
            if !is_told {
                sink(None);
            }
        }
        writers.unknown()
    }

    fn find(
        &self,
        (id, value): (u128, &[u8]),
        writers: &mut Learned<Writer>,
        sink: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<(), Refusal> {
        let (selector, message) = split(self.framing, value)?;
        if let Some(plan) = &self.plan {
            return plan.step(0, message, sink);
        }
        let writer = writers.of(id)?;
        let plan = selector.find(&writer.schema, None).and_then(|id| writer.plans[id].as_ref());
        plan.map_or(Ok(()), |plan| plan.step(0, message, sink))
    }
}

impl Plan {
    /// Goes into the next message, or tells what is in the last one. Of what comes again the last one counts, and pieces of
    /// a message are one.
    fn step(&self, depth: usize, message: &[u8], sink: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), Refusal> {
        let Some(step) = self.steps.get(depth) else { return self.tell(message, sink) };
        let mut pieces = Pieces::default();
        let mut input = Input::new(message);
        while input.left() > 0 {
            let (number, wire) = input.field()?;
            if (number, wire) == (step.field.number, step.field.wire) {
                pieces.add(input.message(number, wire)?);
                continue;
            }
            let is_sibling = find(&step.siblings, |one| one, number).is_some_and(|one| one.takes(wire, input));
            input.skip(number, wire)?;
            if is_sibling {
                pieces = Pieces::default();
            }
        }
        pieces.joined(|inner| self.step(depth + 1, inner, sink))
    }

    fn tell(&self, message: &[u8], sink: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), Refusal> {
        let mut input = Input::new(message);
        let Some(members) = &self.members else {
            let (mut url, mut value): (&[u8], &[u8]) = (b"", b"");
            while input.left() > 0 {
                match input.field()? {
                    (1, Wire::Sized) => url = input.sized()?,
                    (2, Wire::Sized) => value = input.sized()?,
                    (number, wire) => input.skip(number, wire)?,
                }
            }
            let name = url.rsplit(|byte| *byte == b'/').next().unwrap_or(url);
            if !name.is_empty() {
                sink(name, value);
            }
            return Ok(());
        };
        let mut set: Option<&Member> = None;
        let mut pieces = Pieces::default();
        while input.left() > 0 {
            let (number, wire) = input.field()?;
            let member = find(members, |one| &one.field, number).filter(|one| one.field.takes(wire, input));
            let Some(member) = member else {
                input.skip(number, wire)?;
                continue;
            };
            if !member.is_message || set.is_none_or(|before| before.field.number != number) {
                pieces = Pieces::default();
            }
            set = Some(member);
            if matches!(wire, Wire::Sized | Wire::Group) {
                pieces.add(input.message(number, wire)?);
            } else {
                input.skip(number, wire)?;
                pieces.add(b"");
            }
        }
        set.map_or(Ok(()), |member| {
            pieces.joined(|body| {
                if !member.name.is_empty() {
                    sink(&member.name, body);
                }
                Ok(())
            })
        })
    }
}

/// What of a message has come so far.
#[derive(Default)]
struct Pieces<'a> {
    first: Option<&'a [u8]>,
    more: Vec<&'a [u8]>,
}

impl<'a> Pieces<'a> {
    fn add(&mut self, piece: &'a [u8]) {
        match self.first {
            None => self.first = Some(piece),
            Some(_) => self.more.push(piece),
        }
    }

    /// Goes on with all of it, if there is any; each piece must be a message by itself.
    fn joined(&self, go_on: impl FnOnce(&[u8]) -> Result<(), Refusal>) -> Result<(), Refusal> {
        let Some(first) = self.first else { return Ok(()) };
        if self.more.is_empty() {
            return go_on(first);
        }
        let pieces = || std::iter::once(&first).chain(&self.more);
        for piece in pieces() {
            let mut input = Input::new(piece);
            while input.left() > 0 {
                let (number, wire) = input.field()?;
                input.skip(number, wire)?;
            }
        }
        go_on(&pieces().copied().collect::<Vec<_>>().concat())
    }
}

impl Known {
    /// Whether what stands here is a value of this field, and no unknown one.
    fn takes(&self, wire: Wire, mut input: Input<'_>) -> bool {
        let is_known = |values: &Vec<i32>| input.varint().is_ok_and(|number| values.contains(&(number as i32)));
        wire == self.wire && self.values.as_ref().is_none_or(is_known)
    }

    fn read(value: &Value) -> Option<Self> {
        let wire = match value.get("wire")?.as_str()? {
            "varint" => Wire::Varint,
            "fixed64" => Wire::Fixed64,
            "sized" => Wire::Sized,
            "group" => Wire::Group,
            "fixed32" => Wire::Fixed32,
            _ => return None,
        };
        let number_of = |one: &Value| i32::try_from(one.as_i64()?).ok();
        let values = match value.get("values")? {
            Value::Null => None,
            values => Some(values.as_array()?.iter().map(number_of).collect::<Option<_>>()?),
        };
        Some(Self { number: value.get("number")?.as_u64()?.try_into().ok()?, wire, values })
    }
}

impl Plan {
    fn read(value: &Value) -> Option<Self> {
        let steps = value.get("steps")?.as_array()?.iter().map(|one| {
            Some(Step { field: Known::read(one)?, siblings: by_number(one.get("siblings")?, Known::read, |one| one)? })
        });
        let members = match value.get("members")? {
            Value::Null => None,
            members => Some(by_number(members, Member::read, |one| &one.field)?),
        };
        Some(Self { steps: steps.collect::<Option<_>>()?, members })
    }
}

impl Member {
    fn read(value: &Value) -> Option<Self> {
        let kind = value.get("kind")?.as_str()?;
        let name = value.get("name")?.as_str()?.as_bytes().to_vec();
        Some(Self { field: Known::read(value)?, name, is_message: matches!(kind, "message" | "group") })
    }
}

fn by_number<T>(values: &Value, read: fn(&Value) -> Option<T>, field: fn(&T) -> &Known) -> Option<Vec<T>> {
    let mut found = values.as_array()?.iter().map(read).collect::<Option<Vec<_>>>()?;
    found.sort_by_key(|one| field(one).number);
    Some(found)
}

fn find<T>(fields: &[T], field: fn(&T) -> &Known, number: u32) -> Option<&T> {
    fields.binary_search_by_key(&number, |one| field(one).number).ok().map(|place| &fields[place])
}

fn read<T>(text: &str, read: impl FnOnce(&Value) -> Option<T>) -> Result<T, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
    read(&value).ok_or_else(|| "it is no plan".to_owned())
}

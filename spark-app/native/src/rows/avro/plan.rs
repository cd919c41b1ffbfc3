//! How values of one writer's schema become rows: resolved once by the rules of the specification, then only followed.
//!
//! The reader's side are the columns. They have no names of records, so these are not compared; and an enum becomes text,
//! so a symbol that nobody knows yet is good.

use std::collections::HashSet;

use arrow_schema::{DataType, Field, Fields, TimeUnit};

use super::super::kind::per_second;
use super::super::nested::entry_fields;
use super::super::reader::MOST_NESTED;
use super::super::reason::Refusal;
use super::super::target::{below, epoch, notation, place, told, width};
use super::default;
use super::schema::{Field as WriterField, Id, Kind, Logical, Schema};

/// Unions in unions of records multiply: no plan of real schemas has so many parts.
const MOST_PARTS: usize = 100_000;
/// Bytes of a uuid as text.
const UUID_TEXT: usize = 36;
/// Bytes that a character of a default's text can become: `[1,1]` has two numbers of eight bytes.
const GROWTH_OF_A_CHARACTER: usize = 16;

/// How one value is read, and into which kind of column. The column is of the type that the plan was made for.
#[derive(Debug)]
pub enum Plan {
    Null,
    Bool,
    /// An `int` or `long` into an integer of any width.
    Int,
    Long,
    /// A number into a float.
    Real(Number),
    Date,
    /// A time of day, in units of which a second has so many.
    Time(Number, i64),
    /// Units since 1970, of which a second has so many.
    Instant(Number, i64),
    /// Text, whatever the column makes of it.
    Text,
    /// Bytes as they are.
    Bytes,
    Fixed(usize),
    /// 16 bytes as text.
    Uuid,
    Decimal(Digits),
    Enum(Vec<Box<[u8]>>),
    Record(Record),
    List(Box<Item>),
    Map(Box<Item>),
    /// A union of null and something else; `null` is the position of null.
    Nullable {
        null: i64,
        inner: Box<Plan>,
    },
    Union(Vec<Plan>),
    /// A branch that the column cannot have.
    Refused(Refusal),
    /// A value that the writer's schema does not have.
    Default(Box<Constant>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    Int,
    Long,
    Float,
    Double,
}

/// A big-endian number in two's complement.
#[derive(Debug, Clone, Copy)]
pub struct Digits {
    /// Bytes of a fixed type; None: a length stands before them.
    pub fixed: Option<usize>,
    /// What it is multiplied with, so that it has the column's scale.
    pub factor: i128,
}

#[derive(Debug)]
pub struct Record {
    /// The writer's fields in their order.
    pub fields: Vec<Step>,
    /// Columns that the writer does not have, and what becomes of them.
    pub absent: Vec<(usize, Plan)>,
}

#[derive(Debug)]
pub enum Step {
    /// Into the column at this position.
    Into(usize, Plan),
    /// A type of the writer that no column is for, and how many types may still stand in each other there.
    Skip(Id, usize),
}

/// An item of a list, or a value of a map.
#[derive(Debug)]
pub struct Item {
    pub plan: Plan,
    /// Bytes that an item takes in the columns, whatever it takes in the value.
    pub growth: usize,
}

/// A value in Avro's encoding.
#[derive(Debug)]
pub struct Constant {
    /// Characters of the default as it is declared.
    pub declared: usize,
    pub bytes: Vec<u8>,
    pub plan: Plan,
}

/// Resolves a writer's schema against the columns. An error names the field and what stands on both sides.
pub fn compile(schema: &Schema, columns: &Fields) -> Result<Plan, String> {
    let row = Field::new("", DataType::Struct(columns.clone()), false);
    let mut compiler = Compiler { schema, parts: 0, depth: 0 };
    if !compiler.may_be_record(schema.root) {
        return Err(format!("the values are {}, and rows are made of records", schema.told(schema.root)));
    }
    compiler.value(schema.root, &row, "")
}

struct Compiler<'a> {
    schema: &'a Schema,
    parts: usize,
    /// Types around the one that is being looked at.
    depth: usize,
}

impl Compiler<'_> {
    fn may_be_record(&self, id: Id) -> bool {
        match &self.schema.get(id).kind {
            Kind::Record(_) => true,
            Kind::Union(branches) => branches.iter().any(|branch| self.may_be_record(*branch)),
            _ => false,
        }
    }

    fn value(&mut self, id: Id, field: &Field, path: &str) -> Result<Plan, String> {
        self.parts += 1;
        if self.parts > MOST_PARTS {
            return Err(format!("{}: its unions have too many combinations", place(path)));
        }
        self.depth += 1;
        let plan = self.value_inside(id, field, path);
        self.depth -= 1;
        plan
    }

    fn value_inside(&mut self, id: Id, field: &Field, path: &str) -> Result<Plan, String> {
        match &self.schema.get(id).kind {
            Kind::Null if field.is_nullable() => Ok(Plan::Null),
            Kind::Null => Err(only_null(path)),
            Kind::Union(branches) => self.union(branches, field, path),
            _ => self.present(id, field, path),
        }
    }

    fn union(&mut self, branches: &[Id], field: &Field, path: &str) -> Result<Plan, String> {
        let mut plans = Vec::with_capacity(branches.len());
        let mut misfit = None;
        for branch in branches {
            plans.push(if self.schema.get(*branch).kind == Kind::Null {
                if field.is_nullable() { Plan::Null } else { Plan::Refused(Refusal::Missing) }
            } else {
                self.value(*branch, field, path).unwrap_or_else(|told| {
                    misfit = Some(told);
                    Plan::Refused(Refusal::WrongType)
                })
            });
        }
        if let (Some(told), true) = (misfit, plans.iter().all(|plan| matches!(plan, Plan::Null | Plan::Refused(_)))) {
            return Err(told);
        }
        if plans.iter().all(|plan| matches!(plan, Plan::Refused(_))) {
            return Err(only_null(path));
        }
        Ok(match <[Plan; 2]>::try_from(plans) {
            Ok([Plan::Null, inner]) => Plan::Nullable { null: 0, inner: Box::new(inner) },
            Ok([inner, Plan::Null]) => Plan::Nullable { null: 1, inner: Box::new(inner) },
            Ok(two) => Plan::Union(two.into()),
            Err(plans) => Plan::Union(plans),
        })
    }

    /// A value that is not null.
    fn present(&mut self, id: Id, field: &Field, path: &str) -> Result<Plan, String> {
        let found = self.schema.get(id);
        let misfit = || {
            let (writer, column) = (self.schema.told(id), told(field));
            format!("{}: the writer's schema has {writer}, which cannot become {column}", place(path))
        };
        Ok(match (&found.kind, found.logical, field.data_type()) {
            _ if notation(field) == Some("json") => return Err(misfit()),
            (Kind::Record(fields), _, DataType::Struct(columns)) => Plan::Record(self.record(fields, columns, path)?),
            (Kind::Array(items), _, DataType::List(item)) => {
                Plan::List(Box::new(self.item(*items, item, &format!("{path}[]"))?))
            }
            (Kind::Map(values), _, DataType::Map(entries, _)) => {
                let (_, _, value) = entry_fields(entries).map_err(|error| error.to_string())?;
                Plan::Map(Box::new(self.item(*values, value, &format!("{path}{{}}"))?))
            }
            (Kind::Enum(symbols), _, DataType::Utf8) => {
                Plan::Enum(symbols.iter().map(|symbol| symbol.as_bytes().into()).collect())
            }
            (kind, logical, _) => scalar(kind, logical, field).ok_or_else(misfit)?,
        })
    }

    fn item(&mut self, id: Id, field: &Field, path: &str) -> Result<Item, String> {
        let plan = self.value(id, field, path)?;
        let growth = width(field.data_type()) + added(&plan);
        Ok(Item { plan, growth })
    }

    fn record(&mut self, written: &[WriterField], columns: &Fields, path: &str) -> Result<Record, String> {
        let targets = targets(written, columns);
        let mut fields = Vec::with_capacity(written.len());
        for (position, field) in written.iter().enumerate() {
            fields.push(match targets.iter().position(|target| *target == Some(position)) {
                Some(index) => Step::Into(index, self.value(field.id, &columns[index], &below(path, &columns[index]))?),
                None => Step::Skip(field.id, MOST_NESTED.saturating_sub(self.depth)),
            });
        }
        let mut absent = Vec::new();
        for (index, column) in columns.iter().enumerate() {
            if targets[index].is_none() {
                absent.push((index, default::of_absent(column, &below(path, column))?));
            }
        }
        Ok(Record { fields, absent })
    }
}

/// For each column the position of the writer's field: the one of its name, else of one of its aliases.
fn targets(written: &[WriterField], columns: &Fields) -> Vec<Option<usize>> {
    let find = |name: &str| written.iter().position(|field| field.name == name);
    let mut targets: Vec<_> = columns.iter().map(|column| find(column.name())).collect();
    let mut taken: HashSet<usize> = targets.iter().flatten().copied().collect();
    for (target, column) in targets.iter_mut().zip(columns) {
        if target.is_none() {
            *target =
                default::aliases(column).iter().filter_map(|alias| find(alias)).find(|found| !taken.contains(found));
            taken.extend(*target);
        }
    }
    targets
}

/// A value that is made of no others; None: the column cannot have it.
fn scalar(kind: &Kind, logical: Option<Logical>, field: &Field) -> Option<Plan> {
    let whole = match kind {
        Kind::Int => Number::Int,
        _ => Number::Long,
    };
    Some(match (kind, field.data_type()) {
        (Kind::Boolean, DataType::Boolean) => Plan::Bool,
        (Kind::Int, DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64) => Plan::Int,
        (Kind::Long, DataType::Int64) => Plan::Long,
        (Kind::Int, DataType::Float32 | DataType::Float64) => Plan::Real(Number::Int),
        (Kind::Long, DataType::Float32 | DataType::Float64) => Plan::Real(Number::Long),
        (Kind::Float, DataType::Float32 | DataType::Float64) => Plan::Real(Number::Float),
        (Kind::Double, DataType::Float64) => Plan::Real(Number::Double),
        (Kind::Int, DataType::Date32) if matches!(logical, None | Some(Logical::Date)) => Plan::Date,
        (Kind::Int | Kind::Long, DataType::Time32(unit) | DataType::Time64(unit)) => match logical {
            Some(Logical::Time(unit)) => Plan::Time(whole, per_second(unit)),
            None if (*kind == Kind::Int) == (*unit == TimeUnit::Millisecond) => Plan::Time(whole, per_second(*unit)),
            _ => return None,
        },
        (Kind::Int | Kind::Long, DataType::Timestamp(..)) => match logical {
            Some(Logical::Timestamp(unit)) => Plan::Instant(whole, per_second(unit)),
            None => Plan::Instant(whole, epoch(field)?),
            _ => return None,
        },
        (Kind::Bytes | Kind::Fixed(_), DataType::Decimal128(precision, scale)) => {
            let fixed = if let Kind::Fixed(size) = kind { Some(*size) } else { None };
            Plan::Decimal(Digits { fixed, factor: factor(logical, *precision, *scale)? })
        }
        (Kind::String, DataType::Utf8 | DataType::Date32 | DataType::Time32(_) | DataType::Time64(_))
        | (Kind::String, DataType::Decimal128(..)) => Plan::Text,
        (Kind::String, DataType::Timestamp(..)) if epoch(field).is_none() => Plan::Text,
        (Kind::Bytes, DataType::Utf8) if logical.is_none() => Plan::Text,
        (Kind::String | Kind::Bytes, DataType::Binary) => Plan::Bytes,
        (Kind::Fixed(size), DataType::Binary) => Plan::Fixed(*size),
        (Kind::Fixed(_), DataType::Utf8) if logical == Some(Logical::Uuid) => Plan::Uuid,
        _ => return None,
    })
}

/// What a writer's decimal is multiplied with; None: digits would be lost.
fn factor(logical: Option<Logical>, precision: u8, scale: i8) -> Option<i128> {
    let more = match logical {
        Some(Logical::Decimal { scale: writer, .. }) => usize::try_from(scale).ok()?.checked_sub(writer)?,
        _ => 0,
    };
    u32::try_from(more).ok().filter(|_| more <= usize::from(precision)).map(|more| 10_i128.pow(more))
}

fn only_null(path: &str) -> String {
    format!("{}: the writer's schema has null only, and the field is required", place(path))
}

/// Bytes that a value can add to its column beyond its own.
pub fn added(plan: &Plan) -> usize {
    match plan {
        Plan::Enum(symbols) => symbols.iter().map(|symbol| symbol.len()).max().unwrap_or(0),
        Plan::Uuid => UUID_TEXT,
        Plan::Default(constant) => GROWTH_OF_A_CHARACTER * constant.declared,
        Plan::Nullable { inner, .. } => added(inner),
        Plan::Union(branches) => branches.iter().map(added).max().unwrap_or(0),
        Plan::Record(Record { fields, absent }) => {
            let read = fields.iter().map(|step| if let Step::Into(_, plan) = step { added(plan) } else { 0 });
            read.chain(absent.iter().map(|(_, plan)| added(plan))).sum()
        }
        _ => 0,
    }
}

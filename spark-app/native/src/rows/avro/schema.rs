//! Schemas of the Avro specification (1.12), from their JSON text.

use std::collections::HashMap;

use arrow_schema::TimeUnit;
use serde_json::{Map, Value};

/// A text may hold so many types; real schemas have some hundreds.
const MOST_TYPES: usize = 20_000;
const PRIMITIVES: [(&str, Kind); 8] = [
    ("null", Kind::Null),
    ("boolean", Kind::Boolean),
    ("int", Kind::Int),
    ("long", Kind::Long),
    ("float", Kind::Float),
    ("double", Kind::Double),
    ("bytes", Kind::Bytes),
    ("string", Kind::String),
];

/// A place in [`Schema::types`].
pub type Id = usize;

/// A schema: types that refer to each other, also in circles.
#[derive(Debug)]
pub struct Schema {
    types: Vec<Type>,
    pub root: Id,
}

#[derive(Debug, Clone)]
pub struct Type {
    pub kind: Kind,
    pub logical: Option<Logical>,
    /// With its namespace; only of records, enums and fixed types.
    pub name: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Record(Vec<Field>),
    Enum(Vec<String>),
    Fixed(usize),
    Array(Id),
    Map(Id),
    Union(Vec<Id>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub id: Id,
}

/// What a value means; one that does not fit its type is as if it was not there, as the specification wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logical {
    Date,
    Time(TimeUnit),
    /// Local ones among them: without a zone they are read as UTC.
    Timestamp(TimeUnit),
    Uuid,
    Decimal {
        precision: usize,
        scale: usize,
    },
}

impl Schema {
    /// Reads a text. An error says where in it something is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
        let mut builder = Builder::default();
        let root = builder.read(&value, None, "")?;
        let schema = Self { types: builder.types, root };
        schema.check_size()?;
        Ok(schema)
    }

    /// Records may name each other so that a value of a few bytes, or of none, has any number of fields.
    fn check_size(&self) -> Result<(), String> {
        let mut sizes = vec![None; self.types.len()];
        match (0..self.types.len()).map(|id| self.size(id, &mut sizes)).max() {
            Some(MOST_TYPES..) => Err(format!("a record has itself in it, or more than {MOST_TYPES} fields")),
            _ => Ok(()),
        }
    }

    /// Fields that are in each value; those behind unions, arrays and maps cost bytes, so they do not count.
    fn size(&self, id: Id, sizes: &mut Vec<Option<usize>>) -> usize {
        if let Some(known) = sizes[id] {
            return known;
        }
        sizes[id] = Some(MOST_TYPES); // what a record has that has itself in it
        let size = match &self.types[id].kind {
            Kind::Record(fields) => {
                fields.iter().fold(1_usize, |sum, field| sum.saturating_add(self.size(field.id, sizes)))
            }
            _ => 1,
        };
        sizes[id] = Some(size);
        size
    }

    pub fn get(&self, id: Id) -> &Type {
        &self.types[id]
    }

    /// What a type is called in messages.
    pub fn told(&self, id: Id) -> String {
        let Type { kind, logical, name } = self.get(id);
        let base = match kind {
            Kind::Record(_) => "record",
            Kind::Enum(_) => "enum",
            Kind::Fixed(_) => "fixed",
            Kind::Array(_) => "array",
            Kind::Map(_) => "map",
            Kind::Union(branches) => {
                let told: Vec<_> = branches.iter().map(|branch| self.told(*branch)).collect();
                return format!("[{}]", told.join(", "));
            }
            kind => PRIMITIVES.iter().find(|(_, one)| one == kind).map_or("?", |(word, _)| word),
        };
        match (logical, name) {
            (Some(logical), _) => format!("{base} ({})", logical.told()),
            (None, Some(name)) => format!("{base} {name}"),
            (None, None) => base.to_owned(),
        }
    }
}

impl Logical {
    fn told(self) -> String {
        match self {
            Self::Date => "date".into(),
            Self::Time(unit) => format!("time-{}", unit_word(unit)),
            Self::Timestamp(unit) => format!("timestamp-{}", unit_word(unit)),
            Self::Uuid => "uuid".into(),
            Self::Decimal { precision, scale } => format!("decimal({precision},{scale})"),
        }
    }
}

fn unit_word(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "seconds",
        TimeUnit::Millisecond => "millis",
        TimeUnit::Microsecond => "micros",
        TimeUnit::Nanosecond => "nanos",
    }
}

#[derive(Default)]
struct Builder {
    types: Vec<Type>,
    names: HashMap<String, Id>,
}

impl Builder {
    /// Appends the type that `value` describes. `path` is where it stands, for messages.
    fn read(&mut self, value: &Value, namespace: Option<&str>, path: &str) -> Result<Id, String> {
        match value {
            Value::String(word) => match primitive(word) {
                Some(kind) => self.push(kind, path),
                None => self.named(word, namespace, path),
            },
            Value::Array(branches) => self.union(branches, namespace, path),
            Value::Object(object) => self.object(object, namespace, path),
            _ => Err(format!("{}: a type is a name, an object or a list", place(path))),
        }
    }

    fn push(&mut self, kind: Kind, path: &str) -> Result<Id, String> {
        if self.types.len() >= MOST_TYPES {
            return Err(format!("{}: more than {MOST_TYPES} types", place(path)));
        }
        self.types.push(Type { kind, logical: None, name: None });
        Ok(self.types.len() - 1)
    }

    fn named(&self, word: &str, namespace: Option<&str>, path: &str) -> Result<Id, String> {
        let full = full_name(word, namespace);
        let known = self.names.get(&full).or_else(|| self.names.get(word));
        known.copied().ok_or_else(|| format!("{}: no type is called {word:?}", place(path)))
    }

    fn union(&mut self, branches: &[Value], namespace: Option<&str>, path: &str) -> Result<Id, String> {
        let mut ids: Vec<Id> = Vec::new();
        for branch in branches {
            let id = self.read(branch, namespace, path)?;
            let (kind, name) = (&self.types[id].kind, &self.types[id].name);
            if matches!(kind, Kind::Union(_)) {
                return Err(format!("{}: a union stands directly in a union", place(path)));
            }
            let same = |other: &Id| {
                let other = &self.types[*other];
                std::mem::discriminant(&other.kind) == std::mem::discriminant(kind) && &other.name == name
            };
            if ids.iter().any(same) {
                return Err(format!("{}: a union has the same type twice", place(path)));
            }
            ids.push(id);
        }
        if ids.is_empty() {
            return Err(format!("{}: a union has no types", place(path)));
        }
        self.push(Kind::Union(ids), path)
    }

    fn object(&mut self, object: &Map<String, Value>, namespace: Option<&str>, path: &str) -> Result<Id, String> {
        let Some(word) = object.get("type").and_then(Value::as_str) else {
            // A type in a type, as some tools write it.
            let inner = object.get("type").ok_or_else(|| format!("{}: \"type\" is missing", place(path)))?;
            return self.read(inner, namespace, path);
        };
        let id = match word {
            "record" | "error" | "enum" | "fixed" => return self.declared(word, object, namespace, path),
            "array" => {
                let items = self.part(object, "items", namespace, &format!("{path}[]"))?;
                self.push(Kind::Array(items), path)?
            }
            "map" => {
                let values = self.part(object, "values", namespace, &format!("{path}{{}}"))?;
                self.push(Kind::Map(values), path)?
            }
            word => match primitive(word) {
                Some(kind) => self.push(kind, path)?,
                None => return self.named(word, namespace, path),
            },
        };
        self.types[id].logical = logical(&self.types[id].kind, object);
        Ok(id)
    }

    fn part(
        &mut self,
        object: &Map<String, Value>,
        key: &str,
        namespace: Option<&str>,
        path: &str,
    ) -> Result<Id, String> {
        let value = object.get(key).ok_or_else(|| format!("{}: {key:?} is missing", place(path)))?;
        self.read(value, namespace, path)
    }

    /// A type that has a name.
    fn declared(
        &mut self,
        word: &str,
        object: &Map<String, Value>,
        namespace: Option<&str>,
        path: &str,
    ) -> Result<Id, String> {
        let own = object.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
        let own = own.ok_or_else(|| format!("{}: a {word} has no name", place(path)))?;
        let name = full_name(own, object.get("namespace").and_then(Value::as_str).or(namespace));
        if primitive(&name).is_some() || self.names.contains_key(&name) {
            return Err(format!("{}: two types are called {name:?}", place(path)));
        }
        // Known before its fields are: they may refer to it.
        let id = self.push(Kind::Null, path)?;
        self.types[id].name = Some(name.clone());
        self.names.insert(name.clone(), id);
        let inner = name.rsplit_once('.').map(|(namespace, _)| namespace.to_owned());
        let kind = match word {
            "enum" => Kind::Enum(symbols(object).ok_or_else(|| format!("{}: an enum has no symbols", place(path)))?),
            "fixed" => {
                let size = object.get("size").and_then(Value::as_u64).and_then(|size| usize::try_from(size).ok());
                Kind::Fixed(size.ok_or_else(|| format!("{}: a fixed type has no size", place(path)))?)
            }
            _ => Kind::Record(self.fields(object, inner.as_deref(), path)?),
        };
        let logical = logical(&kind, object);
        self.types[id] = Type { kind, logical, name: Some(name) };
        Ok(id)
    }

    fn fields(
        &mut self,
        object: &Map<String, Value>,
        namespace: Option<&str>,
        path: &str,
    ) -> Result<Vec<Field>, String> {
        let declared = object.get("fields").and_then(Value::as_array);
        let declared = declared.ok_or_else(|| format!("{}: a record has no fields", place(path)))?;
        let mut fields: Vec<Field> = Vec::with_capacity(declared.len());
        for field in declared {
            let name = field.get("name").and_then(Value::as_str);
            let name = name.ok_or_else(|| format!("{}: a field has no name", place(path)))?.to_owned();
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            if fields.iter().any(|known| known.name == name) {
                return Err(format!("{path}: two fields are called so"));
            }
            let value = field.get("type").ok_or_else(|| format!("{path}: \"type\" is missing"))?;
            fields.push(Field { name, id: self.read(value, namespace, &path)? });
        }
        Ok(fields)
    }
}

fn place(path: &str) -> &str {
    if path.is_empty() { "the schema" } else { path }
}

fn primitive(word: &str) -> Option<Kind> {
    PRIMITIVES.iter().find(|(name, _)| *name == word).map(|(_, kind)| kind.clone())
}

fn full_name(name: &str, namespace: Option<&str>) -> String {
    match namespace {
        Some(namespace) if !namespace.is_empty() && !name.contains('.') => format!("{namespace}.{name}"),
        _ => name.trim_start_matches('.').to_owned(),
    }
}

fn symbols(object: &Map<String, Value>) -> Option<Vec<String>> {
    let symbols = object.get("symbols")?.as_array()?;
    symbols.iter().map(|symbol| symbol.as_str().map(str::to_owned)).collect()
}

fn logical(kind: &Kind, object: &Map<String, Value>) -> Option<Logical> {
    let found = match object.get("logicalType")?.as_str()? {
        "date" => Logical::Date,
        "time-millis" => Logical::Time(TimeUnit::Millisecond),
        "time-micros" => Logical::Time(TimeUnit::Microsecond),
        "timestamp-millis" | "local-timestamp-millis" => Logical::Timestamp(TimeUnit::Millisecond),
        "timestamp-micros" | "local-timestamp-micros" => Logical::Timestamp(TimeUnit::Microsecond),
        "timestamp-nanos" | "local-timestamp-nanos" => Logical::Timestamp(TimeUnit::Nanosecond),
        "uuid" => Logical::Uuid,
        "decimal" => {
            let number = |key: &str| object.get(key).map_or(Some(0), Value::as_u64).and_then(|it| it.try_into().ok());
            let (precision, scale) = (number("precision")?, number("scale")?);
            if precision == 0 || scale > precision {
                return None;
            }
            Logical::Decimal { precision, scale }
        }
        _ => return None,
    };
    let fits = match found {
        Logical::Date | Logical::Time(TimeUnit::Millisecond) => *kind == Kind::Int,
        Logical::Time(_) | Logical::Timestamp(_) => *kind == Kind::Long,
        Logical::Uuid => matches!(kind, Kind::String | Kind::Fixed(16)),
        Logical::Decimal { .. } => matches!(kind, Kind::Bytes | Kind::Fixed(_)),
    };
    fits.then_some(found)
}

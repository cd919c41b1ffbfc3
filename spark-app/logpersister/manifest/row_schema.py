"""``spec.schema``: the columns that values become."""

from collections.abc import Collection, Sequence
from itertools import chain
from typing import Annotated, Self

from pydantic import Field, PrivateAttr

from logpersister.manifest.column import Column
from logpersister.manifest.constraint import Model, Unique
from logpersister.manifest.declared_columns import (
    NO_AVRO,
    OTHER_COLUMNS,
    Declared,
    Use,
    check_avro,
    check_message,
    check_struct,
    columns_by,
    columns_by_json_schema,
    columns_by_message,
    columns_by_struct,
    findings_at,
    unfit_findings,
)
from logpersister.manifest.field import AvroText, FieldSpec, JsonSchemaText
from logpersister.manifest.hidden_fields import NOT_HIDDEN, hashed, hiding_findings
from logpersister.manifest.hiding import HashSpec, MaskSpec
from logpersister.manifest.key_schema import KeySpec
from logpersister.manifest.names import WholeColumn
from logpersister.manifest.parser import Framing
from logpersister.manifest.problems import Finding, RefusedError, some_of
from logpersister.manifest.protobuf_text import MessageName, ProtobufText
from logpersister.manifest.registry import RegistrySpec
from logpersister.manifest.renaming import (
    NOT_RENAMED,
    Renames,
    RenameSpec,
    rename_findings,
    renamed,
    renames_of,
    usable,
)
from logpersister.manifest.rule import NotInCel, rule
from logpersister.manifest.thrift.errors import ThriftError
from logpersister.manifest.thrift.plan import plan_of
from logpersister.manifest.thrift_schema import ThriftSchema
from logpersister.manifest.types import MOST_COLUMNS, Plain, Struct, Type, leaves
from logpersister.manifest.written_column import Remark

MOST_FIELDS = 256
FOR_COLUMNS = "at most 64 letters of any script, digits, _, @, $ and -, no digit or - first, no kafka_"
NO_NAME = "is no name for a column"
MOST_WRITERS = 32
_NOT_IN_CEL = NotInCel("it would have to understand Avro, protobuf and Thrift")


class SchemaSpec(Model):
    """The columns that values become, in this order."""

    fields: Annotated[tuple[FieldSpec, ...], Field(min_length=1, max_length=MOST_FIELDS)] | None = None
    """Fields of the values that become columns. For other fields see `spec.parser.unknownFields`."""

    avro: AvroText | None = None
    """An Avro schema, as JSON; only with parser `avro`. Without `fields` its fields are the columns. With framing
    `plain` and `singleObject` it wrote the values.
    """

    writers: Annotated[tuple[AvroText, ...], Field(max_length=MOST_WRITERS)] = ()
    """Avro schemas of values that name none in a registry: with framing `singleObject` besides `avro`, with `plain` one
    in its place.
    """

    protobuf: ProtobufText | None = None
    """Schema of protobuf, as `.proto` text or as a descriptor set in base64; only with parser `protobuf`. Without
    `fields` the fields of `message` are the columns.
    """

    message: MessageName | None = None
    """Message of `protobuf` that declares the columns, and that values are with framing `plain`. Default: the first one
    of the file.
    """

    thrift: ThriftSchema | None = None
    """Schema of Thrift by which values are read. With parser `thrift`, and only with it. Without `fields` the fields of
    the struct are the columns."""

    json_schema: JsonSchemaText | None = None
    """Instead of `fields`: a JSON Schema whose properties are the columns. With parser `json`, and only with it."""

    registry: RegistrySpec | None = None
    """Schema registry that knows the schemas of values or keys. Without columns in the manifest a version of the
    topic's subject declares them.
    """

    key: KeySpec | None = None
    """Column that keys become, parsed by themselves (docs/schemas.md#keys). Default: none."""

    rename: Annotated[tuple[RenameSpec, ...], Field(max_length=MOST_FIELDS)] = ()
    """Fields whose columns have another name. All else in the manifest uses the names of columns
    (docs/schemas.md#names-of-columns).
    """

    hash: HashSpec | None = None
    """Fields that are stored as a keyed hash (docs/schemas.md#what-is-not-stored-as-it-is)."""

    mask: Annotated[tuple[MaskSpec, ...], Field(max_length=20)] = ()
    """Fields of which at most the end is stored."""

    drop: Annotated[tuple[WholeColumn, ...], Field(max_length=MOST_FIELDS), Unique()] = ()
    """Columns that are not stored: of `avro`, `protobuf`, `thrift` or the registry; of `fields` only those that
    `spec.keep` needs.
    """

    _rest: str | None = PrivateAttr(default=None)
    """Name of the column of what values have besides, which `spec.parser` asks for."""

    def with_rest(self, column: str | None) -> Self:
        """Return the schema with a column of what values have besides; None: without one."""
        if column == self._rest:
            return self
        found = self.model_copy()
        found._rest = column  # noqa: SLF001 - a copy of ours
        return found

    @property
    def rest(self) -> Column | None:
        """The column of what values have besides."""
        return None if self._rest is None else Column(self._rest, Plain("json"), required=False)

    @property
    def hidden(self) -> tuple[str, ...]:
        """Fields that are not stored as they are in values."""
        return (*self.hidden_texts, *self.drop)

    @property
    def hidden_texts(self) -> tuple[str, ...]:
        """Fields of which a hash is stored, or no more than the end."""
        of_hash = () if self.hash is None else self.hash.fields
        return (*of_hash, *(path for one in self.mask for path in one.fields))

    @property
    def asks_registry(self) -> bool:
        """Whether the columns of a topic are what the registry says, so that they are not known here."""
        texts = (self.avro, self.protobuf, self.thrift, self.json_schema)
        return self.fields is None and all(one is None for one in texts)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of rows as they are stored, in their order; without those that only the registry knows."""
        found = self.of_values if self.key is None else (*self.of_values, self.key.declared)
        return found if self.hash is None else hashed(found, self.hash.fields)

    @property
    def as_parsed(self) -> Self:
        """The schema of rows before anything is hidden."""
        return self if self.hash is None else self.model_copy(update={"hash": None})

    @property
    def of_values(self) -> tuple[Column, ...]:
        """The columns that values become."""
        found = tuple(one for one in self.declared if one.name not in self.drop)
        return found if self.rest is None else (*found, self.rest)

    @property
    def as_written(self) -> "SchemaSpec":
        """The schema of values alone, with the names that they have."""
        if not self.rename:
            return self.without_key.as_parsed
        names = [one.name for one in self.source_columns]
        dropped = (name for name, column in zip(names, self.declared, strict=True) if column.name in self.drop)
        return self.without_key.as_parsed.model_copy(update={"rename": (), "drop": tuple(dropped)})

    def written_by(self, framing: Framing) -> tuple[str, ...]:
        """Return the Avro schemas of the manifest by which values with a framing were written."""
        own = () if self.avro is None else (self.avro,)
        if framing == "plain":
            return self.writers or own
        return tuple(dict.fromkeys((*own, *self.writers))) if framing == "singleObject" else ()

    def parsed_for(self, names: Collection[str]) -> Self:
        """Return the schema by which values are parsed where more has to be known of them than is stored.

        `names`: columns that are needed, also if `drop` leaves them out.
        """
        drop = tuple(one for one in self.drop if one not in names)
        return self if drop == self.drop else self.model_copy(update={"drop": drop})

    @property
    def without_key(self) -> "SchemaSpec":
        """The schema of values alone."""
        return self if self.key is None else self.model_copy(update={"key": None})

    @property
    def of_key(self) -> "SchemaSpec | None":
        """The schema of keys alone, as that of values would be; the subject of its registry is that of keys."""
        if self.key is None:
            return None
        key, registry = self.key, self.registry
        fields = [  # of a type that was read, so there is nothing left to check
            FieldSpec.model_construct(name=one.name, type=str(one.type), required=one.required, format=one.format)
            for one in (key.inner if key.has_type else ())
        ]
        if registry is not None:
            registry = registry.model_copy(update={"version": None, "subject": key.subject})
        return SchemaSpec.model_construct(
            fields=tuple(fields) or None,
            avro=key.avro,
            protobuf=key.protobuf,
            message=key.message,
            thrift=key.thrift,
            registry=registry,
        )

    @property
    def declared(self) -> tuple[Column, ...]:
        """The columns that fields of values become, with those that are left out."""
        return renamed(self.source_columns, self.renames)

    @property
    def renames(self) -> Renames:
        """New names by the paths of the fields of values."""
        return renames_of(self.rename, self.source_columns) if self.rename else {}

    @property
    def _use(self) -> Use:
        """What becomes of the fields that a schema has."""
        sources = (one.field for one in self.rename if one.to in self.drop)
        return Use(frozenset((*sources, *self.drop)), self.rename)

    @property
    def source_columns(self) -> tuple[Column, ...]:
        """Columns with the names that values have."""
        return self._by_source.columns

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What columns do not hold of the fields of values, and which fields of a schema are left out."""
        return tuple(chain.from_iterable(one.remarks for one in self.fields or ())) or self._by_source.remarks

    @property
    def _by_source(self) -> Declared:
        if self.fields is not None:
            return Declared(tuple(one.column for one in self.fields))
        if self.avro is not None:
            return columns_by(self.avro, self._use)
        if self.protobuf is not None:
            return columns_by_message(self.protobuf, self.message, self._use)
        if self.thrift is not None:
            return columns_by_struct(self.thrift.idl, self.thrift.struct, self._use)
        return Declared(()) if self.json_schema is None else columns_by_json_schema(self.json_schema, self._use)

    @property
    def source(self) -> tuple[str, ...]:
        """Where the columns are declared; nothing where only the registry knows them."""
        texts = {
            ("fields",): self.fields,
            ("avro",): self.avro,
            ("protobuf",): self.protobuf,
            ("thrift", "idl"): self.thrift,
            ("jsonSchema",): self.json_schema,
        }
        return next((at for at, one in texts.items() if one is not None), ())

    def thrift_plan(self) -> str:
        """Return what becomes of each field of a struct of Thrift, as `plan_of` does. Raises ThriftError."""
        if self.thrift is None:
            raise ThriftError("there is no schema")
        columns = self.as_written.of_values
        formats = {one.name: one.format for one in columns}
        return plan_of(self.thrift.idl, self.thrift.struct, columns, formats)

    def type_at(self, path: str) -> Type | None:
        """Return the type of a field, ``geo.country`` for one in a struct; None: there is none."""
        members = {one.name: one.type for one in self.columns}
        found: Type | None = None
        for name in path.split("."):
            found = members.get(name)
            members = {one.name: one.type for one in found.members} if isinstance(found, Struct) else {}
        return found

    @rule(
        "has(self.fields) || has(self.avro) || has(self.protobuf) || has(self.thrift) || has(self.jsonSchema)"
        " || has(self.registry) || has(self.message)",
        "is missing, and so are avro, protobuf, thrift, jsonSchema and registry",
        "name the columns here, or the schema registry that has them in spec.schema.registry",
        "fields",
    )
    def _columns_are_declared(self) -> bool:
        # A message may be one of the text that the topic of an entry of spec.types has.
        return not self.asks_registry or self.registry is not None or self.message is not None

    @rule(
        "!has(self.fields) || !has(self.jsonSchema)",
        "declares columns, and so does fields",
        "remove one of them",
        "jsonSchema",
    )
    def _columns_are_declared_once(self) -> bool:
        return self.fields is None or self.json_schema is None

    @rule(_NOT_IN_CEL, NO_AVRO, OTHER_COLUMNS, "avro")
    def _an_avro_schema_has_columns(self) -> Sequence[Finding]:
        try:
            if self.avro is not None and self.fields is None:
                columns_by(self.avro, self._use)
            elif self.avro is not None:
                check_avro(self.avro)
        except RefusedError as error:
            return findings_at(error, "avro")
        return []

    @rule(_NOT_IN_CEL, NO_AVRO, "correct the schema", "writers")
    def _writers_are_avro_schemas(self) -> Sequence[Finding]:
        found: list[Finding] = []
        for place, one in enumerate(self.writers):
            try:
                check_avro(one)
            except RefusedError as error:
                found += findings_at(error, "writers", place)
        return found

    @rule(_NOT_IN_CEL, NO_AVRO, OTHER_COLUMNS, "jsonSchema")
    def _a_json_schema_has_columns(self) -> Sequence[Finding]:
        if self.json_schema is None:
            return []
        try:
            columns_by_json_schema(self.json_schema, self._use)
        except RefusedError as error:
            return findings_at(error, "jsonSchema")
        return []

    @rule(_NOT_IN_CEL, NO_AVRO, OTHER_COLUMNS, "protobuf")
    def _a_message_has_columns(self) -> Sequence[Finding]:
        if self.protobuf is None:
            return []
        try:
            if self.fields is None:
                columns_by_message(self.protobuf, self.message, self._use)
            else:
                check_message(self.protobuf, self.message)
        except RefusedError as error:
            return findings_at(error, "protobuf")
        return []

    @rule(_NOT_IN_CEL, NO_AVRO, OTHER_COLUMNS, *("thrift", "idl"))
    def _a_struct_has_columns(self) -> Sequence[Finding]:
        if self.thrift is None:
            return []
        try:
            check_struct(self.thrift.idl, self.thrift.struct)
            columns = self.as_written.of_values
        except RefusedError as error:
            return findings_at(error, "thrift", "idl")
        fields = [one.name for one in self.fields or ()]
        return list(unfit_findings(self.thrift.idl, self.thrift.struct, columns, fields))

    @rule(
        NotInCel("comparing so many names costs more than the API server allows"),
        "is there before; case does not count",
        "rename or remove one",
        "fields",
    )
    def _names_differ(self) -> Sequence[Finding]:
        seen: set[str] = set()
        found: list[Finding] = []
        for index, field in enumerate(() if self.rename else self.fields or ()):
            if field.name.lower() in seen:
                told = "is there before; case does not count"
                found.append(Finding(told, "rename or remove one", ("fields", index, "name"), f'"{field.name}"'))
            seen.add(field.name.lower())
        return found

    @rule(
        NotInCel("it would have to know the names that rename gives"),
        NO_NAME,
        "give the column a name by spec.schema.rename",
        "fields",
    )
    def _columns_have_names(self) -> Sequence[Finding]:
        if self.fields is None:
            return []
        _, unnamed = usable(self.source_columns, self.rename, self._use.unused)
        names = [one.name for one in self.fields]
        found: list[Finding] = []
        for one in (one for one in unnamed if "; " in one.text):
            at, told = "name", f"{NO_NAME} ({FOR_COLUMNS})"
            index = names.index(one.path) if one.path in names else None
            if index is None:
                index = next(
                    place
                    for place, name in enumerate(names)
                    if one.path.startswith((f"{name}.", f"{name}[", f"{name}{{"))
                )
                at = "type"
            elif "case" in one.text:
                continue  # told by the rule above
            found.append(Finding(told, one.text.partition("; ")[2], ("fields", index, at), f'"{one.path}"'))
        return found

    @rule(
        NotInCel("it would have to understand the types"),
        f"has more than {MOST_COLUMNS} columns at all depths together",
        "take json for parts that nobody queries by column",
        "fields",
    )
    def _columns_are_few(self) -> bool:
        return sum(1 for field in self.fields or () for _ in leaves(field.parsed)) <= MOST_COLUMNS

    @rule(
        _NOT_IN_CEL,
        "is the name of a column of values, too; case does not count",
        "choose another one",
        *("key", "column"),
    )
    def _the_key_is_a_column_of_its_own(self) -> bool:
        columns = () if self.key is None else self._columns_if_readable
        return self.key is None or self.key.column.lower() not in (
            one.name.lower() for one in columns if one.name not in self.drop
        )

    @rule(
        NotInCel("it would have to understand the types"),
        NOT_HIDDEN,
        "name other fields (docs/schemas.md#what-is-not-stored-as-it-is)",
        "hash",
    )
    def _hidden_fields_can_be(self) -> Sequence[Finding]:
        is_known = not self.asks_registry and bool(self._columns_if_readable)
        return list(hiding_findings(self)) if self.hidden and is_known else []

    @rule(
        NotInCel("it would have to understand the types"),
        NOT_RENAMED,
        "name other fields (docs/schemas.md#names-of-columns)",
        "rename",
    )
    def _renamed_fields_can_be(self) -> Sequence[Finding]:
        is_known = not self.asks_registry and bool(self._columns_if_readable)
        return list(rename_findings(self.rename, self.source_columns)) if self.rename and is_known else []

    @property
    def _columns_if_readable(self) -> tuple[Column, ...]:
        """The columns of values with those that are left out; nothing where the schema is none: others tell that."""
        try:
            return self.declared
        except RefusedError:
            return ()


def no_field(path: str, schema: SchemaSpec | None) -> tuple[str, str]:
    """Return why a schema has no field at a path, and what to do."""
    if schema is None:
        return "there is no spec.schema", "declare the field in spec.schema.fields (docs/schemas.md)"
    if path.partition(".")[0] == "key" and schema.key is None:
        return "spec.schema.key is missing, so that keys become no column", "set spec.schema.key (docs/schemas.md#keys)"
    return "spec.schema has no such field", f"name one that it has: {some_of([one.name for one in schema.columns])}"

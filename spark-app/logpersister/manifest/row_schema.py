"""``spec.schema``: the columns that values become."""

from collections.abc import Collection, Sequence
from typing import Annotated, Self

from pydantic import Field, PrivateAttr

from logpersister.manifest.constraint import Model, Unique
from logpersister.manifest.declared_columns import (
    NO_AVRO,
    OTHER_COLUMNS,
    Column,
    columns_by,
    columns_by_message,
    columns_by_struct,
)
from logpersister.manifest.field import AvroText, FieldName, FieldSpec
from logpersister.manifest.hidden_fields import NOT_HIDDEN, hiding_findings
from logpersister.manifest.hiding import HashSpec, MaskSpec
from logpersister.manifest.key_schema import KeySpec
from logpersister.manifest.problems import Finding, RefusedError
from logpersister.manifest.protobuf.errors import ProtobufError
from logpersister.manifest.protobuf.schema import read_schema
from logpersister.manifest.protobuf_text import MessageName, ProtobufText
from logpersister.manifest.registry import LATEST, RegistrySpec
from logpersister.manifest.renaming import NOT_RENAMED, RenameSpec, rename_findings, renamed, renames_of
from logpersister.manifest.rule import NotInCel, rule
from logpersister.manifest.thrift.errors import ThriftError
from logpersister.manifest.thrift.plan import plan_of
from logpersister.manifest.thrift_schema import ThriftSchema
from logpersister.manifest.types import MOST_COLUMNS, Plain, Struct, Type, leaves

MOST_FIELDS = 256


class SchemaSpec(Model):
    """The columns that values become, in this order."""

    fields: Annotated[tuple[FieldSpec, ...], Field(min_length=1, max_length=MOST_FIELDS)] | None = None
    """Fields of the values that become columns. For other fields see `spec.parser.unknownFields`."""

    avro: AvroText | None = None
    """Instead of `fields`: an Avro schema, as JSON. Its fields are the columns, with their defaults and aliases; those
    whose type has no null are required. With parser `avro`, and only with it."""

    protobuf: ProtobufText | None = None
    """Schema of protobuf, as `.proto` text or as a descriptor set in base64. With parser `protobuf`, and only with it.
    Without `fields` the fields of `message` are the columns. With framing `plain` it is the schema of the values, so it
    may be set beside `fields`."""

    message: MessageName | None = None
    """Message of `protobuf` that declares the columns, and whose form values with framing `plain` have. Default: the
    first one of the file."""

    thrift: ThriftSchema | None = None
    """Schema of Thrift by which values are read. With parser `thrift`, and only with it. Without `fields` the fields of
    the struct are the columns."""

    registry: RegistrySpec | None = None
    """Schema registry that knows the schemas by which values were written. With parser `avro`, or `protobuf` whose
    framing is not `plain`, or for Avro keys, and only with them. If `fields`, `avro` and `protobuf` are absent, a
    version of the topic's subject declares the columns."""

    key: KeySpec | None = None
    """Column that keys become, parsed by themselves (docs/schemas.md#keys). Default: none."""

    rename: Annotated[tuple[RenameSpec, ...], Field(max_length=MOST_FIELDS)] = ()
    """Fields that have another name in columns. Everything else in the manifest, such as `hash`, `drop` and
    `partitionBy`, names them as columns do (docs/schemas.md#names-of-columns)."""

    hash: HashSpec | None = None
    """Fields that are stored as a keyed hash (docs/schemas.md#what-is-not-stored-as-it-is)."""

    mask: Annotated[tuple[MaskSpec, ...], Field(max_length=20)] = ()
    """Fields of which at most the end is stored."""

    drop: Annotated[tuple[FieldName, ...], Field(max_length=MOST_FIELDS), Unique()] = ()
    """Columns that are not stored: of `avro`, `protobuf`, `thrift` or the registry; of `fields` only those that
    `spec.keep` needs, others are removed there."""

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
        hashed = () if self.hash is None else self.hash.fields
        return (*hashed, *(path for one in self.mask for path in one.fields), *self.drop)

    @property
    def asks_registry(self) -> bool:
        """Whether the columns of a topic are what the registry says, so that they are not known here."""
        return self.fields is None and self.avro is None and self.protobuf is None and self.thrift is None

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of rows, in their order; without those of values where the registry has to be asked."""
        return self.of_values if self.key is None else (*self.of_values, self.key.declared)

    @property
    def of_values(self) -> tuple[Column, ...]:
        """The columns that values become."""
        found = tuple(one for one in self.declared if one.name not in self.drop)
        return found if self.rest is None else (*found, self.rest)

    @property
    def as_written(self) -> "SchemaSpec":
        """The schema of values alone, with the names that they have."""
        if not self.rename:
            return self.without_key
        names = [one.name for one in self.source_columns]
        dropped = (name for name, column in zip(names, self.declared, strict=True) if column.name in self.drop)
        return self.without_key.model_copy(update={"rename": (), "drop": tuple(dropped)})

    def parsed_for(self, names: Collection[str]) -> Self:
        """Return the schema by which values are parsed where more has to be known of them than is stored.

        `names`: columns that are needed, also if `drop` leaves them out.
        """
        drop = tuple(one for one in self.drop if one not in names)
        return self if drop == self.drop else self.model_copy(update={"drop": drop})

    @property
    def has_avro_keys(self) -> bool:
        """Whether keys name schemas that the registry knows."""
        return self.key is not None and self.key.parser == "avro"

    @property
    def without_key(self) -> "SchemaSpec":
        """The schema of values alone."""
        return self if self.key is None else self.model_copy(update={"key": None})

    @property
    def of_key(self) -> "SchemaSpec | None":
        """The schema of keys alone."""
        if self.key is None:
            return None
        fields = [  # of a type that was read, so there is nothing left to check
            FieldSpec.model_construct(name=one.name, type=str(one.type), required=one.required, format=one.format)
            for one in self.key.inner
        ]
        return SchemaSpec.model_construct(fields=tuple(fields))

    @property
    def declared(self) -> tuple[Column, ...]:
        """The columns that fields of values become, with those that are left out."""
        return renamed(self.source_columns, renames_of(self.rename))

    @property
    def source_columns(self) -> tuple[Column, ...]:
        """The same with the names that values have."""
        if self.avro is not None:
            return columns_by(self.avro)
        if self.fields is None and self.protobuf is not None:
            return columns_by_message(self.protobuf, self.message)
        if self.fields is None and self.thrift is not None:
            return columns_by_struct(self.thrift.idl, self.thrift.struct)
        return tuple(one.column for one in self.fields or ())

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
        "has(self.fields) || has(self.avro) || has(self.protobuf) || has(self.thrift) || has(self.registry)"
        " || has(self.message)",
        "is missing, and so are avro, protobuf, thrift and registry",
        "name the columns here, or the schema registry that has them in spec.schema.registry",
        "fields",
    )
    def _columns_are_declared(self) -> bool:
        # A message may be one of the text that the topic of an entry of spec.types has.
        return not self.asks_registry or self.registry is not None or self.message is not None

    @rule(
        "!has(self.fields) || !has(self.avro)",
        "declares columns, and so does fields",
        "remove one of them",
        "avro",
    )
    def _columns_are_declared_once(self) -> bool:
        return self.fields is None or self.avro is None

    @rule(
        "!has(self.fields) || !has(self.protobuf) || !has(self.registry)",
        "has no meaning beside fields, which declare the columns, and registry, which knows how values were written",
        "remove it, or spec.schema.fields",
        "protobuf",
    )
    def _a_message_declares_columns(self) -> bool:
        return self.fields is None or self.protobuf is None or self.registry is None

    @rule(
        NotInCel("it would have to understand Avro, protobuf and Thrift"),
        NO_AVRO,
        OTHER_COLUMNS,
        "protobuf",
    )
    def _a_message_has_columns(self) -> Sequence[Finding]:
        if self.protobuf is None:
            return []
        try:
            if self.fields is None:
                columns_by_message(self.protobuf, self.message)
            else:
                read_schema(self.protobuf).message(self.message)
        except RefusedError as error:
            return [Finding(one.expectation, one.remedy, ("protobuf",)) for one in error.findings]
        except ProtobufError as error:
            return [Finding(f"{NO_AVRO}: {error}", OTHER_COLUMNS, ("protobuf",))]
        return []

    @rule(
        NotInCel("it would have to understand Avro, protobuf and Thrift"),
        NO_AVRO,
        OTHER_COLUMNS,
        *("thrift", "idl"),
    )
    def _a_struct_has_columns(self) -> Sequence[Finding]:
        if self.thrift is None:
            return []
        try:
            if self.fields is None:
                columns_by_struct(self.thrift.idl, self.thrift.struct)
            self.thrift_plan()
        except RefusedError as error:
            return [Finding(one.expectation, one.remedy, ("thrift", "idl")) for one in error.findings]
        except ThriftError as error:
            return [Finding(f"{NO_AVRO}: {error}", OTHER_COLUMNS, ("thrift", "idl"))]
        return []

    @rule(
        "!has(self.message) || !has(self.fields) || !has(self.registry)",
        "has no meaning beside fields, which declare the columns, and registry: each value names its message",
        "remove it, or spec.schema.fields",
        "message",
    )
    def _a_message_is_named_once(self) -> bool:
        return self.message is None or self.fields is None or self.registry is None

    @rule(
        "!has(self.fields) || !has(self.registry) || !has(self.registry.version)",
        "has no meaning beside fields, which declare the columns",
        "remove it, or spec.schema.fields",
        *("registry", "version"),
    )
    def _a_version_declares_columns(self) -> bool:
        return self.fields is None or self.registry is None or self.registry.version is None

    @rule(
        "!has(self.fields) || !has(self.registry) || !has(self.registry.subject)",
        "has no meaning beside fields, which declare the columns",
        "remove it, or spec.schema.fields",
        *("registry", "subject"),
    )
    def _a_subject_declares_columns(self) -> bool:
        return self.fields is None or self.registry is None or self.registry.subject is None

    @rule(
        "!has(self.avro) || !has(self.registry) || !has(self.registry.version) || type(self.registry.version) == int",
        "has no meaning beside avro, which declares the columns",
        "remove it, or spec.schema.avro",
        *("registry", "version"),
    )
    def _an_avro_schema_is_no_latest_one(self) -> bool:
        return self.avro is None or self.registry is None or self.registry.version != LATEST

    @rule(
        "!has(self.protobuf) || !has(self.registry) || !has(self.registry.version)"
        " || type(self.registry.version) == int",
        "has no meaning beside protobuf, which declares the columns",
        "remove it, or spec.schema.protobuf",
        *("registry", "version"),
    )
    def _a_protobuf_schema_is_no_latest_one(self) -> bool:
        return self.protobuf is None or self.registry is None or self.registry.version != LATEST

    @rule(
        "!has(self.fields)"
        " || self.fields.all(one, self.fields.exists_one(other, other.name.lowerAscii() == one.name.lowerAscii()))",
        "has the same name twice; case does not count",
        "rename or remove one",
        "fields",
    )
    def _names_differ(self) -> Sequence[Finding]:
        seen: set[str] = set()
        found: list[Finding] = []
        for index, field in enumerate(self.fields or ()):
            if field.name.lower() in seen:
                told = "is there before; case does not count"
                found.append(Finding(told, "rename or remove one", ("fields", index, "name"), f'"{field.name}"'))
            seen.add(field.name.lower())
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
        NotInCel("it would have to understand Avro, protobuf and Thrift"),
        "is the name of a column of values, too; case does not count",
        "choose another one",
        *("key", "column"),
    )
    def _the_key_is_a_column_of_its_own(self) -> bool:
        return self.key is None or self.key.column.lower() not in (one.name.lower() for one in self.of_values)

    @rule(
        NotInCel("it would have to understand the types"),
        NOT_HIDDEN,
        "name other fields (docs/schemas.md#what-is-not-stored-as-it-is)",
        "hash",
    )
    def _hidden_fields_can_be(self) -> Sequence[Finding]:
        return list(hiding_findings(self)) if self.hidden and not self.asks_registry else []

    @rule(
        NotInCel("it would have to understand the types"),
        NOT_RENAMED,
        "name other fields (docs/schemas.md#names-of-columns)",
        "rename",
    )
    def _renamed_fields_can_be(self) -> Sequence[Finding]:
        return list(rename_findings(self.rename, self.source_columns)) if self.rename and not self.asks_registry else []

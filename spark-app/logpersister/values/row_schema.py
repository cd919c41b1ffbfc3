"""The columns that values become, as ``spec.value`` and ``spec.key`` declare them (`values`). Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

from logpersister.forms.problems import some_of
from logpersister.schemas.types import Binary, Column, Member, Plain, Struct, Type
from logpersister.schemas.written_column import Remark
from logpersister.values.declared_columns import Declared, Source, Use, columns_by
from logpersister.values.field import FieldSpec
from logpersister.values.hiding import HashSpec, MaskSpec
from logpersister.values.parser import Framing, Parsing
from logpersister.values.registry import RegistrySpec
from logpersister.values.renaming import Renames, RenameSpec, renamed, renames_of

VALUE: Final = "value"
"""Column of values that are stored as they are."""
_WHOLE_VALUE: Final = Column(VALUE, Binary(), required=False)
TEXT: Final = "text"
"""What a key that is text is called before it is a column."""


@dataclass(frozen=True, slots=True)
class KeySchema:
    """How keys become a column beside those of values."""

    column: str
    schema: "RowSchema"
    """The schema of keys, as that of values would be; its registry is that of values, with the subject of keys."""
    as_values: Parsing | None
    """How keys are read: as values by this; None: each is one text."""

    @property
    def parser(self) -> str:
        return TEXT if self.as_values is None else self.as_values.type

    @property
    def framing(self) -> Framing:
        return "plain" if self.as_values is None else self.as_values.framing

    @property
    def names_schemas(self) -> bool:
        """Whether keys say by which schema they were written, and are read by that."""
        return self.as_values is not None and self.as_values.names_schemas

    @property
    def declared(self) -> Column:
        """The column. Raises `RefusedError` where the schema of keys is none."""
        fields = self.schema.source_columns
        if self.as_values is None:
            return Column(self.column, fields[0].type, required=False, format=fields[0].format)
        return Column(self.column, Struct(fields), required=False)


@dataclass(frozen=True)
class RowSchema:
    """The columns that values become, in this order."""

    fields: tuple[FieldSpec, ...] | None = None
    """Fields of the values that become columns; without them a schema below declares the columns."""
    source: Source | None = None
    """Schema in the language of the kind of values."""
    registry: RegistrySpec | None = None
    """Registry that knows the schemas of values and keys."""
    key: KeySchema | None = None
    """The column that keys become; None: they become none."""
    rename: tuple[RenameSpec, ...] = ()
    hash: HashSpec | None = None
    mask: tuple[MaskSpec, ...] = ()
    drop: tuple[str, ...] = ()
    """Columns that are not stored."""
    rest_column: str | None = None
    """Name of the column of what values have besides; None: there is none."""
    head: Column | None = None
    """Column of what stands around the values of types: the header of frames, or the whole message."""
    numbers: Mapping[str, Column] = field(default_factory=dict, hash=False)
    """Columns of numbers of frames, by which number it is. They are the last ones."""
    has_columns: bool = True
    """Whether values become columns of their own; else they are stored as they are, in one column `VALUE`."""

    @property
    def rest(self) -> Column | None:
        """The column of what values have besides."""
        return None if self.rest_column is None else Column(self.rest_column, Plain("json"), required=False)

    @property
    def added(self) -> tuple[Column, ...]:
        """The columns that ``spec.types`` adds."""
        return (*([] if self.head is None else [self.head]), *self.numbers.values())

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
        return self.has_columns and self.fields is None and not self.has_text

    @property
    def has_text(self) -> bool:
        """Whether a text of the manifest declares columns."""
        return self.source is not None and self.source.has_text

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of rows as they are stored, in their order; without those that only the registry knows."""
        if not self.has_columns:
            return (_WHOLE_VALUE,)
        found = self.of_values if self.key is None else (*self.of_values, self.key.declared)
        return (*(found if self.hash is None else _hashed_columns(found, self.hash.fields)), *self.added)

    @property
    def as_parsed(self) -> "RowSchema":
        """The schema of rows before anything is hidden."""
        return self if self.hash is None else replace(self, hash=None)

    @property
    def of_values(self) -> tuple[Column, ...]:
        """The columns that values become."""
        found = tuple(one for one in self.declared if one.name not in self.drop)
        return found if self.rest is None else (*found, self.rest)

    @property
    def as_written(self) -> "RowSchema":
        """The schema of values alone, with the names that they have."""
        if not self.rename:
            return self.without_key.as_parsed
        names = [one.name for one in self.source_columns]
        dropped = (name for name, column in zip(names, self.declared, strict=True) if column.name in self.drop)
        return replace(self.without_key.as_parsed, rename=(), drop=tuple(dropped))

    def written_by(self, framing: Framing) -> tuple[str, ...]:
        """Return the schemas of the manifest by which values with a framing were written."""
        return () if self.source is None else self.source.written_by(framing)

    def parsed_for(self, names: Collection[str]) -> "RowSchema":
        """Return the schema by which values are parsed where more has to be known of them than is stored.

        `names`: columns that are needed, also if `drop` leaves them out.
        """
        drop = tuple(one for one in self.drop if one not in names)
        return self if drop == self.drop else replace(self, drop=drop)

    @property
    def without_key(self) -> "RowSchema":
        """The schema of values alone."""
        return replace(self, key=None, head=None, numbers={})

    @property
    def declared(self) -> tuple[Column, ...]:
        """The columns that fields of values become, with those that are left out."""
        return renamed(self.source_columns, self.renames)

    @property
    def renames(self) -> Renames:
        """New names by the paths of the fields of values."""
        return renames_of(self.rename, self.source_columns) if self.rename else {}

    @property
    def use(self) -> Use:
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
        if self.source is None or not self.source.has_text:
            return Declared(())
        return columns_by(self.source, self.use)

    def type_at(self, path: str) -> Type | None:
        """Return the type of a field, ``geo.country`` for one in a struct; None: there is none."""
        members = {one.name: one.type for one in self.columns} if self.has_columns else {}
        found: Type | None = None
        for name in path.split("."):
            found = members.get(name)
            members = {one.name: one.type for one in found.members} if isinstance(found, Struct) else {}
        return found


AS_THEY_ARE: Final = RowSchema(has_columns=False)
"""Values are stored as they are."""


def no_field(path: str, schema: RowSchema) -> tuple[str, str]:
    """Return why a schema has no field at a path, and what to do."""
    if not schema.has_columns:
        return "spec.value declares no columns", "declare the field in spec.value (docs/schemas.md)"
    if path.partition(".")[0] == "key" and schema.key is None:
        return "spec.key is missing, so that keys become no column", "set spec.key (docs/schemas.md#keys)"
    return "values have no such field", f"name one that they have: {some_of([one.name for one in schema.columns])}"


def _hashed_columns(columns: Iterable[Column], paths: Sequence[str]) -> tuple[Column, ...]:
    """Return columns as they are stored when fields are hashed: those of whole numbers are texts then."""
    split = [tuple(path.split(".")) for path in paths]
    return tuple(
        one if (type_ := _hashed(one, split)) == one.type else replace(one, type=type_, default=None) for one in columns
    )


def _hashed(member: Member, paths: Iterable[Sequence[str]]) -> Type:
    below = [path[1:] for path in paths if path[0] == member.name]
    if [] in map(list, below):
        return Plain("string")
    if not below or not isinstance(member.type, Struct):
        return member.type
    return Struct(tuple(replace(one, type=_hashed(one, below)) for one in member.type.members))

"""``spec.value``: what values are, and the columns that they become."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Final

from pydantic import Field

from logpersister.forms.constraint import Model, Unique
from logpersister.forms.problems import Finding
from logpersister.forms.rule import exactly_one, refuses
from logpersister.values.avro.block import AvroValue
from logpersister.values.csv.block import CsvValue
from logpersister.values.hiding import HashSpec, MaskSpec
from logpersister.values.json.block import JsonValue
from logpersister.values.kind import MOST_FIELDS, chosen, is_by_writer
from logpersister.values.messagepack.block import MessagePackValue
from logpersister.values.names import FieldName
from logpersister.values.parser import Parsing
from logpersister.values.protobuf.block import ProtobufValue
from logpersister.values.readable import column_findings
from logpersister.values.regex.block import RegexValue
from logpersister.values.registry import RegistrySpec
from logpersister.values.renaming import RenameSpec
from logpersister.values.row_schema import AS_THEY_ARE, RowSchema
from logpersister.values.thrift.block import ThriftValue


class BytesValue(Model):
    """Values are stored as they are, unchecked."""

    @property
    def parser(self) -> Parsing:
        return Parsing()

    @property
    def row_schema(self) -> RowSchema:
        return AS_THEY_ARE


KINDS: Final = ("bytes", "json", "avro", "protobuf", "thrift", "messagepack", "csv", "regex")


class ValueSpec(Model):
    """What values are. Exactly one kind is named; records whose values are not of it are stored in quarantine."""

    bytes: BytesValue | None = None
    """Anything, stored as it is, unchecked."""

    json_: JsonValue | None = Field(default=None, alias="json")
    """One JSON document; with columns one object (docs/schemas.md)."""

    avro: AvroValue | None = None
    """One Avro record (docs/schemas.md#avro)."""

    protobuf: ProtobufValue | None = None
    """One message of protobuf (docs/schemas.md#protobuf)."""

    thrift: ThriftValue | None = None
    """One struct of Thrift (docs/schemas.md#thrift)."""

    messagepack: MessagePackValue | None = None
    """One MessagePack map (docs/schemas.md#messagepack)."""

    csv: CsvValue | None = None
    """One CSV record (docs/schemas.md#csv)."""

    regex: RegexValue | None = None
    """A text that a pattern matches (docs/schemas.md#regular-expressions)."""

    rename: Annotated[tuple[RenameSpec, ...], Field(max_length=MOST_FIELDS)] = ()
    """Fields whose columns have another name (docs/schemas.md#names-of-columns).
    """

    hash: HashSpec | None = None
    """Fields that are stored as a keyed hash (docs/schemas.md#what-is-not-stored-as-it-is)."""

    mask: Annotated[tuple[MaskSpec, ...], Field(max_length=20)] = ()
    """Fields of which at most the end is stored."""

    drop: Annotated[tuple[FieldName, ...], Field(max_length=MOST_FIELDS), Unique()] = ()
    """Columns that are not stored: of a schema or the registry; of `fields` only those that `spec.keep` needs."""

    @property
    def kind(self) -> str:
        """What values are."""
        return self._chosen[0]

    @property
    def parser(self) -> Parsing:
        """How values are read."""
        found: Parsing = self._chosen[1].parser
        return found

    @property
    def row_schema(self) -> RowSchema:
        """The columns that values become."""
        found: RowSchema = self._chosen[1].row_schema
        if not found.has_columns:
            return found
        return replace(
            found,
            rename=self.rename,
            hash=self.hash,
            mask=self.mask,
            drop=self.drop,
            rest_column=self.parser.rest,
        )

    @property
    def registry(self) -> RegistrySpec | None:
        """The registry that knows the schemas of values and keys."""
        return self.row_schema.registry

    @property
    def _chosen(self) -> tuple[str, Any]:
        return chosen(self, KINDS) or ("bytes", BytesValue())

    _one_kind_is_named = exactly_one(*KINDS)

    @refuses
    def _columns_can_be(self) -> Iterator[Finding]:
        schema = self.row_schema
        if schema.has_columns:
            kind, block = self._chosen
            yield from column_findings(kind, schema, by_writer=is_by_writer(block))


ANY_BYTES: Final = ValueSpec(bytes=BytesValue())

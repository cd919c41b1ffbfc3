"""Schemas of Thrift in the manifest: what declares columns, and by which values are read."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from logpersister.forms.problems import Finding, RefusedError, show
from logpersister.schemas.errors import CORRECT, SchemaTextError
from logpersister.schemas.types import Column
from logpersister.schemas.written_column import WrittenColumn
from logpersister.values.declared_columns import NO_COLUMNS, Source, one_of
from logpersister.values.row_schema import RowSchema
from logpersister.values.thrift.columns import columns_of
from logpersister.values.thrift.plan import UnfitColumnError, plan_of
from logpersister.values.thrift.schema import read_schema


@dataclass(frozen=True)
class ThriftSource(Source):
    """A struct of a text of Thrift's IDL."""

    at: ClassVar[str] = "idl"

    idl: str
    struct: str | None = None
    """Struct (or union) that values are. Default: the only one of the text."""

    def columns(self) -> Sequence[WrittenColumn]:
        self.check()
        return columns_of(self.idl, self.struct)

    def plan(self, columns: Sequence[Column]) -> str:
        """Return what becomes of each field of the struct, as `plan_of` does. Raises SchemaTextError."""
        return plan_of(self.idl, self.struct, columns, {one.name: one.format for one in columns})

    def check(self) -> None:
        schema = read_schema(self.idl)
        try:
            schema.struct(self.struct)
        except SchemaTextError as error:
            if not schema.structs:
                raise
            told = str(error) if self.struct is None else "the schema has no such struct"
            found = None if self.struct is None else f'"{self.struct}"'
            remedy = one_of(schema.roots or tuple(schema.structs), self.struct)
            raise RefusedError(Finding(f"{NO_COLUMNS}: {told}", remedy, ("struct",), found)) from None

    def unfit(self, columns: Sequence[Column]) -> Iterator[tuple[Column, UnfitColumnError]]:
        """Yield the columns that the struct cannot become; the text has this struct."""
        for one in columns:
            try:
                self.plan((one,))
            except UnfitColumnError as error:
                yield one, error

    def misfits(self, columns: Callable[[], Sequence[Column]], fields: Sequence[str]) -> Iterator[Finding]:
        for column, error in self.unfit(columns()):
            told = f"{NO_COLUMNS}: {error}"
            if column.name not in fields:
                yield Finding(told, CORRECT, ("idl",))
            elif error.known and error.path == column.name:
                at = ("fields", fields.index(column.name), "name")
                yield Finding(f"{NO_COLUMNS}: {error.told}", _remedy(error), at, f'"{column.name}"')
            else:
                at = ("fields", fields.index(column.name), "type")
                yield Finding(told, _remedy(error), at, show(str(column.type)))


def _remedy(error: UnfitColumnError) -> str:
    if not error.known:
        return "write another type (docs/schemas.md#thrift)"
    found = one_of(error.known, error.path.rpartition(".")[2])
    return found if found.endswith("?") else f"remove it, or {found}"


def thrift_of(schema: RowSchema) -> ThriftSource:
    """Return the struct by which values are read. Raises SchemaTextError where there is none."""
    if not isinstance(schema.source, ThriftSource):
        raise SchemaTextError("there is no schema")
    return schema.source

"""What is wrong with the columns that a block of values or keys declares: what only a reader of schemas can say. Pure.

Findings are told at the fields of a block (`values`), by what they are about in `RowSchema`.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from logpersister.forms.problems import Finding, PathStep, RefusedError
from logpersister.schemas.types import MOST_COLUMNS, ListOf, MapOf, Plain, Struct, Type, leaves
from logpersister.values.declared_columns import columns_by, findings_at, refusing
from logpersister.values.renaming import rename_findings, usable
from logpersister.values.row_schema import RowSchema

NO_NAME: Final = "is no name for a column"
FOR_COLUMNS: Final = "at most 64 letters of any script, digits, _, @, $ and -, no digit or - first, no kafka_"
_AGAIN: Final = "is there before; case does not count"

Place = tuple[PathStep, ...]


def column_findings(kind: str, schema: RowSchema, *, by_writer: bool = False) -> Iterator[Finding]:
    """Yield what is wrong with the columns of values or keys of a kind; nothing about those that a registry has.

    Paths begin with the kind, but for `rename`, which stands beside it.

    Args:
        kind: of values or keys.
        schema: what they become.
        by_writer: whether the schema of the block is that in `writer`.
    """
    told = list(_text_findings(schema))
    if not told and not schema.asks_registry:
        told += _field_findings(kind, schema)
        told += rename_findings(schema.rename, schema.source_columns) if schema.rename else ()
    for one in told:
        at = ("writer",) if by_writer and one.at == ("schema",) else one.at
        yield one if at[:1] == ("rename",) else replace(one, at=(kind, *at))


def _text_findings(schema: RowSchema) -> Iterator[Finding]:
    source = schema.source
    if source is None or not source.has_text:
        return
    try:
        if schema.fields is None:
            columns_by(source, schema.use)
        else:
            with refusing():
                source.check()
    except RefusedError as error:
        yield from findings_at(error, source.at)
        return
    yield from source.misfits(lambda: schema.as_written.of_values, [one.name for one in schema.fields or ()])


def _field_findings(kind: str, schema: RowSchema) -> Iterator[Finding]:
    fields = schema.fields or ()
    if sum(1 for field in fields for _ in leaves(field.parsed)) > MOST_COLUMNS:
        told = f"has more than {MOST_COLUMNS} columns at all depths together"
        yield Finding(told, "take json for parts that nobody queries by column", ("fields",))
    seen: set[str] = set()
    for place, field in enumerate(fields):
        if field.name.lower() in seen and not schema.rename:
            yield Finding(_AGAIN, "rename or remove one", ("fields", place, "name"), f'"{field.name}"')
        seen.add(field.name.lower())
    yield from _unnamed(schema)
    for place, column in enumerate(schema.source_columns):
        problem = _misfit(kind, column.type)
        if problem is not None:
            at: Place = ("fields", place, "type") if fields else ()
            yield Finding(*problem, at, f'"{column.type}"' if fields else f'"{column.name}: {column.type}"')


def _misfit(kind: str, type_: Type) -> tuple[str, str] | None:
    """Return what is wrong with a type in values of a kind, and what to do; None: nothing."""
    if kind in ("avro", "messagepack") and Plain("json") in leaves(type_):
        told = f"has json in it, which values of kind {kind} do not have"
        return told, "write the type that the field has in the values, for example string or struct<a: int32>"
    if kind in ("csv", "regex", "text") and isinstance(type_, Struct | ListOf | MapOf):
        told = "is a struct, list or map, which texts do not have"
        return told, "take string, or json where the text is a JSON document"
    return None


def _unnamed(schema: RowSchema) -> Iterator[Finding]:
    if schema.fields is None:
        return
    dropped = frozenset((*(one.field for one in schema.rename if one.to in schema.drop), *schema.drop))
    _, unnamed = usable(schema.source_columns, schema.rename, dropped)
    names = [one.name for one in schema.fields]
    for one in unnamed:
        _, has_remedy, remedy = one.text.partition("; ")
        if not has_remedy or "case" in one.text:  # which is told as a repetition
            continue
        is_field = one.path in names
        inside = (n for n, name in enumerate(names) if one.path.startswith((f"{name}.", f"{name}[", f"{name}{{")))
        place = names.index(one.path) if is_field else next(inside)
        at: Place = ("fields", place, "name" if is_field else "type")
        yield Finding(f"{NO_NAME} ({FOR_COLUMNS})", remedy, at, f'"{one.path}"')

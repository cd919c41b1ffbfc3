"""Checks whether objects of one version of a JSON Schema can be rows of another one. Pure.

As for Avro: what an older version does not name was not there. JSON Schema itself would allow anything under a name
that it does not know.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from logpersister.schemas.types import Binary, Decimal, ListOf, MapOf, Member, Plain, Struct, Timestamp, Type
from logpersister.schemas.written_column import WrittenColumn
from logpersister.values.json.columns import columns_of

_DIGITS_OF_INT64: Final = 19
_MOST_TOLD: Final = 5


def unreadable(columns: Sequence[Member], text: str) -> str | None:
    """Return why objects of a schema cannot become columns, with fields; None: they can. Raises `NoColumnsError`.

    Args:
        columns: as another version of the schema declares them.
        text: the schema by which objects were written.
    """
    written = {one.name: one for one in columns_of(text, as_reader=True)}
    return "; ".join(islice(_problems(columns, written, ""), _MOST_TOLD)) or None


def _problems(
    columns: Iterable[Member], written: "dict[str, WrittenColumn] | dict[str, Member]", around: str
) -> Iterator[str]:
    for column in columns:
        path = around + column.name
        found = written.get(column.name)
        if found is None:
            if column.required:
                yield f"{path}: it is required, and is not in the writer's schema"
            continue
        yield from _type_problems(path, column.type, found.type)
        if column.required and not found.required:
            yield f"{path}: it is required, and the writer's schema does not require it"


def _type_problems(path: str, type_: Type, written: Type | None) -> Iterator[str]:
    match type_, written:
        case Plain("json"), _:
            return
        case Struct(members), Struct(inner):
            yield from _problems(members, {one.name: one for one in inner}, f"{path}.")
        case (ListOf(item, required), ListOf(inner, of_written)) | (MapOf(item, required), MapOf(inner, of_written)):
            step = f"{path}[]" if isinstance(type_, ListOf) else f"{path}{{}}"
            yield from _type_problems(step, item, inner)
            if required and not of_written:
                yield f"{step}: it is required, and the writer's schema allows null"
        case _ if written is None or not _fits(type_, written):
            told = "something without a column" if written is None else written
            yield f"{path}: the writer's schema has {told}, which cannot become {type_}"


def _fits(type_: Type, written: Type) -> bool:
    match type_, written:
        case Plain("float64"), Plain("int64") | Decimal():
            return True
        case Decimal(precision, scale), Plain("int64"):
            return precision - scale >= _DIGITS_OF_INT64
        case Decimal(precision, scale), Decimal(other, inner):
            return scale >= inner and precision - scale >= other - inner
        case Plain("string"), Plain("date") | Timestamp() | Binary():
            return True
    return type_ == written

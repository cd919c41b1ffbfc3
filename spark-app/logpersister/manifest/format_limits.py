"""Which columns a format cannot have, although ``spec.schema`` can. Pure."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from logpersister.manifest.problems import Finding
from logpersister.manifest.types import ListOf, MapOf, Member, Struct, Type

NOT_IN_FORMAT: Final = "cannot hold the columns"
"""How every refusal begins."""
_AVRO_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_Located = tuple[str, Type]
"""The path of a field, as reasons of refusal have it, and its type."""


def format_findings(format_: str, columns: Iterable[Member]) -> Iterator[Finding]:
    """Yield what a format cannot have of these columns."""
    for path, _ in _fields(columns, ""):
        if format_ == "avro" and not _AVRO_NAME.fullmatch(path.rpartition(".")[2]):
            told = f"{NOT_IN_FORMAT}: field {path} has a name of more than letters, digits and _"
            yield Finding(told, "choose another format, or leave the field out", ("output", "format"), f'"{format_}"')


def _fields(columns: Iterable[Member], around: str) -> Iterator[_Located]:
    for one in columns:
        yield from _field(around + one.name, one.type)


def _field(path: str, type_: Type) -> Iterator[_Located]:
    yield path, type_
    yield from _inside(path, type_)


def _inside(path: str, type_: Type) -> Iterator[_Located]:
    match type_:
        case Struct(members):
            yield from _fields(members, f"{path}.")
        case ListOf(item):
            yield from _inside(f"{path}[]", item)
        case MapOf(value):
            yield from _inside(f"{path}{{}}", value)
        case _:
            pass

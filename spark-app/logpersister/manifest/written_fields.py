"""Columns of fields that no schema of writers has: they would be null in each row. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from logpersister.manifest import avro_columns
from logpersister.manifest.avro_columns import AvroTextError
from logpersister.manifest.problems import some_of
from logpersister.manifest.protobuf import columns as protobuf_columns
from logpersister.manifest.protobuf.errors import ProtobufError
from logpersister.manifest.types import ListOf, MapOf, Member, Struct, Type
from logpersister.manifest.written_column import WrittenColumn

NOT_WRITTEN: Final = "is in no schema by which values are written"
NO_FIELD_OF_KEYS: Final = "has a field that is in no schema by which keys are written"

Written = Mapping[str, Type | None]
"""Types by field; None: the field can be no column."""


@lru_cache(maxsize=64)
def fields_by(avro: str) -> Written | None:
    """Return the fields of an Avro record; None: it is none, which others tell."""
    try:
        return _types(avro_columns.columns_of(avro))
    except AvroTextError:
        return None


@lru_cache(maxsize=64)
def fields_by_message(protobuf: str, message: str | None) -> Written | None:
    """Return the fields of a message of protobuf; None: there is none, which others tell."""
    try:
        return _types(protobuf_columns.columns_of(protobuf, message))
    except ProtobufError:
        return None


def _types(columns: Sequence[WrittenColumn]) -> Written:
    """Return types of fields by name; None where a field in one is left out, so that its parts are not known."""
    return {one.name: None if any(part.is_left_out for part in one.remarks) else one.type for one in columns}


def unwritten(members: Sequence[Member], writers: Sequence[Written | None]) -> dict[str, tuple[str, str]]:
    """Return by outermost name the path of what no writer has, that field or one in it, and what to do.

    Nothing where a writer's fields are not known, or there is no writer.
    """
    known = [one for one in writers if one is not None]
    if not known or len(known) < len(writers):
        return {}
    found: dict[str, tuple[str, str]] = {}
    for path, there in _unwritten(members, known, ""):
        remedy = f"name a field that is there ({there}), or remove it" if there else "remove it: there are no fields"
        found.setdefault(path.partition(".")[0], (path, remedy))
    return found


def _unwritten(members: Sequence[Member], writers: Sequence[Written], around: str) -> Iterator[tuple[str, str]]:
    for member in members:
        types = [one[member.name] for one in writers if member.name in one]
        path = f"{around}{member.name}"
        if not types:
            yield path, _few(writers)
            continue
        inside, written = _inside(member.type), [_inside(one) for one in types]
        if isinstance(inside, Struct):
            structs = [one for one in written if isinstance(one, Struct)]
            if len(structs) == len(written):
                below = [{one.name: one.type for one in struct.members} for struct in structs]
                yield from _unwritten(inside.members, below, f"{path}.")


def _inside(type_: Type | None) -> Type | None:
    """Return what is in lists and maps."""
    while isinstance(type_, ListOf | MapOf):
        type_ = type_.item if isinstance(type_, ListOf) else type_.value
    return type_


def _few(writers: Sequence[Written]) -> str:
    return some_of(list(dict.fromkeys(name[:64] for one in writers for name in one)))

"""``spec.schema.rename``: columns, and fields in them, whose name differs from that in values. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from logpersister.manifest.constraint import Model
from logpersister.manifest.field import FieldName
from logpersister.manifest.hiding import FieldPath
from logpersister.manifest.problems import Finding, PathStep
from logpersister.manifest.types import Member, Struct

NOT_RENAMED: Final = "cannot be renamed"
"""How every refusal begins."""

Renames = Mapping[tuple[str, ...], str]
"""New names by the paths that values have."""
AnyMember = TypeVar("AnyMember", bound=Member)


class RenameSpec(Model):
    """A field that has another name in columns."""

    field: FieldPath
    """Path of the field in values, for example `phone` or `user.phone`."""

    to: FieldName
    """Its name in columns, for example `phone_number`. A field of a struct stays in it."""


def renames_of(rename: Sequence[RenameSpec]) -> Renames:
    """Return new names by paths."""
    return {tuple(one.field.split(".")): one.to for one in rename}


def renamed(members: Sequence[AnyMember], renames: Renames) -> tuple[AnyMember, ...]:
    """Return members with the names that columns have."""
    return tuple(_renamed(one, renames) for one in members) if renames else tuple(members)


def _renamed(member: AnyMember, renames: Renames) -> AnyMember:
    name, type_ = renames.get((member.name,), member.name), member.type
    inside = below(renames, member.name)
    if inside and isinstance(type_, Struct):
        type_ = Struct(renamed(type_.members, inside))
    return replace(member, name=name, type=type_)


def below(renames: Renames, name: str) -> Renames:
    """Return what is renamed inside of a field."""
    return {path[1:]: to for path, to in renames.items() if path[0] == name and len(path) > 1}


def rename_findings(rename: Sequence[RenameSpec], members: Sequence[Member]) -> Iterator[Finding]:
    """Yield what is wrong with new names of the fields of values."""
    seen: set[str] = set()
    for place, one in enumerate(rename):
        at: tuple[PathStep, ...] = ("rename", place, "field")
        if one.field in seen:
            yield Finding(f"{NOT_RENAMED} twice", "name it once", at, f'"{one.field}"')
        elif not _exists(one.field.split("."), members):
            told = f"{NOT_RENAMED}: values have no such field"
            yield Finding(told, "correct the path; fields in lists and maps keep their names", at, f'"{one.field}"')
        elif one.field.rpartition(".")[2] == one.to:
            yield Finding(f"{NOT_RENAMED}: to is the same name", "remove the entry", at, f'"{one.field}"')
        seen.add(one.field)
    for path in _twice(renamed(members, renames_of(rename)), ""):
        told = f"{NOT_RENAMED}: then two fields are {path}; case does not count"
        yield Finding(told, "choose another name", ("rename",))


def _exists(path: Sequence[str], members: Sequence[Member]) -> bool:
    name, *inside = path
    found = next((one for one in members if one.name == name), None)
    if found is None or not inside:
        return found is not None
    return isinstance(found.type, Struct) and _exists(inside, found.type.members)


def _twice(members: Sequence[Member], around: str) -> Iterator[str]:
    seen: set[str] = set()
    for one in members:
        if one.name.lower() in seen:
            yield around + one.name
        seen.add(one.name.lower())
        if isinstance(one.type, Struct):
            yield from _twice(one.type.members, f"{around}{one.name}.")

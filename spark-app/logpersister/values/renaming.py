"""``spec.value.rename``: columns, and fields in them, whose name differs from that in values. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Annotated, Final, TypeVar

from logpersister.forms.constraint import Model, Text
from logpersister.forms.problems import Finding, PathStep
from logpersister.schemas.types import Column, ListOf, MapOf, Member, Struct, Type
from logpersister.schemas.written_column import Remark, column_name, unusable_name
from logpersister.values.names import FieldName

NOT_RENAMED: Final = "cannot be renamed"

ValuePath = Annotated[
    str,
    Text(
        r"^[^\x00-\x1f\x7f]+$",
        "is not the path of a field",
        "write the name that the field has in values; of one in a struct user.phone",
        512,
    ),
]

Path = tuple[str, ...]
Renames = Mapping[Path, str]
"""New names by the paths that values have."""
AnyMember = TypeVar("AnyMember", bound=Member)


class RenameSpec(Model):
    """A field that has another name in columns."""

    field: ValuePath
    """Path of the field in values: `phone`, `user.phone`, `user agent`."""

    to: FieldName
    """Column name, for example `phone_number`. A field of a struct stays in it."""


def renames_of(rename: Sequence[RenameSpec], members: Sequence[Member]) -> Renames:
    """Return new names by paths; without those of fields that are not there."""
    found = ((path_of(one.field, members), one.to) for one in rename)
    return {path: to for path, to in found if path is not None}


def path_of(text: str, members: Sequence[Member]) -> Path | None:
    """Return the names that lead to a field, which may have dots in them; None: there is no such field."""
    if any(one.name == text for one in members):
        return (text,)
    for one in members:
        if text.startswith(f"{one.name}.") and isinstance(one.type, Struct):
            inside = path_of(text[len(one.name) + 1 :], one.type.members)
            if inside is not None:
                return (one.name, *inside)
    return None


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
    """Return the renamed fields inside of a field."""
    return {path[1:]: to for path, to in renames.items() if path[0] == name and len(path) > 1}


def usable(
    columns: Sequence[Column], rename: Sequence[RenameSpec], unused: AbstractSet[str]
) -> tuple[tuple[Column, ...], tuple[Remark, ...]]:
    """Return the columns and fields in them whose names columns can have, and why the others are left out.

    Args:
        columns: with the names that values have.
        rename: new names.
        unused: names of columns that are not stored, which may be any.
    """
    remarks: list[Remark] = []
    found = _usable(columns, renames_of(rename, columns), "", remarks, unused)
    return tuple(found), tuple(remarks)


def _usable(
    members: Sequence[AnyMember], renames: Renames, around: str, remarks: list[Remark], unused: AbstractSet[str]
) -> Iterator[AnyMember]:
    seen: set[str] = set()
    for one in members:
        if one.name in unused:
            yield one
            continue
        name, path = renames.get((one.name,), one.name), around + one.name
        problem = unusable_name(name)
        if problem is None and name.lower() in seen:
            problem = "it differs from another field in case only"
        inside = _usable_type(one.type, below(renames, one.name), path, remarks) if problem is None else None
        if inside is not None:
            seen.add(name.lower())
            yield one if inside is one.type else replace(one, type=inside)
        elif problem is None:
            remarks.append(Remark(path, "it has no fields that can be columns", is_left_out=True))
        else:
            in_list = "[]" in path or "{}" in path
            remedy = f"give it another by spec.value.rename: {{field: {path}, to: {column_name(one.name)}}}"
            told = f"{problem}; {'fields in lists and maps keep their names' if in_list else remedy}"
            remarks.append(Remark(path, told, is_left_out=True))


def _usable_type(type_: Type, renames: Renames, path: str, remarks: list[Remark]) -> Type | None:
    match type_:
        case Struct(members):
            found = tuple(_usable(members, renames, f"{path}.", remarks, frozenset()))
            return type_ if found == members else Struct(found) if found else None
        case ListOf(item, required):
            inside = _usable_type(item, {}, f"{path}[]", remarks)
            return None if inside is None else type_ if inside is item else ListOf(inside, required)
        case MapOf(value, required):
            inside = _usable_type(value, {}, f"{path}{{}}", remarks)
            return None if inside is None else type_ if inside is value else MapOf(inside, required)
    return type_


def rename_findings(rename: Sequence[RenameSpec], members: Sequence[Member]) -> Iterator[Finding]:
    """Yield what is wrong with new names of the fields of values."""
    seen: set[Path] = set()
    for place, one in enumerate(rename):
        at: tuple[PathStep, ...] = ("rename", place, "field")
        path = path_of(one.field, members)
        if path is None:
            told = f"{NOT_RENAMED}: values have no such field"
            yield Finding(told, "correct the path; fields in lists and maps keep their names", at, f'"{one.field}"')
            continue
        if path in seen:
            yield Finding(f"{NOT_RENAMED} twice", "name it once", at, f'"{one.field}"')
        elif path[-1] == one.to:
            yield Finding(f"{NOT_RENAMED}: to is the same name", "remove the entry", at, f'"{one.field}"')
        seen.add(path)
    for name in _twice(renamed(members, renames_of(rename, members)), ""):
        told = f"{NOT_RENAMED}: then two fields are {name}; case does not count"
        yield Finding(told, "choose another name", ("rename",))


def _twice(members: Sequence[Member], around: str) -> Iterator[str]:
    seen: set[str] = set()
    for one in members:
        if one.name.lower() in seen:
            yield around + one.name
        seen.add(one.name.lower())
        if isinstance(one.type, Struct):
            yield from _twice(one.type.members, f"{around}{one.name}.")

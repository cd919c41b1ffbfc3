"""Finds the column, level or field that breaks a rule, and its place in the manifest. Pure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Final

from logpersister.manifest.partition_rule import PartitionRule
from logpersister.manifest.problems import Finding, PathStep
from logpersister.manifest.renaming import path_of
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.manifest.types import ListOf, MapOf, Member, Struct, Type

ALSO_FOLDER: Final = "is also the name of a folder of output.partitionBy, and readers take both for one column"


def place_of(schema: SchemaSpec, column: str) -> tuple[PathStep, ...]:
    """Return where a column has its name from."""
    if schema.rest is not None and schema.rest.name == column:
        return ("parser", "restColumn")
    if schema.key is not None and schema.key.column == column:
        return ("schema", "key", "column")
    for index, one in enumerate(schema.rename):
        if one.to == column and len(path_of(one.field, schema.source_columns) or ()) == 1:
            return ("schema", "rename", index, "to")
    for index, field in enumerate(schema.fields or ()):
        if field.name == column:
            return ("schema", "fields", index, "name")
    return ("schema", *schema.source)


def columns_of_types(
    schema: SchemaSpec, is_wrong: Callable[[Type], bool]
) -> Iterator[tuple[tuple[PathStep, ...], str]]:
    """Yield where columns of certain types are declared, and the types as a message quotes them."""
    for index, one in enumerate(schema.declared):
        if is_wrong(one.type) and schema.fields is not None:
            yield ("schema", "fields", index, "type"), f'"{schema.fields[index].type}"'
        elif is_wrong(one.type):
            yield ("schema", *schema.source), f'"{one.name}: {one.type}"'


def columns_like_folders(schema: SchemaSpec, levels: Sequence[PartitionRule]) -> Iterator[Finding]:
    """Yield the columns that have the name of a folder such as ``dt=2026-11-21``."""
    of_levels: dict[str, int] = {}
    for index, level in enumerate(levels):
        if level.folder_prefix.endswith("="):
            of_levels.setdefault(level.folder_prefix.removesuffix("=").lower(), index)
    for one in schema.columns:
        at = of_levels.get(one.name.lower())
        if at is not None:
            remedy = f"set another prefix in spec.output.partitionBy[{at}], or leave the field out"
            yield Finding(ALSO_FOLDER, remedy, place_of(schema, one.name), f'"{one.name}"')


def no_field(path: str, schema: SchemaSpec | None) -> tuple[str, str | None]:
    """Return why there is no field at a path, and what to do where that says it."""
    if schema is None:
        return "there is no spec.schema", "declare the field in spec.schema.fields (docs/schemas.md)"
    names = path.split(".")
    if names[0] == "key" and schema.key is None and schema.type_at("key") is None:
        return "spec.schema.key is missing, so that keys become no column", "set spec.schema.key (docs/schemas.md#keys)"
    for depth in range(1, len(names)):
        around = ".".join(names[:depth])
        match schema.type_at(around):
            case ListOf():
                return f"{around} is a list, and fields in lists have no path", None
            case MapOf():
                return f"{around} is a map, and fields in maps have no path", None
            case Struct() | None:
                pass
            case found:
                return f"{around} is {found}, which has no fields in it", None
    similar = get_close_matches(path, _paths(schema.columns, ""), 1)
    return "spec.schema has no such field", f"did you mean {similar[0]}?" if similar else None


def _paths(members: Iterable[Member], around: str) -> list[str]:
    """Return the paths of fields, also in structs."""
    found: list[str] = []
    for one in members:
        found.append(around + one.name)
        if isinstance(one.type, Struct):
            found += _paths(one.type.members, f"{around}{one.name}.")
    return found

"""Checks that the fields that a schema hides exist and can be hidden. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from logpersister.forms.problems import Finding, PathStep
from logpersister.schemas.types import WHOLE, ListOf, MapOf, Plain, Type
from logpersister.values.row_schema import RowSchema

_WHOLE: Final[Sequence[Type]] = [Plain(name) for name in WHOLE]
NOT_HIDDEN: Final = "cannot be hidden"


def hiding_findings(schema: RowSchema) -> Iterator[Finding]:
    """Yield what is wrong with the fields that are not stored as they are."""
    declared = {one.name for one in schema.declared}
    for place, name in enumerate(schema.drop):
        if name not in declared:
            yield Finding(f"{NOT_HIDDEN}: there is no such column", "correct the name", ("drop", place), f'"{name}"')
    if declared and declared <= set(schema.drop):
        yield Finding(f"{NOT_HIDDEN}: no column would be left", "keep one", ("drop",))
    seen: set[str] = set()
    parsed = schema.as_parsed
    for at, path in _hidden_texts(schema):
        found = parsed.type_at(path)
        is_hash = at[0] == "hash"
        if (around := _around(parsed, path)) is not None:
            told = f"{NOT_HIDDEN}: {around}, and what is in lists and maps is stored as it is"
            yield Finding(told, "leave the field out, or take one in structs only", at, f'"{path}"')
        elif found is None:
            yield Finding(f"{NOT_HIDDEN}: spec.value has no such field", "correct the name", at, f'"{path}"')
        elif found != Plain("string") and not (is_hash and found in _WHOLE):
            wanted = "a string or a whole number" if is_hash else "a string"
            yield Finding(f"{NOT_HIDDEN}: it is not {wanted}", "make it one, or leave it out", at, f'"{path}"')
        elif path in seen:
            yield Finding(f"{NOT_HIDDEN} twice", "name it once", at, f'"{path}"')
        seen.add(path)


def _around(schema: RowSchema, path: str) -> str | None:
    """Return which list or map a field is in, or is itself; None: none."""
    names = path.split(".")
    for depth in range(1, len(names) + 1):
        found = schema.type_at(".".join(names[:depth]))
        if isinstance(found, ListOf | MapOf):
            return f"{'.'.join(names[:depth])} is {found}"
    return None


def _hidden_texts(schema: RowSchema) -> Iterator[tuple[tuple[PathStep, ...], str]]:
    for number, path in enumerate(() if schema.hash is None else schema.hash.fields):
        yield ("hash", "fields", number), path
    for place, one in enumerate(schema.mask):
        for number, path in enumerate(one.fields):
            yield ("mask", place, "fields", number), path

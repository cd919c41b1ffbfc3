"""Whether the fields that a schema hides are there, and can be hidden. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from logpersister.manifest.hiding import HashSpec, MaskSpec
from logpersister.manifest.problems import Finding, PathStep
from logpersister.manifest.types import Member, Plain, Type

NOT_HIDDEN: Final = "cannot be hidden"
"""How every refusal begins."""


class _Schema(Protocol):
    """What of a schema decides."""

    @property
    def hash(self) -> HashSpec | None: ...

    @property
    def mask(self) -> Sequence[MaskSpec]: ...

    @property
    def drop(self) -> Sequence[str]: ...

    @property
    def declared(self) -> Sequence[Member]: ...

    def type_at(self, path: str) -> Type | None: ...


def hiding_findings(schema: _Schema) -> Iterator[Finding]:
    """Yield what is wrong with the fields that are not stored as they are."""
    declared = {one.name for one in schema.declared}
    for place, name in enumerate(schema.drop):
        if name not in declared:
            yield Finding(f"{NOT_HIDDEN}: there is no such column", "correct the name", ("drop", place), f'"{name}"')
    if declared and declared <= set(schema.drop):
        yield Finding(f"{NOT_HIDDEN}: no column would be left", "keep one", ("drop",))
    seen: set[str] = set()
    for at, path in _hidden_texts(schema):
        found = schema.type_at(path)
        if found is None:
            yield Finding(f"{NOT_HIDDEN}: spec.schema has no such field", "correct the name", at, f'"{path}"')
        elif found != Plain("string"):
            yield Finding(f"{NOT_HIDDEN}: it is not a string", "make it a string, or leave it out", at, f'"{path}"')
        elif path in seen:
            yield Finding(f"{NOT_HIDDEN} twice", "name it once", at, f'"{path}"')
        seen.add(path)


def _hidden_texts(schema: _Schema) -> Iterator[tuple[tuple[PathStep, ...], str]]:
    for number, path in enumerate(() if schema.hash is None else schema.hash.fields):
        yield ("hash", "fields", number), path
    for place, one in enumerate(schema.mask):
        for number, path in enumerate(one.fields):
            yield ("mask", place, "fields", number), path

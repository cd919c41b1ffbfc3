"""Columns as a schema in the language of a kind declares them, checked. The kinds read their languages (`Source`)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from typing import ClassVar, Final

from logpersister.forms.problems import Finding, PathStep, RefusedError, refuse
from logpersister.schemas.errors import OTHER_COLUMNS, SchemaTextError
from logpersister.schemas.types import MOST_COLUMNS, Column, Plain, leaves
from logpersister.schemas.written_column import Remark, WrittenColumn
from logpersister.values.parser import Framing
from logpersister.values.renaming import RenameSpec, usable

NO_COLUMNS = "cannot be the columns"
"""How every refusal of a schema begins."""
_MOST_TOLD = 5
"""Names of messages or structs that a message lists."""
_ANY: Final = Plain("string")
"""Stands for the type of a field that becomes no column and could be none."""

_MOST_KEPT = 512
"""Schemas whose columns are kept: each type of a topic may have one."""


@dataclass(frozen=True, slots=True)
class Use:
    """What a manifest makes of the fields that a schema has."""

    unused: frozenset[str] = frozenset()
    """Names of fields that become no columns, so they may be of any type."""
    rename: tuple[RenameSpec, ...] = ()


PLAINLY: Final = Use()


@dataclass(frozen=True, slots=True)
class Declared:
    """The columns that a schema declares, with the names that values have, and what they do not hold."""

    columns: tuple[Column, ...]
    remarks: tuple[Remark, ...] = ()


class Source(ABC):
    """Schema in the manifest that declares the columns of values, in the language of their kind. Hashable."""

    at: ClassVar[str]
    """Field of the block in which the text stands."""

    @property
    def has_text(self) -> bool:
        """Whether there is a text that declares columns."""
        return True

    @abstractmethod
    def columns(self) -> Sequence[WrittenColumn]:
        """Return the columns as the text declares them. Raises `SchemaTextError`, `RefusedError`."""

    def check(self) -> None:
        """Raise the same where the text is no schema, whatever columns it can have."""
        self.columns()

    def misfits(
        self,
        columns: Callable[[], Sequence[Column]],  # noqa: ARG002  (Thrift looks)
        fields: Sequence[str],  # noqa: ARG002
    ) -> Iterator[Finding]:
        """Yield which columns values cannot become; `fields`: names of those that the block declares."""
        yield from ()

    def written_by(self, framing: Framing) -> tuple[str, ...]:  # noqa: ARG002  (Avro and protobuf look)
        """Return the texts by which values with a framing were written."""
        return ()


@lru_cache(maxsize=_MOST_KEPT)
def columns_by(source: Source, use: Use = PLAINLY) -> Declared:
    """Return the columns that a schema declares. Raises `RefusedError`."""
    with refusing():
        found = source.columns()
    return _checked(found, use)


@contextmanager
def refusing() -> Iterator[None]:
    """Raise `RefusedError` for a text that is no schema."""
    try:
        yield
    except SchemaTextError as error:
        raise refuse(f"{NO_COLUMNS}: {error}", error.remedy) from None


def findings_at(error: RefusedError, *at: PathStep, other_columns: str | None = None) -> list[Finding]:
    """Return what is wrong with a schema, told at its text unless a better place is known.

    Args:
        error: what was raised.
        at: the text.
        other_columns: what to do where the columns can be declared otherwise; None: as it says.
    """
    found = (replace(one, at=one.at or at) for one in error.findings)
    if other_columns is None:
        return list(found)
    return [replace(one, remedy=other_columns) if one.remedy.startswith(OTHER_COLUMNS) else one for one in found]


def one_of(names: Sequence[str], wanted: str | None) -> str:
    """Return which name to write instead of one that is not known."""
    close = [] if wanted is None else get_close_matches(wanted, names, 1)
    if close:
        return f"did you mean {close[0][:64]}?"
    told, more = ", ".join(one[:64] for one in names[:_MOST_TOLD]), len(names) - _MOST_TOLD
    return f"write one of: {told}" + (f" (and {more} more)" if more > 0 else "")


def _checked(found: Sequence[WrittenColumn], use: Use) -> Declared:
    """Return the columns, without the fields that cannot be any. Raises `RefusedError` where none can."""
    columns: list[Column] = []
    remarks: list[Remark] = []
    for one in found:
        remarks += () if one.name in use.unused else one.remarks
        if one.type is not None or one.name in use.unused:
            columns.append(Column(one.name, one.type or _ANY, one.required, one.default, one.aliases))
        else:
            remarks.append(Remark(one.name, one.remark, is_left_out=True))
    named, unnamed = usable(columns, use.rename, use.unused)
    left_out = [one for one in (*remarks, *unnamed) if one.is_left_out]
    if not named:
        if not left_out:
            raise refuse(f"{NO_COLUMNS}: it has no fields", "write a schema that has some")
        told = "; ".join(f"its field {one.path[:64]!r}: {one.text}" for one in left_out[:_MOST_TOLD])
        raise refuse(f"{NO_COLUMNS}: {told}", OTHER_COLUMNS)
    if sum(1 for one in named for _ in leaves(one.type)) > MOST_COLUMNS:
        raise refuse(f"{NO_COLUMNS}: it has more than {MOST_COLUMNS} columns at all depths together", OTHER_COLUMNS)
    return Declared(named, (*remarks, *unnamed))

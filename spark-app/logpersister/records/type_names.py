"""Places the records of a type: which rule of ``spec.types`` applies, and the folder of the type.

A name and its folder say the same: from the path of an object follows the rule by which it was written.
"""

from dataclasses import dataclass, field
from typing import Final, Protocol

from logpersister.manifest.blocks.event_types import MOST_NAME_BYTES, ONLY_TYPE, OTHER_TYPES, RuleFinder, TypesSpec
from logpersister.records.escaping import QUARANTINE, escape_value, own_path, unescape, unescape_value

RULES: Final = 2
"""Raise it when a record gets another type, or a type another folder, than before."""

NO_TYPE: Final = "no_type"
"""Why a record is in quarantine: it has no type, or one that cannot be the name of a folder."""
UNKNOWN_SCHEMA: Final = "unknown_schema"
"""Reason for quarantine: the registry does not know the schema whose name would be the type."""
UNKNOWN_TYPE: Final = "unknown_type"
"""Reason for quarantine: no entry of ``spec.types`` names the type."""
QUARANTINED_TYPE: Final = "quarantined_type"
"""Reason for quarantine: the entry of the type says so."""

DROPPED: Final = -1
REFUSED: Final = -2
_MOST_REMEMBERED: Final = 10_000
"""Names whose places are remembered; where types are garbage, each record may have another one."""


@dataclass(frozen=True, slots=True)
class Place:
    """Rule and folder of a type's records."""

    rule: int
    """Place in `TypesSpec.rules`, or `DROPPED` or `REFUSED`."""
    segment: str = ""
    """Name of the folder, of those that are stored."""
    reason: str | None = None
    """Why they are refused, in one word."""
    label: str = field(default=OTHER_TYPES, compare=False)
    """What counts of the type are told under."""


_NO_TYPE: Final = Place(REFUSED, reason=NO_TYPE)


class Names(Protocol):
    """Knows which types the folders of a topic stand for."""

    def folder_of(self, value: str) -> str:
        """Return the name of the folder that stands for a type, or for all types of an entry; empty: none does."""

    def value_of(self, path: str) -> str | None:
        """Return the type of a partition path, by the value of its folder; None: no folder of a type is in the path."""

    def rule_at(self, path: str) -> int | None:
        """Return the rule by which the objects of a path were written; None: no type has this path."""

    def inner(self, path: str) -> str:
        """Return a partition path as ``partitionBy`` of its type makes it, also where the records came late."""


@dataclass(frozen=True, slots=True)
class OneName:
    """The one type of a topic without ``spec.types``: its name is empty, and no folder stands for it."""

    def folder_of(self, value: str) -> str:  # noqa: ARG002 - as of other types
        return ""

    def value_of(self, path: str) -> str | None:
        return None if path == QUARANTINE else ONLY_TYPE

    def rule_at(self, path: str) -> int | None:
        return None if path == QUARANTINE else 0

    def inner(self, path: str) -> str:
        return own_path(path)


ONE_NAME: Final = OneName()


def names_of(types: TypesSpec | None) -> Names:
    """Return the names of the types of a topic; None: all its records are of one type."""
    return ONE_NAME if types is None else TypeNames(types)


@dataclass(frozen=True, slots=True)
class TypeNames:
    """The places of types."""

    types: TypesSpec
    _finder: RuleFinder = field(init=False, compare=False, repr=False)
    _known: dict[bytes | None, Place] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_finder", self.types.finder())

    def place(self, name: bytes | None) -> Place:
        """Return where the records of a type go; None: they have no type."""
        if name is not None and len(name) > MOST_NAME_BYTES:
            return _NO_TYPE  # keys and headers may be of any length, and what is remembered stays in memory
        found = self._known.get(name)
        if found is None:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            found = self._known[name] = self._place(name)
        return found

    def _place(self, name: bytes | None) -> Place:
        try:
            text = "" if name is None else name.decode()
        except UnicodeDecodeError:
            text = ""
        if not text or len(escape_value(text).encode()) > MOST_NAME_BYTES:
            return _NO_TYPE
        rule = self._finder.place(text)
        applies, label = self.types.rules[rule], self.types.label(rule, text)
        if applies.action == "drop":
            return Place(DROPPED, label=label)
        if applies.action == "quarantine":
            reason = UNKNOWN_TYPE if rule == len(self.types.entries) else QUARANTINED_TYPE
            return Place(REFUSED, reason=reason, label=label)
        folder = text if applies.folder is None else applies.folder
        if applies.folder is None and any(one.folder == text for one in self.types.rules):
            return Place(REFUSED, reason=UNKNOWN_TYPE, label=label)  # its folder is that of another rule
        return Place(rule, self.folder_of(folder), label=label)

    def folder_of(self, value: str) -> str:
        return self.types.prefix + escape_value(value)

    def value_of(self, path: str) -> str | None:
        """Return the type of a partition path; folders of releases that escaped what is not ASCII are known, too."""
        segment = own_path(path).split("/", 1)[0]
        if not segment.startswith(self.types.prefix):
            return None
        value = segment.removeprefix(self.types.prefix)
        return unescape_value(value) or unescape(value)

    def inner(self, path: str) -> str:
        return own_path(path).partition("/")[2]

    def rule_at(self, path: str) -> int | None:
        name = self.value_of(path)
        if name is None:
            return None
        for rule, applies in enumerate(self.types.rules):
            if applies.folder == name:
                return rule
        return self._finder.place(name)

"""``spec.types``: topics that mix records of many types, each with values and a format of its own."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Self
from urllib.parse import quote

from pydantic import Field

from logpersister.forms.constraint import Flag, Model, Text, Unique, must
from logpersister.forms.linear_pattern import Patterns, check_linear
from logpersister.forms.pattern import size_of
from logpersister.forms.problems import Finding, PathStep
from logpersister.forms.rule import exactly_one, refuses
from logpersister.manifest.blocks.keep import Conditions
from logpersister.manifest.blocks.output import OutputSpec
from logpersister.manifest.blocks.partition_rule import ValuePrefix
from logpersister.manifest.blocks.type_place import TypePlace
from logpersister.values.key import KeySpec
from logpersister.values.value import ValueSpec

MOST_ENTRIES: Final = 256
MOST_NAME_BYTES: Final = 100
"""Longest type name as folders have it: in UTF-8, with three bytes for each sign of ASCII that is escaped."""
LARGEST_PATTERNS: Final = 10_000
"""Characters and classes of all patterns together, repeated ones counted so often. So many take up to 40 MiB when they
are compiled; 100 patterns, each within its own limit, took 1 GB."""

ONLY_TYPE: Final = ""
"""Name of the type that all records of a topic without ``spec.types`` have."""
OTHER_TYPES: Final = "other"
"""What counts of types are told under that no entry names, and of records without a type."""
MOST_LABEL: Final = 100
"""Characters of a pattern as counts are told under it."""

Action = Literal["store", "quarantine", "drop"]


def segment_bytes(name: str) -> int:
    """Return the length of a name in the name of a folder (`records.escaping`)."""
    kept = "".join(sign for sign in name if sign >= "\u00a0")
    escaped = quote("".join(sign for sign in name if sign < "\u00a0"), safe="").replace("~", "%7E")
    return len(escaped) + len(kept.encode(errors="surrogatepass"))


TypeName = Annotated[
    str,
    Text(
        r"^[^\x00-\x1f\x7f]+$",
        "is empty or has a control character",
        "write the name that the type has in records",
        MOST_NAME_BYTES,
        conditions=(
            must(
                lambda name: segment_bytes(name) <= MOST_NAME_BYTES,
                f"takes more than {MOST_NAME_BYTES} bytes in the name of a folder, where a letter outside of ASCII"
                " takes two to four",
                "write a shorter name",
            ),
        ),
    ),
]
TypePattern = Annotated[
    str,
    Text(
        r"^[^\r\n]+$",
        "is empty or has a line break",
        "write a regular expression such as ^audit[.]",
        1000,
        conditions=(check_linear,),
    ),
]


class TypeRule(Model):
    """What becomes of the records of some types."""

    action: Action = "store"
    """`store`: the records are parsed and stored. `quarantine`: they are stored unparsed, in the topic's folder
    `_quarantine`. `drop`: they are counted and not stored."""

    folder: TypeName | None = None
    """Value of the folder, which all types of the entry share. Default: the type's name."""

    value: ValueSpec | None = None
    """Replaces `spec.value`, except for its registry, its `singleObject`, or the schema of its `message`, where it has
    none of its own.
    """

    key: KeySpec | None = None
    """Replaces `spec.key` as a whole."""

    output: OutputSpec | None = None
    """Replaces `spec.output`; its folders stand below that of the type."""

    keep: Conditions = ()
    """Conditions besides those of `spec.keep`."""

    table: Flag = True
    """Whether its types have tables, with `spec.table` and format `parquet`."""

    @property
    def blocks(self) -> frozenset[PathStep]:
        """The blocks of the spec that it replaces."""
        set_here = {"value": self.value, "key": self.key, "output": self.output, "keep": self.keep or None}
        return frozenset(name for name, block in set_here.items() if block is not None)

    @refuses
    def _what_is_not_stored_has_no_shape(self) -> Iterator[Finding]:
        if self.action != "store" and (self.blocks or self.folder is not None):
            told = "has a value, a key, an output, a folder or conditions, but its records are not stored"
            yield Finding(told, "remove these, or set action to store", ("action",), f'"{self.action}"')


class TypeEntry(TypeRule):
    """What becomes of the records of types that are named."""

    names: Annotated[tuple[TypeName, ...], Field(min_length=1, max_length=100), Unique()] | None = None
    """Types by name. Exactly one of `names` and `pattern` is needed."""

    pattern: TypePattern | None = None
    """Types by regular expression, found anywhere in the name unless anchored with ^ and $."""

    @property
    def labels(self) -> Sequence[str]:
        """What counts are told under: each of its types, or all types of its pattern."""
        return self.names or (_pattern_label(self.pattern or ""),)

    _types_are_named_in_one_way = exactly_one("names", "pattern")


class OtherTypes(Model):
    """What becomes of the records of types that no entry names."""

    action: Action = "quarantine"
    """`store`: by the values and the output of the topic, each type in a folder of its own name. Otherwise as in
    `entries`.
    """


class TypesSpec(TypePlace):
    """How the type of a record is found, and what becomes of each."""

    prefix: ValuePrefix = "type="
    """Text before the type in the name of its folder."""

    entries: Annotated[tuple[TypeEntry, ...], Field(min_length=1, max_length=MOST_ENTRIES)]
    """The types; the first entry that names a type applies."""

    others: OtherTypes = OtherTypes()
    """Types that no entry names."""

    @property
    def rules(self) -> Sequence[TypeRule]:
        """The entries, and last the others."""
        return *self.entries, TypeRule(action=self.others.action)

    def with_conditions(self, rule: int, keep: Conditions) -> Self:
        """Return a copy with other conditions for the records of an entry, by its place."""
        changed = self.entries[rule].model_copy(update={"keep": keep})
        return self.model_copy(update={"entries": (*self.entries[:rule], changed, *self.entries[rule + 1 :])})

    @property
    def labels(self) -> frozenset[str]:
        """What counts are told under, whatever types producers write."""
        return frozenset([OTHER_TYPES, *(label for one in self.entries for label in one.labels)])

    def label(self, rule: int, name: str) -> str:
        """Return what counts of a type are told under, to which a rule applies."""
        if rule == len(self.entries):
            return OTHER_TYPES
        of_entry = self.entries[rule].labels
        return name if self.entries[rule].pattern is None else of_entry[0]

    def finder(self) -> "RuleFinder":
        return RuleFinder.of(self.entries)

    @refuses
    def _each_type_is_of_one_entry(self) -> Iterator[Finding]:
        if sum(size_of(one.pattern) for one in self.entries if one.pattern is not None) > LARGEST_PATTERNS:
            told = f"has patterns of more than {LARGEST_PATTERNS:,} characters and classes together"
            remedy = "repeat less in them, or name types by names (docs/types.md#what-becomes-of-a-type)"
            yield Finding(f"{told}, which take too much memory", remedy, ("entries",))
            return  # they would be compiled here
        finder = self.finder()
        for place, one in enumerate(self.entries):
            for number, name in enumerate(one.names or ()):
                at, before = ("entries", place, "names", number), finder.place(name)
                if before < place:
                    told = f"is already named by spec.types.entries[{before}], and the first entry applies"
                    yield Finding(told, "put this entry first, or remove the name here", at)
                if self.frame is not None and re.fullmatch("0|-?[1-9][0-9]*", name, re.ASCII) is None:
                    told = "is not a whole number, but types of frames are"
                    yield Finding(told, "write it as in frames, for example 1001; folder can give it a name", at)

    @refuses
    def _folders_differ(self) -> Iterator[Finding]:
        """Each folder has objects of one entry only: they have one format, and one name for each range."""
        of_types = [(n, one) for n, one in enumerate(self.entries) if one.action == "store" and one.folder is None]
        taken = {name: place for place, one in of_types for name in _names(one)}
        for place, one in enumerate(self.entries):
            before = place if one.folder is None else taken.setdefault(one.folder, place)
            if before != place:
                told = f"is the folder of spec.types.entries[{before}]"
                yield Finding(told, "name another folder", ("entries", place, "folder"))


@dataclass(frozen=True, slots=True)
class RuleFinder:
    """Finds the first entry that names a type."""

    names: Mapping[str, int]
    """Place of the first entry by each name."""
    patterns: Patterns
    places: Sequence[int]
    """Index of the entry per pattern."""
    others: int

    @classmethod
    def of(cls, entries: Sequence[TypeEntry]) -> Self:
        """Take all entries in their order."""
        names: dict[str, int] = {}
        for place, one in enumerate(entries):
            for name in one.names or ():
                names.setdefault(name, place)
        by_pattern = {place: one.pattern for place, one in enumerate(entries) if one.pattern is not None}
        return cls(names, Patterns.of(list(by_pattern.values())), list(by_pattern), len(entries))

    def place(self, name: str) -> int:
        """Return the place in `TypesSpec.rules` of what applies to a type."""
        matched = self.patterns.first(name)
        by_pattern = self.others if matched is None else self.places[matched]
        return min(by_pattern, self.names.get(name, self.others))


def _pattern_label(pattern: str) -> str:
    label = f"/{pattern}/"
    return label if len(label) <= MOST_LABEL else f"{label[: MOST_LABEL - 1]}…"


def _names(one: TypeRule) -> Sequence[str]:
    return (one.names or ()) if isinstance(one, TypeEntry) else ()

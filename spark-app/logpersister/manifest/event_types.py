"""``spec.types``: topics that mix records of many types, each with a parser, a schema and a format of its own."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Self
from urllib.parse import quote

from pydantic import Field

from logpersister.manifest.constraint import Condition, Flag, Model, Text, Unique
from logpersister.manifest.keep import Conditions
from logpersister.manifest.linear_pattern import Patterns, is_linear_pattern
from logpersister.manifest.output import OutputSpec
from logpersister.manifest.parser import ParserSpec
from logpersister.manifest.partition_rule import ValuePrefix
from logpersister.manifest.pattern import NO_PATTERN, PATTERN_REMEDY, size_of
from logpersister.manifest.problems import Finding, PathStep
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.manifest.rule import NotInCel, rule
from logpersister.manifest.shares import Percent
from logpersister.manifest.type_place import TypePlace

MOST_ENTRIES: Final = 256
MOST_NAME_BYTES: Final = 100
"""Longest type name as folders have it: in UTF-8, with three bytes for each sign of ASCII that is escaped."""
LARGEST_PATTERNS: Final = 10_000
"""Characters and classes of all patterns together, repeated ones counted so often. So many take up to 40 MiB when they
are compiled; 100 patterns, each within its own limit, took 1 GB."""

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
            Condition(
                NotInCel("CEL cannot count the bytes of a text"),
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
        conditions=(
            Condition(NotInCel("patterns nest, and patterns do not"), is_linear_pattern, NO_PATTERN, PATTERN_REMEDY),
        ),
    ),
]


class TypeRule(Model):
    """What becomes of the records of some types."""

    action: Action = "store"
    """`store`: the records are parsed and stored. `quarantine`: they are stored unparsed, in the topic's folder
    `_quarantine`. `drop`: they are counted and not stored."""

    folder: TypeName | None = None
    """Value of the folder, which all types of the entry share. Default: the type's name."""

    parser: ParserSpec | None = None
    """Replaces `spec.parser`, and `spec.schema` by none unless the entry has a schema."""

    row_schema: SchemaSpec | None = Field(default=None, alias="schema")
    """Replaces `spec.schema`, except for its registry, or text of the `message`, where it has none."""

    output: OutputSpec | None = None
    """Replaces `spec.output`; its folders stand below that of the type."""

    keep: Conditions = ()
    """Conditions besides those of `spec.keep`."""

    table: Flag = True
    """Whether its types have tables, with `spec.table` and format `parquet`."""

    @property
    def blocks(self) -> frozenset[PathStep]:
        """The blocks of the spec that it replaces; a parser replaces the schema, too, by none."""
        set_here = {
            "parser": self.parser,
            "schema": self.row_schema,
            "output": self.output,
            "keep": self.keep or None,
        }
        return frozenset(name for name, block in set_here.items() if block is not None)

    @rule(
        "!has(self.parser) && !has(self.schema) && !has(self.output) && !has(self.folder) && !has(self.keep)"
        " || $action == 'store'",
        "has a parser, a schema, an output, a folder or conditions, but its records are not stored",
        "remove these, or set action to store",
        "action",
    )
    def _what_is_not_stored_has_no_shape(self) -> bool:
        return self.action == "store" or (not self.blocks and self.folder is None)


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

    @rule(
        "has(self.names) != has(self.pattern)",
        "is not exactly one of names and pattern",
        "name the types in one way",
    )
    def _types_are_named_in_one_way(self) -> bool:
        return (self.names is None) != (self.pattern is None)


class OtherTypes(TypeRule):
    """What becomes of the records of types that no entry names."""

    action: Action = "quarantine"
    """What becomes of these records, as in `entries`."""


class TypesSpec(TypePlace):
    """How the type of a record is found, and what becomes of each."""

    prefix: ValuePrefix = "type="
    """Text before the type in the name of its folder, which is the outermost one below the topic."""

    entries: Annotated[tuple[TypeEntry, ...], Field(min_length=1, max_length=MOST_ENTRIES)]
    """The types. The first entry that names a type applies, and no other. What it does not set, the topic sets."""

    others: OtherTypes = OtherTypes()
    """Types that no entry names. Fields as in `entries`, but for `names` and `pattern`."""

    hold_above: Annotated[int, Percent("100%")] | None = None
    """As `spec.parser.quarantine.holdAbove`, whose place it takes."""

    @property
    def rules(self) -> Sequence[TypeRule]:
        """The entries, and last the others."""
        return *self.entries, self.others

    def with_conditions(self, rule: int, keep: Conditions) -> Self:
        """Return a copy with other conditions for the records of a rule, by its place."""
        changed = self.rules[rule].model_copy(update={"keep": keep})
        if rule == len(self.entries):
            return self.model_copy(update={"others": changed})
        return self.model_copy(update={"entries": (*self.entries[:rule], changed, *self.entries[rule + 1 :])})

    @property
    def _size_of_patterns(self) -> int:
        return sum(size_of(one.pattern) for one in self.entries if one.pattern is not None)

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

    @rule(
        NotInCel("it would have to understand the patterns"),
        f"has patterns of more than {LARGEST_PATTERNS:,} characters and classes together, which take too much memory",
        "repeat less in them, or name types by names (docs/types.md#what-becomes-of-a-type)",
        "entries",
    )
    def _patterns_are_small(self) -> bool:
        return self._size_of_patterns <= LARGEST_PATTERNS

    @rule(
        NotInCel("comparing so many names costs more than the API server allows"),
        "names types that an earlier entry has",
        "remove the repetition",
        "entries",
    )
    def _names_differ(self) -> Sequence[Finding]:
        if self._size_of_patterns > LARGEST_PATTERNS:
            return []  # they would be compiled here
        found: list[Finding] = []
        finder = self.finder()
        for place, one in enumerate(self.entries):
            for number, name in enumerate(one.names or ()):
                before = finder.place(name)
                if before < place:
                    told = f"is already named by spec.types.entries[{before}], and the first entry applies"
                    at: tuple[PathStep, ...] = ("entries", place, "names", number)
                    found.append(Finding(told, "put this entry first, or remove the name here", at, f'"{name}"'))
        return found

    @rule(
        NotInCel("comparing so many names costs more than the API server allows"),
        "is the folder of another entry",
        "name another folder",
        "entries",
    )
    def _folders_differ(self) -> Sequence[Finding]:
        """Each folder has objects of one entry only: they have one format, and one name for each range."""
        found: list[Finding] = []
        taken = {name: place for place, one in enumerate(self.rules) if _has_own_folders(one) for name in _names(one)}
        for place, one in enumerate(self.rules):
            if one.folder is None:
                continue
            before = taken.setdefault(one.folder, place)
            if before != place:
                at: tuple[PathStep, ...] = ("others",) if place == len(self.entries) else ("entries", place)
                told = f"is the folder of spec.types.entries[{before}]"
                found.append(Finding(told, "name another folder", (*at, "folder"), f'"{one.folder}"'))
        return found

    @rule(
        NotInCel("CEL would have to look at every name"),
        "is not a whole number, but types of frames are",
        "write it as in frames, for example 1001",
        "entries",
    )
    def _types_of_frames_are_numbers(self) -> Sequence[Finding]:
        if self.frame is None:
            return []
        return [
            Finding(
                "is not a whole number, but types of frames are",
                "write it as in frames, for example 1001; folder can give it a name",
                ("entries", place, "names", number),
                f'"{name}"',
            )
            for place, one in enumerate(self.entries)
            for number, name in enumerate(one.names or ())
            if re.fullmatch("0|-?[1-9][0-9]*", name, re.ASCII) is None
        ]


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


def _has_own_folders(one: TypeRule) -> bool:
    return one.action == "store" and one.folder is None


def _names(one: TypeRule) -> Sequence[str]:
    return (one.names or ()) if isinstance(one, TypeEntry) else ()

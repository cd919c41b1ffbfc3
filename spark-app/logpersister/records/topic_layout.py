"""Layout of a topic: the type of each record, and the parser and partition paths of each type.

A topic without ``spec.types`` is a topic of one type: no record is asked for its type, and no folder stands for it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from logpersister.manifest.blocks.event_types import TypesSpec
from logpersister.manifest.blocks.frame import FrameSpec
from logpersister.manifest.blocks.keep import field_conditions
from logpersister.manifest.spec import Spec
from logpersister.records.escaping import QUARANTINE
from logpersister.records.event_types import ONE_TYPE, FindTypes, Indices, OneType, TypeFinder
from logpersister.records.frames import FrameBodies
from logpersister.records.keeping import Headers, HeaderTests
from logpersister.records.late import Places
from logpersister.records.left_out import RefusingFinder
from logpersister.records.message_types import MessageTypes
from logpersister.records.paths import Assignment
from logpersister.records.record_times import RecordTimes
from logpersister.records.schema_names import SchemaNameFinder
from logpersister.records.type_layout import Bodies, TypeLayout, layout_of, make_parser
from logpersister.records.type_names import TypeNames
from logpersister.values.parser import Parsing
from logpersister.values.reading.parsers import Parser
from logpersister.values.reading.writers import Writers, for_framing
from logpersister.values.row_schema import RowSchema
from logpersister.values.value import ANY_BYTES

WritersOf = Callable[[Spec], Writers | None]
"""Returns by which schemas values of a spec were written; None: its parser needs none."""


@dataclass(frozen=True, slots=True)
class TopicLayout:
    """Gives each record a rule by its type, and then the path that the rule gives. Picklable."""

    rules: Sequence[TypeLayout]
    """Layouts, indexed by `Place.rule`."""
    finder: FindTypes = ONE_TYPE
    headers: Headers | None = None
    """Tells the records that are kept, before types are found; None: all are."""
    lateness: Places | None = None
    """Places late records by the folder of their type; None: none is late."""
    finds_ids_once: bool = False
    """Whether headers of records may name schemas, which both `finder` and parsers ask for."""

    @classmethod
    def of_one_type(cls, layout: TypeLayout) -> Self:
        """Return the layout of a topic whose records are all placed by one layout."""
        return cls((layout,))

    @property
    def has_types(self) -> bool:
        """Whether records are split by their types before they are parsed."""
        return not isinstance(self.finder, OneType)

    def with_lateness(self, lateness: Places | None) -> Self:
        """Return a layout for a range whose late records go elsewhere; None: none is late, or it does not matter."""
        return self if lateness is None else replace(self, lateness=lateness)

    def refusing_left_out(self) -> Self:
        """Return a layout that refuses what this one leaves out, so that it stays in quarantine."""
        rules = [replace(rule, refuses_left_out=True) for rule in self.rules]
        if not self.has_types:
            return replace(self, rules=rules)
        return replace(self, finder=RefusingFinder(self.finder, self.headers), rules=rules, headers=None)


def layout_for(spec: Spec, writers_of: WritersOf, used: Callable[[Spec], Spec] = lambda spec: spec) -> TopicLayout:
    """Return how a spec, its overrides aside, spreads records over partition paths.

    `used`: returns what of a spec, or of that of a type, layouts are made of.
    """
    types = spec.types
    if types is None:
        return TopicLayout([_of_type(used(spec), None, writers_of)])
    finder, bodies = _found_by(types, spec, writers_of)
    heads = _heads(types, spec, writers_of)
    rules = [_of_type(used(one), types.frame, writers_of, heads, bodies) for one in spec.of_types()]
    return TopicLayout(rules, finder, HeaderTests.of(spec.keep), finds_ids_once=spec.parser.framing == "confluent")


def _of_type(
    spec: Spec,
    frame: FrameSpec | None,
    writers_of: WritersOf,
    heads: Parser | None = None,
    bodies: Bodies | None = None,
) -> TypeLayout:
    layout = layout_of(spec.output, spec.parser, spec.row_schema, writers_of(spec), heads, spec.keep)
    return replace(layout, bodies=bodies, times=RecordTimes.of(spec.output.partition_by, frame))


def judging_for(spec: Spec, writers_of: WritersOf) -> TopicLayout:
    """Return a layout that tells only which records a spec leaves out: it has no folders, and asks for no key."""
    return layout_for(spec, writers_of, _judging)


def _judging(spec: Spec) -> Spec:
    output = spec.output.model_copy(update={"partition_by": ()})
    if not field_conditions(spec.keep):
        return spec.model_copy(update={"output": output, "value": ANY_BYTES})
    return spec.model_copy(update={"output": output, "value": spec.value.model_copy(update={"hash": None})})


def _heads(types: TypesSpec, spec: Spec, writers_of: WritersOf) -> Parser | None:
    """Return what makes rows of what stands around the values of types; None: they have no column of it."""
    if types.column_of_values is not None:
        return make_parser(spec.parser, spec.row_schema.without_key, writers_of(spec))
    header = None if types.frame is None else types.frame.header
    if header is None or header.row_schema is None:
        return None
    schema = RowSchema(source=header.row_schema.source)
    return make_parser(Parsing(type="protobuf", framing="plain"), schema)


def _found_by(types: TypesSpec, spec: Spec, writers_of: WritersOf) -> tuple[FindTypes, Bodies | None]:
    """Return what finds the types of a topic, and what gives parsers parts of values; None: they get values."""
    names = TypeNames(types)
    if types.is_in_messages:
        of_messages = MessageTypes(names, spec.parser, spec.row_schema, writers_of(spec))
        return of_messages, of_messages if types.hands_parts else None
    if types.schema_name is None:
        bodies = None if types.frame is None else FrameBodies(types.frame)
        return TypeFinder(names, spec.parser.framing_of_documents), bodies
    registry = spec.row_schema.registry
    writers = for_framing(writers_of(spec), spec.parser.framing, None if registry is None else registry.subject)
    return SchemaNameFinder(names, spec.parser, spec.row_schema, writers), None


def in_folders_of_types(assignment: Assignment, folders: Sequence[str], of_rows: Indices) -> Assignment:
    """Return an assignment with the folder of its type before each path, apart from quarantine.

    Args:
        assignment: of records of one rule.
        folders: of types.
        of_rows: row ``i`` is of the type whose folder is ``folders[of_rows[i]]``.
    """
    if folders == [""]:  # of a topic without types
        return assignment
    inner = assignment.paths[:-1] if assignment.refused is not None else assignment.paths
    if len(of_rows) and (of_rows == of_rows[0]).all():
        paths = [f"{folders[of_rows[0]]}/{path}".removesuffix("/") for path in inner]
        return replace(assignment, paths=[*paths, *assignment.paths[len(inner) :]])
    width = len(assignment.paths)
    pairs, indices = np.unique(of_rows.astype(np.int64) * width + assignment.indices, return_inverse=True)
    numbers: dict[str, int] = {}
    table = np.zeros(len(pairs), np.int32)
    last = [place for place, pair in enumerate(pairs.tolist()) if pair % width >= len(inner)]
    for place, pair in enumerate(pairs.tolist()):
        if pair % width < len(inner):
            path = f"{folders[pair // width]}/{inner[pair % width]}".removesuffix("/")
            table[place] = numbers.setdefault(path, len(numbers))
    table[last] = len(numbers)
    return replace(assignment, paths=[*numbers, QUARANTINE] if last else [*numbers], indices=table[indices])

"""How a revision spreads records over partition paths, where each type has a parser and folders of its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from logpersister.manifest.event_types import TypesSpec
from logpersister.manifest.parser import ParserSpec
from logpersister.manifest.spec import Spec
from logpersister.records.columns import most_rows
from logpersister.records.escaping import QUARANTINE
from logpersister.records.event_types import FindTypes, Indices, TypeFinder
from logpersister.records.frames import FrameLayout
from logpersister.records.paths import Assignment, Layout
from logpersister.records.quarantine import layout_of
from logpersister.records.schema_names import SchemaNameFinder
from logpersister.records.type_names import TypeNames
from logpersister.records.writers import Writers

WritersOf = Callable[[Spec], Writers | None]
"""Returns by which schemas values of a spec were written; None: its parser needs none."""


@dataclass(frozen=True, slots=True)
class RuleLayout:
    """Of the records of one rule of ``spec.types``."""

    layout: Layout
    """Their paths below the folder of their type."""
    most_rows: int | None = None
    """How many may be made rows of at once; None: any number."""


@dataclass(frozen=True, slots=True)
class TypedLayout:
    """Gives each record a rule by its type, and then the path that the rule gives."""

    finder: FindTypes
    rules: Sequence[RuleLayout]
    """By `Place.rule`."""


AnyLayout = Layout | TypedLayout


def layout_for(spec: Spec, writers_of: WritersOf) -> AnyLayout:
    """Return how a spec, its overrides aside, spreads records over partition paths."""
    if spec.types is None:
        return layout_of(spec.output, spec.parser, spec.row_schema, writers_of(spec))
    types, frame = spec.types, spec.types.frame
    rules: list[RuleLayout] = []
    for one in spec.of_types():
        layout = layout_of(one.output, one.parser, one.row_schema, writers_of(one))
        rows = None if one.row_schema is None else most_rows(one.row_schema)
        rules.append(RuleLayout(layout if frame is None else FrameLayout(frame, layout), rows))
    return TypedLayout(_finder(types, spec.parser, writers_of(spec)), rules)


def _finder(types: TypesSpec, parser: ParserSpec, writers: Writers | None) -> FindTypes:
    names = TypeNames(types)
    if types.schema_name is None:
        return TypeFinder(names)
    if writers is None:
        raise ValueError("names of schemas need the schemas of writers")
    return SchemaNameFinder(names, parser, writers)


def most_rows_of(spec: Spec) -> int | None:
    """Return how many records of a spec are written at once; None: any number, or those of types are cut when split."""
    return None if spec.types is not None or spec.row_schema is None else most_rows(spec.row_schema)


def in_folders_of_types(assignment: Assignment, folders: Sequence[str], of_rows: Indices) -> Assignment:
    """Return an assignment with the folder of its type before each path, apart from quarantine.

    Args:
        assignment: of records of one rule.
        folders: of types.
        of_rows: row ``i`` is of the type whose folder is ``folders[of_rows[i]]``.
    """
    inner = assignment.paths[:-1] if assignment.refused is not None else assignment.paths
    width = len(assignment.paths)
    pairs, indices = np.unique(of_rows.astype(np.int64) * width + assignment.indices, return_inverse=True)
    paths: dict[str, int] = {}
    table = np.zeros(len(pairs), np.int32)
    last = [place for place, pair in enumerate(pairs.tolist()) if pair % width >= len(inner)]
    for place, pair in enumerate(pairs.tolist()):
        if pair % width < len(inner):
            path = f"{folders[pair // width]}/{inner[pair % width]}".removesuffix("/")
            table[place] = paths.setdefault(path, len(paths))
    table[last] = len(paths)
    return replace(assignment, paths=[*paths, QUARANTINE] if last else [*paths], indices=table[indices])

"""How a revision writes records, as far as a verification has to know."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from logpersister.manifest.event_types import TypesSpec
from logpersister.manifest.finish import Late
from logpersister.manifest.keep import Condition
from logpersister.manifest.output import OutputSpec
from logpersister.manifest.parser import ParserSpec
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.manifest.spec import Spec
from logpersister.records.columns import portion_of
from logpersister.records.keeping import HeaderLayout
from logpersister.records.paths import Layout, make_layout
from logpersister.records.quarantine import QuarantineLayout, WithoutRefusedValues, layout_of
from logpersister.records.type_names import TypeNames
from logpersister.records.typed import AnyLayout, RuleLayout, TypedLayout, WritersOf, with_lateness
from logpersister.records.writers import Writers
from tests.judges.event_types import Bodies, BodyOracle, FrameBodies, TimedFolders, TypeOracle
from tests.judges.folders import FolderOracle
from tests.judges.hiding import hiding
from tests.judges.keeping import HeaderOracle, keeping
from tests.judges.keyed_rows import keyed
from tests.judges.late import LateOracle, Levels
from tests.judges.message_types import MessageTypeOracle
from tests.judges.oracles import oracle_of
from tests.judges.renaming import renaming
from tests.judges.rows import Oracle
from tests.judges.schema_names import SchemaNameOracle


@dataclass(frozen=True, slots=True)
class Writing:
    """How a revision writes records."""

    output: OutputSpec
    parser: ParserSpec
    schema: SchemaSpec | None = None
    other_rules: str = ""
    """Who wrote by other rules than ours, and by which: then what differs proves nothing. Empty: nobody."""
    writers: Writers | None = None
    """By which schemas values were written that name them."""
    bodies: Bodies | None = None
    """Of which part of values rows are made; None: of the whole."""
    heads: Oracle | None = None
    """What makes rows of what stands around this part."""
    types: "TypesWriting | None" = None
    """How the records of types are written, where each has a way of its own."""
    keep: Sequence[Condition] = ()
    """What records must fulfil; beside types, before these are found."""
    late: Late = "append"
    """Where records go that come when their folder is finished."""

    @classmethod
    def of(cls, spec: Spec, other_rules: str, writers_of: WritersOf) -> Self:
        """Return how a spec, its overrides aside, writes records."""
        if spec.types is None:
            return cls(
                spec.output,
                spec.parser,
                spec.row_schema,
                other_rules,
                writers_of(spec),
                keep=spec.keep,
                late=spec.late,
            )
        of_values, bodies = _found_by(spec.types, spec, writers_of)
        heads = _heads(spec.types, spec, writers_of)
        of_types = [cls.of(one, other_rules, writers_of) for one in spec.of_types()]
        rules = [replace(one, bodies=bodies, heads=heads) for one in of_types]
        types = TypesWriting(TypeNames(spec.types), tuple(rules), of_values)
        return cls(spec.output, spec.parser, spec.row_schema, other_rules, types=types, keep=spec.keep, late=spec.late)

    def at(self, path: str) -> "Writing":
        """Return how objects of a path are written."""
        rule = None if self.types is None else self.types.names.rule_at(path)
        return self if rule is None or self.types is None else self.types.rules[rule]

    @property
    def oracle(self) -> Oracle | None:
        """What makes rows of values, as they are stored; None: nothing does. Raises ManifestError without its key."""
        if self.schema is None:
            return None
        return hiding(keeping(self._rows_of, self.schema.as_parsed, self.keep), self.schema)

    def _rows_of(self, schema: SchemaSpec) -> Oracle:
        found = keyed(_of_values(self.parser, schema, self.writers), schema, self.writers)
        return found if self.bodies is None else BodyOracle(schema, self.bodies, found, self.heads)

    def layout_at(self, horizon: int | None) -> AnyLayout:
        """Return in which path each record belongs, in a range with a horizon."""
        layout = self.layout
        if horizon is not None and self.late != "append":
            layout = with_lateness(layout, LateOracle(self._levels_at, self.late, horizon))
        return layout

    def _levels_at(self, path: str) -> Levels:
        segments = path.split("/") if path else []
        return segments if self.types is None else segments[1:], self.at(path).output.partition_by

    @property
    def layout(self) -> AnyLayout:
        """In which path each record belongs that is not late."""
        if self.types is None:
            return self.plain_layout
        rules = [RuleLayout(one.plain_layout, portion_of(one.parser, one.schema)) for one in self.types.rules]
        finder = TypeOracle(self.types.names.types, self.types.of_values, self.parser.framing_of_documents)
        return TypedLayout(finder, rules, HeaderOracle.of(self.keep))

    @property
    def plain_layout(self) -> Layout:
        """The same as `layout`, types aside."""
        inner = self._layout_of_values
        return self._with_headers(inner if self.bodies is None else TimedFolders(self.bodies, inner))

    def _with_headers(self, layout: Layout) -> Layout:
        headers = HeaderOracle.of(self.keep)
        return layout if headers is None else HeaderLayout(headers, layout)

    @property
    def _layout_of_values(self) -> Layout:
        oracle = self.oracle
        if oracle is None:
            return layout_of(self.output, self.parser, None)
        layout: Layout = (
            FolderOracle(self.output.partition_by, oracle)
            if self.output.partitions_by_fields
            else QuarantineLayout(oracle, make_layout(self.output.partition_by))
        )
        hides = self.schema is not None and bool(self.schema.hidden)
        return layout if self.parser.keeps_refused_values(hides=hides) else WithoutRefusedValues(layout)


@dataclass(frozen=True, slots=True)
class TypesWriting:
    """How the records of types are written."""

    names: TypeNames
    """Made once, because it compiles patterns."""
    rules: Sequence[Writing]
    """By the place of the rule."""
    of_values: SchemaNameOracle | MessageTypeOracle | None = None
    """Where types are names of schemas, or in messages of protobuf."""


def _of_values(parser: ParserSpec, schema: SchemaSpec, writers: Writers | None) -> Oracle:
    """Return what makes rows of values, without keys."""
    return renaming(oracle_of(parser, schema.as_written, writers), schema)


def _heads(types: TypesSpec, spec: Spec, writers_of: WritersOf) -> Oracle | None:
    """Return what makes rows of what stands around the values of types; None: nothing does."""
    header = None if types.frame is None else types.frame.header
    if header is not None and header.row_schema is not None:
        schema = SchemaSpec(protobuf=header.row_schema.protobuf, message=header.row_schema.message)
        return oracle_of(ParserSpec(type="protobuf", framing="plain"), schema, None)
    if types.column_of_values is None or spec.row_schema is None:
        return None
    writers = None if spec.parser.framing == "plain" else writers_of(spec)
    return _of_values(spec.parser, spec.row_schema, writers)


def _found_by(
    types: TypesSpec, spec: Spec, writers_of: WritersOf
) -> tuple[SchemaNameOracle | MessageTypeOracle | None, Bodies | None]:
    """Return what finds types in values of which more must be known, and what gives rows parts of values."""
    if types.is_in_messages:
        found = MessageTypeOracle(types, spec.parser, spec.row_schema, writers_of(spec))
        return found, found if types.hands_parts else None
    if types.schema_name is not None:
        return SchemaNameOracle(spec.parser, spec.row_schema, writers_of(spec)), None
    return None, None if types.frame is None else FrameBodies(types.frame)

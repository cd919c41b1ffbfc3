"""``spec`` of the resource: what the user wants, and which of its sections contradict each other."""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field

from logpersister.manifest.accounts import ServiceAccountSpec
from logpersister.manifest.autoscale import AutoscaleSpec
from logpersister.manifest.constraint import Duration, Text, Whole, compiled, milliseconds
from logpersister.manifest.event_types import TypesSpec
from logpersister.manifest.finish import FinishSpec, Late
from logpersister.manifest.finish_rules import FinishRules
from logpersister.manifest.kafka import KafkaSpec
from logpersister.manifest.keep import Conditions
from logpersister.manifest.output import OutputSpec
from logpersister.manifest.override_rules import OverrideRules
from logpersister.manifest.overrides import MOST_OVERRIDES, Override
from logpersister.manifest.parser import ParserSpec
from logpersister.manifest.pods import PodTemplate
from logpersister.manifest.problems import Finding
from logpersister.manifest.quantity import format_size
from logpersister.manifest.repair import RepairSpec
from logpersister.manifest.rollout import RolloutSpec
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.manifest.rule import NotInCel, cel_literal, rule
from logpersister.manifest.spark import SparkSpec
from logpersister.manifest.storage import MAX_PARTS, StorageSpec
from logpersister.manifest.subjects import with_subjects
from logpersister.manifest.table import TableSpec
from logpersister.manifest.table_rules import TableRules
from logpersister.manifest.topic_specs import with_override
from logpersister.manifest.type_rules import TypeRules
from logpersister.manifest.type_specs import specs_of_types
from logpersister.manifest.type_tables import TypeTableRules, tables_of_types
from logpersister.manifest.upload import UploadSpec

Image = Annotated[
    str,
    Text(
        r"^[^\s@]+(@sha256:[0-9a-f]{64})?$",
        "is not the reference of an image",
        "write for example registry.example.org/data/logpersister:1.2.3",
        512,
    ),
]


def _bytes(field: str) -> str:
    """Return the CEL of a size as an integer; those within their bounds are exact."""
    return f"quantity(string({field})).asInteger()"


def no_shadow(spec: str) -> str:
    """Return the CEL that is true when a spec has no shadow."""
    return f"!has({spec}.rollout) || !has({spec}.rollout.shadow)"


SHADOW = ("rollout", "shadow")
_NO_TOPIC = r"^[^/]*[!*'()=]"
"""A path whose first folder has a character that folders of topics do not have."""

_LARGEST = f"{_bytes('$storage.partSize')} * {MAX_PARTS}"
"""CEL: largest object that the parts of one upload can hold."""


def _over_age(target: str) -> str:
    """Return the CEL that is true when a duration is longer than `maxAge`."""
    return f"{milliseconds(target)} > {milliseconds('$upload.maxAge')}"


class Spec(OverrideRules, TypeRules, TypeTableRules, FinishRules, TableRules):
    """What the user wants."""

    generation: Annotated[int, Whole(1, 2**31 - 1)] = 1
    """Part of every object's name. Raise it when readers notice the change; objects of the new generation begin where
    the old ones end. Never lower it.
    """

    kafka: KafkaSpec
    """Where records come from."""

    storage: StorageSpec
    """Where objects go."""

    output: OutputSpec = OutputSpec()
    """Content of objects and their folders."""

    parser: ParserSpec = ParserSpec()
    """What values must be. Records with other values are stored in quarantine."""

    declared_schema: SchemaSpec | None = Field(default=None, alias="schema")
    """Columns that values become, with every parser except `bytes` (docs/schemas.md)."""

    keep: Conditions = ()
    """Conditions that a record must fulfil to be stored, all of them; other records are counted and left out
    (docs/filters.md).
    """

    types: TypesSpec | None = None
    """Types of records in mixed topics (docs/types.md). Not for topics of an `overrides` entry with a parser."""

    upload: UploadSpec = UploadSpec()
    """When records become an object."""

    table: TableSpec | None = None
    """Table with the rows of the stored objects, each exactly once (docs/tables.md). Only with format `parquet`."""

    overrides: Annotated[tuple[Override, ...], Field(max_length=MOST_OVERRIDES)] = ()
    """Other parsers, schemas, outputs and limits for some topics. The first entry that names a topic applies, and no
    other.
    """

    finish: FinishSpec | None = None
    """Files that tell readers when a folder by time is complete (docs/finish.md). Only topics with a level by date have
    them.
    """

    members: Annotated[int, Whole(1, 1000)] = 1
    """Number of members, which share the partitions. With two or more, storing continues when one dies. With
    `autoscale` it is the initial number. `logpersister run` is one member.
    """

    autoscale: AutoscaleSpec | None = None
    """The number of members follows the lag, instead of `members`. `logpersister run` ignores it."""

    spark: SparkSpec = SparkSpec()
    """Where the work runs."""

    shutdown_grace: Annotated[timedelta, Duration("0s", "1h")] = timedelta(seconds=30)
    """How long running uploads may continue after SIGTERM. The next member repeats unfinished ones."""

    cycle_interval: Annotated[timedelta, Duration("100ms", "5m")] = timedelta(seconds=5)
    """Time between two looks of a member for due ranges; it adds to `upload.maxAge`."""

    target_lag: Annotated[timedelta, Duration("1s", "365d")] | None = None
    """How long the oldest unstored record may wait. Above it, condition `LagWithinTarget` is False, and a rollout is
    late. Default: twice the `maxAge` of the topic plus a minute. `logpersister run` ignores it.
    """

    network_policy: Literal["None", "Restricted"] = "None"
    """`Restricted`: only pods of the same resource may connect to its pods, except to the port of metrics and probes.
    `logpersister run` ignores it.
    """

    rollout: RolloutSpec = RolloutSpec()
    """How members of a new revision replace those of the old one. `logpersister run` ignores it."""

    auto_repair: RepairSpec = RepairSpec()
    """Restarts of members that have partitions and make no progress. `logpersister run` ignores it."""

    image: Image | None = None
    """Image of members and executors. Default: the operator's setting. `logpersister run` ignores it."""

    service_account: ServiceAccountSpec = ServiceAccountSpec()
    """Service account of members and executors, for a cloud's identities. `logpersister run` ignores it."""

    pod_template: PodTemplate | None = None
    """Merged into the members' pods; their container is named `member`. Set the image by `image`, not here.
    `logpersister run` ignores it.
    """

    @property
    def row_schema(self) -> SchemaSpec | None:
        """The schema of rows, with the column of what the parser keeps besides."""
        schema = self.declared_schema
        return None if schema is None else schema.with_rest(self.parser.rest)

    def override_of(self, topic: str) -> int | None:
        """Return the place of the entry of `overrides` that applies to a topic; None: the group's blocks do."""
        return next((place for place, one in enumerate(self.overrides) if one.names(topic)), None)

    def for_topic(self, topic: str) -> "Spec":
        """Return what holds for a topic, as a spec without overrides. So it does not depend on those of others."""
        place = self.override_of(topic)
        found = with_override(self, None if place is None else self.overrides[place])
        named = with_subjects(found, topic)
        return found.model_copy(update=named) if named else found

    def table_of(self, topic: str) -> TableSpec | None:
        """Return the table of a topic."""
        place = self.override_of(topic)
        return self.table if place is None else with_override(self, self.overrides[place]).table

    @property
    def names_subjects(self) -> bool:
        """Whether the specs of topics differ by the subjects of a registry, overrides aside."""
        return any(with_subjects(variant, "") for variant in self.variants())

    def variants(self) -> "Sequence[Spec]":
        """Return what holds for topics: the group's spec, and that of each entry of `overrides`, without overrides."""
        return [with_override(self, one) for one in (None, *self.overrides)]

    def of_types(self) -> "Sequence[Spec]":
        """Return what holds for the records of each rule of `types`, as specs without types; itself without any."""
        return specs_of_types(self)

    def tables_of_types(self) -> "Mapping[str, Spec]":
        """Return what holds for each type with a table, by the value of its folder, as specs without types."""
        return tables_of_types(self)

    @property
    def may_have_ids_in_headers(self) -> bool:
        """Whether headers of records may name the schemas of values or keys."""
        key = None if self.row_schema is None else self.row_schema.key
        return "confluent" in (self.parser.framing, None if key is None else key.framing)

    @property
    def has_folders(self) -> bool:
        """Whether objects stand in folders below that of their topic, quarantine aside."""
        return self.types is not None or bool(self.output.partition_by)

    @property
    def has_quarantine(self) -> bool:
        """Whether records may go to quarantine."""
        return self.types is not None or self.quarantines_late or self.parser.has_quarantine

    @property
    def leaves_out(self) -> bool:
        """Whether records may be in no object, overrides aside."""
        rules = () if self.types is None else self.types.rules
        return bool(self.keep) or any(one.action == "drop" or one.keep for one in rules)

    @property
    def keeps_all_in_quarantine(self) -> bool:
        """Whether quarantine is Parquet with all of a record; where there are types or late records, it always is."""
        return self.types is not None or self.quarantines_late or self.parser.keeps_all_in_quarantine

    @property
    def late(self) -> Late:
        """Where records go that come when their folder is finished."""
        return "append" if self.finish is None else self.finish.late

    @property
    def quarantines_late(self) -> bool:
        """Whether they go to quarantine."""
        return self.late == "quarantine"

    def shapes(self) -> "Iterator[Spec]":
        """Yield each way in which records are written: of all topics, and of all types."""
        for variant in self.variants():
            yield from variant.of_types()

    def hold_above(self, topic: str) -> int | None:
        """Return the percentage of a range of a topic that may go to quarantine; None: any."""
        place = self.override_of(topic)
        own = None if place is None else self.overrides[place].parser
        if own is None and self.types is not None:
            return self.types.hold_above
        return (own or self.parser).quarantine.hold_above

    @property
    def keeps_refused_values(self) -> bool:
        """Whether values that the parser refuses are stored, of a spec without overrides."""
        return self.parser.keeps_refused_values(hides=self.row_schema is not None and bool(self.row_schema.hidden))

    def limits_of(self, topic: str) -> UploadSpec:
        """Return the limits that apply to a topic."""
        place, general = self.override_of(topic), self.upload
        own = None if place is None else self.overrides[place].upload
        if own is None:
            return general
        limits = {"max_bytes": own.max_bytes or general.max_bytes, "max_age": own.max_age or general.max_age}
        return general.model_copy(update=limits)

    def ages(self) -> Iterator[timedelta]:
        """Yield each ``maxAge``."""
        yield self.upload.max_age
        limits = (one.upload for one in self.overrides if one.upload is not None)
        yield from (one.max_age for one in limits if one.max_age is not None)

    @rule(
        NotInCel("the definition has no schema of a pod, and of what it has no schema of CEL sees nothing"),
        "sets the image of our container",
        "remove it, and write spec.image",
        "podTemplate",
    )
    def _members_have_the_image_of_their_revision(self) -> bool:
        return self.pod_template is None or not self.pod_template.sets_image("member")

    @rule(
        NotInCel("the definition has no schema of a pod, and of what it has no schema of CEL sees nothing"),
        "sets the image of our container",
        "remove it, and write spec.image",
        *("spark", "executorPodTemplate"),
    )
    def _executors_have_the_image_of_their_revision(self) -> bool:
        template = self.spark.executor_pod_template
        return template is None or not template.sets_image("executor")

    @rule(
        f"{_bytes('$upload.maxBytes')} <= {_LARGEST}",
        f"has a maxBytes that does not fit into {MAX_PARTS} parts of storage.partSize",
        "lower it, or raise spec.storage.partSize",
        "upload",
    )
    def _objects_fit_into_their_parts(self) -> Sequence[Finding]:
        size, part_size = self.upload.max_bytes, self.storage.part_size
        if size <= part_size * MAX_PARTS:
            return []
        told = f"does not fit into {MAX_PARTS} parts of storage.partSize {format_size(part_size)}"
        part = format_size(math.ceil(size / (MAX_PARTS * 2**20)) * 2**20)
        remedy = f"lower it, or set spec.storage.partSize to {part} or more"
        return [Finding(told, remedy, ("upload", "maxBytes"), f'"{format_size(size)}"')]

    @rule(
        f"!has(self.autoscale) || !has(self.autoscale.targetLag) || {_over_age('self.autoscale.targetLag')}",
        "is not longer than upload.maxAge, which records wait with any number of members",
        "raise it, or lower spec.upload.maxAge",
        "autoscale",
        "targetLag",
    )
    def _members_can_reach_the_target(self) -> bool:
        target = None if self.autoscale is None else self.autoscale.target_lag
        return target is None or target > self.upload.max_age

    @rule(
        "!has(self.autoscale) || has(self.autoscale.targetLag) || !has(self.targetLag)"
        f" || {_over_age('self.targetLag')}",
        "is not longer than upload.maxAge, and autoscale uses it",
        "raise it, or set spec.autoscale.targetLag",
        "targetLag",
    )
    def _members_can_reach_the_target_of_the_group(self) -> bool:
        if self.autoscale is None or self.autoscale.target_lag is not None or self.target_lag is None:
            return True
        return self.target_lag > self.upload.max_age

    @rule(
        f"{no_shadow('self')} || $storage.prefix == ''"
        " || (!(self.rollout.shadow.prefix + '/').startsWith($storage.prefix + '/')"
        " && !($storage.prefix + '/').startsWith(self.rollout.shadow.prefix + '/'))",
        "is, or is in, or has in it, spec.storage.prefix",
        "name a folder that only shadows use, beside the other",
        *SHADOW,
        "prefix",
    )
    def _a_shadow_writes_elsewhere(self) -> bool:
        shadow, prefix = self.rollout.shadow, f"{self.storage.prefix}/"
        if shadow is None or prefix == "/":
            return True
        return not f"{shadow.prefix}/".startswith(prefix) and not prefix.startswith(f"{shadow.prefix}/")

    @rule(
        f"{no_shadow('self')} || $storage.prefix != '' || self.rollout.shadow.prefix.matches({cel_literal(_NO_TOPIC)})",
        "could be the folder of a topic, because spec.storage.prefix is empty",
        "write its first folder with a character that no topic has, for example kind=shadow",
        *SHADOW,
        "prefix",
    )
    def _a_shadow_is_no_topic(self) -> bool:
        shadow = self.rollout.shadow
        return shadow is None or self.storage.prefix != "" or compiled(_NO_TOPIC).search(shadow.prefix) is not None

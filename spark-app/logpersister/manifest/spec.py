"""``spec`` of the resource: what the user wants, and which of its sections contradict each other."""

import math
from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Literal

from logpersister.forms.constraint import Duration, Text, Whole, compiled
from logpersister.forms.problems import Finding
from logpersister.forms.quantity import format_size
from logpersister.forms.rule import refuses
from logpersister.manifest.blocks.accounts import ServiceAccountSpec
from logpersister.manifest.blocks.autoscale import AutoscaleSpec
from logpersister.manifest.blocks.pods import PodTemplate
from logpersister.manifest.blocks.repair import RepairSpec
from logpersister.manifest.blocks.rollout import RolloutSpec
from logpersister.manifest.blocks.spark import SparkSpec
from logpersister.manifest.blocks.storage import MAX_PARTS, share_names
from logpersister.manifest.blocks.table import TableSpec
from logpersister.manifest.blocks.upload import UploadSpec
from logpersister.manifest.rules.section_rules import SectionRules
from logpersister.manifest.rules.subjects import with_subjects
from logpersister.manifest.rules.table_rules import TableRules
from logpersister.manifest.rules.type_rules import TypeRules
from logpersister.manifest.rules.type_tables import TypeTableRules

Image = Annotated[
    str,
    Text(
        r"^[^\s@]+(@sha256:[0-9a-f]{64})?$",
        "is not the reference of an image",
        "write for example registry.example.org/data/logpersister:1.2.3",
        512,
    ),
]


SHADOW = ("rollout", "shadow")
_NO_TOPIC = r"^[^/]*[!*'()=]"
"""A path whose first folder has a character that folders of topics do not have."""


class Spec(SectionRules, TypeRules, TypeTableRules, TableRules):
    """What the user wants."""

    members: Annotated[int, Whole(1, 1000)] = 1
    """Number of members, which share the partitions. With `autoscale` it is the initial number."""

    autoscale: AutoscaleSpec | None = None
    """The number of members follows the lag, instead of `members`."""

    spark: SparkSpec = SparkSpec()
    """Where the work runs."""

    shutdown_grace: Annotated[timedelta, Duration("0s", "1h")] = timedelta(seconds=30)
    """How long running uploads may continue after SIGTERM."""

    cycle_interval: Annotated[timedelta, Duration("100ms", "5m")] = timedelta(seconds=5)
    """Time between two looks of a member for due ranges; it adds to `upload.maxAge`."""

    target_lag: Annotated[timedelta, Duration("1s", "365d")] | None = None
    """How long the oldest unstored record may wait. Above it, condition `LagWithinTarget` is False, and a rollout is
    late. Default: twice the `maxAge` of the topic plus a minute."""

    network_policy: Literal["None", "Restricted"] = "None"
    """`Restricted`: only pods of the same resource may connect to its pods, except to port 8080 (metrics, probes)."""

    rollout: RolloutSpec = RolloutSpec()
    """How members of a new revision replace those of the old one."""

    auto_repair: RepairSpec = RepairSpec()
    """Restarts of members that have partitions and make no progress."""

    image: Image | None = None
    """Image of members and executors. Default: the operator's setting."""

    service_account: ServiceAccountSpec = ServiceAccountSpec()
    """Service account of members and executors, for a cloud's identities."""

    pod_template: PodTemplate | None = None
    """Merged into the members' pods; their container is named `member`."""

    def for_topic(self, topic: str) -> "Spec":
        """Return what holds for a topic, as a spec without overrides. So it does not depend on those of others."""
        place = self.override_of(topic)
        found = self.with_override(None if place is None else self.overrides[place])
        named = with_subjects(found, topic)
        return found.model_copy(update=named) if named else found

    def table_of(self, topic: str) -> TableSpec | None:
        """Return the table of a topic."""
        place = self.override_of(topic)
        return self.table if place is None else self.with_override(self.overrides[place]).table

    @property
    def names_subjects(self) -> bool:
        """Whether the specs of topics differ by the subjects of a registry, overrides aside."""
        return any(with_subjects(variant, "") for variant in self.variants())

    @property
    def has_types(self) -> bool:
        """Whether records are split by their types."""
        return self.types is not None

    @property
    def may_have_ids_in_headers(self) -> bool:
        """Whether headers of records may name the schemas of values or keys."""
        key = self.row_schema.key
        return "confluent" in (self.parser.framing, None if key is None else key.framing)

    @property
    def has_folders(self) -> bool:
        """Whether objects stand in folders below that of their topic, quarantine aside."""
        return self.has_types or bool(self.output.partition_by)

    @property
    def has_quarantine(self) -> bool:
        """Whether records may go to quarantine."""
        return self.has_types or self.quarantines_late or self.parser.has_quarantine

    @property
    def keeps_all_in_quarantine(self) -> bool:
        """Whether quarantine is Parquet with all of a record; where it may have null values, it is."""
        beside_archives = self.output.format == "archive" and self.has_quarantine
        return self.parser.keeps_all_in_quarantine or self.refuses_tombstones or beside_archives

    @property
    def refuses_tombstones(self) -> bool:
        """Whether quarantine may have null values: those without a type, with a bad key, or that came late."""
        return self.has_types or self.quarantines_late or self.row_schema.key is not None

    def shapes(self) -> "Iterator[Spec]":
        """Yield each way in which records are written: of all topics, and of all types."""
        for variant in self.variants():
            yield from variant.of_types()

    def hold_above(self, topic: str) -> int | None:
        """Return the percentage of a range of a topic that may go to quarantine; None: any."""
        place = self.override_of(topic)
        own = None if place is None else self.overrides[place].quarantine
        return (own or self.quarantine).hold_above

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

    @refuses
    def _pods_have_the_image_of_their_revision(self) -> Iterator[Finding]:
        templates = {
            ("podTemplate",): (self.pod_template, "member"),
            ("spark", "executorPodTemplate"): (self.spark.executor_pod_template, "executor"),
        }
        for at, (template, container) in templates.items():
            if template is not None and template.sets_image(container):
                yield Finding("sets the image of our container", "remove it, and write spec.image", at)

    @refuses
    def _objects_fit_into_their_parts(self) -> Iterator[Finding]:
        size, part_size = self.upload.max_bytes, self.storage.part_size
        if size > part_size * MAX_PARTS:
            told = f"does not fit into {MAX_PARTS} parts of storage.partSize {format_size(part_size)}"
            part = format_size(math.ceil(size / (MAX_PARTS * 2**20)) * 2**20)
            yield Finding(told, f"lower it, or set spec.storage.partSize to {part} or more", ("upload", "maxBytes"))

    @refuses
    def _members_can_reach_their_target(self) -> Iterator[Finding]:
        """Records wait for `maxAge` with any number of members."""
        if self.autoscale is None:
            return
        own = self.autoscale.target_lag is not None
        target = self.autoscale.target_lag if own else self.target_lag
        if target is not None and target <= self.upload.max_age:
            at = ("autoscale", "targetLag") if own else ("targetLag",)
            remedy = "raise it, or lower spec.upload.maxAge"
            yield Finding("is not longer than upload.maxAge, which records wait with any number of members", remedy, at)

    @refuses
    def _a_shadow_writes_elsewhere(self) -> Iterator[Finding]:
        shadow = self.rollout.shadow
        if shadow is None:
            return
        at = (*SHADOW, "prefix")
        if not self.storage.prefix:
            if compiled(_NO_TOPIC).search(shadow.prefix) is None:
                remedy = "write its first folder with a character that no topic has, for example kind=shadow"
                told = "could be the folder of a topic, because spec.storage.prefix is empty"
                yield Finding(told, remedy, at)
        elif share_names(shadow.prefix, self.storage.prefix):
            remedy = "name a folder that only shadows use, beside the other"
            yield Finding("is, or is in, or has in it, spec.storage.prefix", remedy, at)

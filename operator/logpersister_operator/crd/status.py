"""``status``: what the operator observes. Its size does not depend on the number of partitions.

Whoever reads a status finds numbers; `Summary` has them once more as the texts that ``kubectl get`` prints.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from logpersister.manifest.constraint import Model
from logpersister_operator.crd.status_autoscale import Autoscale
from logpersister_operator.crd.status_rollout import MOST_GENERATIONS, GenerationState, Rollout

MOST_WORST = 10
"""Partitions that ``lag.worst`` names."""
MOST_MEMBERS = 50
"""Members that ``members.list`` names."""
MOST_LOSSES = 50
"""Ranges that ``dataLoss.latest`` names."""
MOST_QUARANTINED = 5
"""Ranges that ``quarantine.latest`` names."""
MOST_TYPES = 5
"""Types that ``types.stalest`` and ``types.mostQuarantined`` name."""
MOST_RESTARTS = 20
"""Restarts of members that ``restarts`` names: more than there may be in an hour."""


@dataclass(frozen=True, slots=True)
class _MapBy:
    """A list with a key field, so that each writer owns its own entries."""

    key: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler(source)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(schema) | {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [self.key]}


Count = Annotated[int, Field(ge=0)]
Offset = Annotated[int, Field(ge=0)]
Message = Annotated[str, Field(max_length=4096)]


class Condition(Model):
    """One aspect of the state, as in Kubernetes' own resources."""

    type: Annotated[str, Field(max_length=316, pattern=r"^[A-Za-z][A-Za-z0-9]*$")]
    """Ready, Reconciling, Stalled, Reconciled, SpecValid, UploadsSucceeding, RecordsParsing, DutiesSucceeding,
    DataComplete, LagWithinTarget, GroupStable, GroupShared, MembersProgressing, Autoscaling or Paused
    (docs/status.md)."""

    status: Literal["True", "False", "Unknown"]
    """Whether it is so."""

    reason: Annotated[str, Field(max_length=128, pattern=r"^[A-Za-z][A-Za-z0-9]*$")]
    """Why, as one word for programs."""

    message: Annotated[str, Field(max_length=32768)]
    """What is happening and what to do, for people."""

    last_transition_time: datetime
    """When status changed last."""

    observed_generation: Count | None = None
    """The metadata.generation that this is about."""


class PartitionLag(Model):
    """How far one partition is behind."""

    topic: str
    """Name of the topic."""

    partition: Count
    """Number of the partition."""

    records: Count
    """Offsets between what is stored and the end of the partition."""

    seconds: Count | None = None
    """Age of the oldest record not yet stored; not set when it is not known."""

    stuck: bool | None = None
    """True when the committed offset has made no progress for longer than the target."""


class Lag(Model):
    """How far behind Kafka the stored objects are, as Kafka reports it. Not set while Kafka cannot be asked."""

    records: Count
    """Offsets between what is stored and the end, over all partitions."""

    seconds: Count | None = None
    """Age of the oldest record not yet stored."""

    partitions: Count
    """Partitions of the group's topics."""

    behind: Count
    """Partitions with records that are not stored yet."""

    worst: Annotated[tuple[PartitionLag, ...], Field(max_length=MOST_WORST)] = ()
    """The partitions that are most behind, the worst first."""


class UploadFailure(Model):
    """A failed upload."""

    reason: str
    """Kind of the failure, as one word."""

    message: Message
    """What went wrong, and what to do."""

    topic: str | None = None
    """Topic of the range."""

    partition: Count | None = None
    """Partition of the range."""

    start: Offset | None = None
    """First offset of the range."""

    end: Offset | None = None
    """Offset behind the last of the range."""

    time: datetime
    """When it failed."""


class Uploads(Model):
    """What members have stored, all together, those that have ended included."""

    objects: Count
    """Objects."""

    bytes: Count
    """Size of the objects."""

    records: Count | None = None
    """Records in the objects."""

    dropped: Count | None = None
    """Records that `spec.keep` or `spec.types` has left out. Not set if there are none."""

    late: Count | None = None
    """Those that came when their folder was finished; not set when there are none."""

    last: datetime | None = None
    """When an object was stored last."""

    failures: Count
    """Failed attempts of ranges, and of our own documents in the bucket; each was tried again."""

    failures_last_hour: Count
    """Those of the last hour."""

    last_failure: UploadFailure | None = None
    """The last of them, kept when uploads succeed again. One of a range goes before newer ones of documents."""


class QuarantinedRange(Model):
    """Records of one range that the parser refused."""

    topic: str
    """Name of the topic."""

    partition: Count
    """Number of the partition."""

    offset: Offset
    """Offset of the first of them."""

    records: Count
    """How many there are."""

    reason: Message
    """Why the first of them was refused."""

    key: str
    """The object that holds them, as they were in Kafka."""

    time: datetime
    """When they were stored."""


class Quarantine(Model):
    """Records that the parser refused, of all members together, those that have ended included."""

    records: Count
    """How many there are; they are among the records of uploads."""

    last: datetime | None = None
    """When the last of them were stored."""

    latest: Annotated[tuple[QuarantinedRange, ...], Field(max_length=MOST_QUARANTINED)] = ()
    """The ranges that had such records last, the newest first."""


class TypeState(Model):
    """Records of one type (spec.types)."""

    topic: str
    """Name of the topic."""

    type: str
    """Name of the type, or the pattern of its entry; `other` for types that no entry names."""

    newest: datetime | None = None
    """Time of the newest record that is stored."""

    quarantined: Count | None = None
    """Records in quarantine."""


class Types(Model):
    """Records by type, since the present members started."""

    count: Count
    """Types of which there were records; at least so many with several members."""

    records: Count
    """Records stored, those in quarantine included."""

    bytes: Count
    """Their keys and values."""

    quarantined: Count
    """Those of them in quarantine."""

    dropped: Count
    """Records left out."""

    stalest: Annotated[tuple[TypeState, ...], Field(max_length=MOST_TYPES)] = ()
    """Types whose newest stored record is oldest, the oldest first."""

    most_quarantined: Annotated[tuple[TypeState, ...], Field(max_length=MOST_TYPES)] = ()
    """Types with most records in quarantine."""


class Member(Model):
    """One process of the group."""

    name: str
    """Name of its pod."""

    ready: bool
    """Whether its pod is ready."""

    partitions: Count | None = None
    """Partitions that it has; not set while it does not answer."""

    executors: Count | None = None
    """Spark executors that it has; not set when Spark runs inside of it."""

    revision: str | None = None
    """The revision that it runs."""


class Members(Model):
    """The processes of the group."""

    desired: Count
    """How many there shall be."""

    ready: Count
    """How many are ready, of all revisions."""

    list: Annotated[tuple[Member, ...], Field(max_length=MOST_MEMBERS), _MapBy("name")] = ()
    """Each of them; of many, first those that are not ready."""


class Rebalance(Model):
    """How partitions move between members."""

    state: Annotated[str, Field(max_length=64)]
    """State of the group, as Kafka names it: Stable, PreparingRebalance, CompletingRebalance, Empty, Dead."""

    fewest_partitions: Count | None = None
    """Partitions of the member that has the fewest, by Kafka."""

    most_partitions: Count | None = None
    """Partitions of the member that has the most, by Kafka."""

    group_generation: Count | None = None
    """Kafka's own count of assignments of this group."""

    count: Count | None = None
    """Rebalances that members have seen since they started."""

    last: datetime | None = None
    """When the last one ended."""

    counted_since: datetime | None = None
    """Since when generations of the group are counted, to find storms of rebalances."""

    counted_from: Count | None = None
    """The group generation at that time."""


class Loss(Model):
    """Records that Kafka had deleted before they were stored."""

    topic: str
    """Name of the topic."""

    partition: Count
    """Number of the partition."""

    start: Offset
    """First offset that is missing."""

    end: Offset
    """Offset behind the last that is missing."""

    held: bool
    """Whether the partition is held (onDataLoss: fail), or goes on behind the missing range (skip)."""

    time: datetime | None = None
    """When it was found."""


class Restart(Model):
    """A restart of a stalled member, or of one whose node is lost."""

    member: str
    """Name of its pod."""

    pod: Annotated[str, Field(max_length=64)]
    """The uid of the pod that was deleted."""

    time: datetime
    """When that was decided."""

    count: Annotated[int, Field(ge=1)]
    """The how many-th it was in a row: each is followed by a longer distance to the next."""

    cause: Annotated[str, Field(max_length=1024)]
    """Why the member made no progress."""

    forced: bool | None = None
    """Whether the pod was deleted without waiting for its node, which is lost."""


class DataLoss(Model):
    """All that Kafka had deleted before it was stored. It stays when the members are gone that found it."""

    records: Count
    """Offsets that are missing; at least so many when there is no room for more ranges."""

    ranges: Count
    """Ranges of them."""

    latest: Annotated[tuple[Loss, ...], Field(max_length=MOST_LOSSES)] = ()
    """The ranges, those found last first."""


class Summary(Model):
    """The texts that `kubectl get` prints; programs read the fields beside it."""

    members: str | None = None
    """Ready and desired members, `2/3`; behind a plus those that are ready of an old revision, `1/3+2`."""

    lag: str | None = None
    """Records behind, or Unknown."""

    lag_age: str | None = None
    """Age of the oldest record not yet stored, or Unknown."""

    uploaded: str | None = None
    """Size of what is stored: `1.2GiB`."""

    state: str | None = None
    """What is going on, in a few words."""

    stalest_type: str | None = None
    """Type whose newest stored record is oldest, and its age; not set without spec.types."""


class Status(Model):
    """What the operator observes."""

    observed_generation: Count | None = None
    """The metadata.generation that the operator has seen; with an older one, the rest is about an older spec."""

    conditions: Annotated[tuple[Condition, ...], Field(max_length=16), _MapBy("type")] = ()
    """Ready, Reconciling, Stalled, Reconciled, SpecValid, UploadsSucceeding, RecordsParsing, DutiesSucceeding,
    DataComplete, LagWithinTarget, GroupStable, GroupShared, MembersProgressing, Autoscaling, Paused."""

    generation: Count | None = None
    """The spec.generation that is being written."""

    revision: Annotated[str, Field(max_length=64)] | None = None
    """The revision that members run."""

    group_id: str | None = None
    """The consumer group in Kafka."""

    lag: Lag | None = None
    """How far behind Kafka the stored objects are. Not set while Kafka cannot be asked."""

    uploads: Uploads | None = None
    """What members have stored."""

    quarantine: Quarantine | None = None
    """Records that the parser refused; not set when there are none."""

    types: Types | None = None
    """Records by type; not set without spec.types."""

    members: Members | None = None
    """The processes of the group."""

    rebalance: Rebalance | None = None
    """How partitions move between members."""

    restarts: Annotated[tuple[Restart, ...], Field(max_length=MOST_RESTARTS)] = ()
    """The last restarts of stalled members, the newest last. The rest of the budget depends on them."""

    data_loss: DataLoss | None = None
    """Records that Kafka had deleted before they were stored; not set when there are none."""

    autoscale: Autoscale | None = None
    """How many members the lag asks for; not set without spec.autoscale."""

    rollout: Rollout | None = None
    """Where a rollout is, and what is remembered of those before."""

    generations: Annotated[tuple[GenerationState, ...], Field(max_length=MOST_GENERATIONS), _MapBy("generation")] = ()
    """Generations that are written: two while one takes over from the other."""

    summary: Summary | None = None
    """The texts that `kubectl get` prints."""

"""Sections of a status about records: which wait, which are stored, refused or lost."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from logpersister.forms.constraint import Model
from logpersister_operator.field_types import Count, Message, Offset

MOST_WORST = 10
"""Partitions that ``lag.worst`` names."""
MOST_LOSSES = 50
"""Ranges that ``dataLoss.latest`` names."""
MOST_QUARANTINED = 5
"""Ranges that ``quarantine.latest`` names."""
MOST_TYPES = 5
"""Types that ``types.stalest`` and ``types.mostQuarantined`` name."""


class OfPartition(Model):
    """Base of what is about one partition."""

    topic: str
    """Name of the topic."""

    partition: Count
    """Number of the partition."""


class PartitionLag(OfPartition):
    """How far one partition is behind."""

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
    """Number of objects."""

    bytes: Count
    """Size of the objects."""

    records: Count | None = None
    """Records in the objects."""

    dropped: Count | None = None
    """Records that `spec.keep` or `spec.types` has left out. Not set if there are none."""

    late: Count | None = None
    """Records that came when their folder was finished; not set when there are none."""

    last: datetime | None = None
    """When an object was stored last."""

    failures: Count
    """Failed attempts of ranges, and of our own documents in the bucket; each was tried again."""

    failures_last_hour: Count
    """Failed attempts of the last hour."""

    last_failure: UploadFailure | None = None
    """The last of them, kept when uploads succeed again. One of a range goes before newer ones of documents."""


class QuarantinedRange(OfPartition):
    """Records of one range that the parser refused."""

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


class Loss(OfPartition):
    """Records that Kafka had deleted before they were stored."""

    start: Offset
    """First offset that is missing."""

    end: Offset
    """Offset behind the last that is missing."""

    held: bool
    """Whether the partition is held (onDataLoss: fail), or goes on behind the missing range (skip)."""

    time: datetime | None = None
    """When it was found."""


class DataLoss(Model):
    """All that Kafka had deleted before it was stored. It stays when the members are gone that found it."""

    records: Count
    """Offsets that are missing; at least so many when there is no room for more ranges."""

    ranges: Count
    """Ranges of them."""

    latest: Annotated[tuple[Loss, ...], Field(max_length=MOST_LOSSES)] = ()
    """The ranges, those found last first."""

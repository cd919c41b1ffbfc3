"""``status`` of a FeedCollector. Its size does not depend on the number of feeds."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from logpersister.forms.constraint import Model
from logpersister_operator.crd.status import MOST_CONDITIONS, Condition
from logpersister_operator.field_types import Cause, Count, MapBy, Revision

MOST_WORST = 20
"""Feeds that ``feeds.worst`` names."""


class Replicas(Model):
    """The processes that poll."""

    desired: Count
    """How many there shall be."""

    ready: Count
    """How many are ready."""

    updated: Count
    """How many of them have the present feeds and settings."""


class WorstFeed(Model):
    """A feed that is silent or fails."""

    id: Annotated[str, Field(max_length=200)]
    """Id of the feed."""

    silent: bool
    """Whether no replica has got anything new for longer than silentAfter."""

    new_at: datetime | None = None
    """When a replica got something new last; absent: none has since it started."""

    reason: Cause
    """Why the last poll gave nothing, as a replica says."""


class Feeds(Model):
    """The sources, as replicas say; of replicas that start, what the others say."""

    total: Count
    """Feeds of the spec."""

    silent: Count
    """Feeds of which no replica has got anything new for longer than silentAfter."""

    failing: Count
    """Feeds whose last poll failed, in the replica with the most of them."""

    worst: Annotated[tuple[WorstFeed, ...], Field(max_length=MOST_WORST), MapBy("id")] = ()
    """Some of them, silent ones first."""


class Spool(Model):
    """What waits for Kafka, in all replicas together."""

    records: Count
    """Number of records that wait."""

    bytes: Count
    """Bytes on disks."""

    dropped: Count
    """Records that were dropped since the present pods started, because a disk was full or failed."""

    oldest: datetime | None = None
    """When the oldest was received; not set when nothing waits."""


class CollectorSummary(Model):
    """The texts that `kubectl get` prints."""

    replicas: str | None = None
    """Ready and desired replicas, `2/2`."""

    spool: str | None = None
    """Size of what waits for Kafka: `12KiB`."""

    state: str | None = None
    """What is going on, as a reason."""


class CollectorStatus(Model):
    """What the operator observes."""

    observed_generation: Count | None = None
    """The metadata.generation that the operator has seen; with an older one, the rest is about an older spec."""

    conditions: Annotated[tuple[Condition, ...], Field(max_length=MOST_CONDITIONS), MapBy("type")] = ()
    """Ready, Reconciling, Stalled, Reconciled, SpecValid, FeedsSpeaking, KafkaReachable."""

    revision: Revision | None = None
    """Digits that name the present feeds and settings."""

    replicas: Replicas | None = None
    """The processes that poll."""

    feeds: Feeds | None = None
    """The sources. Not set before a replica has answered."""

    spool: Spool | None = None
    """What waits for Kafka. Not set before a replica has answered."""

    summary: CollectorSummary | None = None
    """The texts that `kubectl get` prints."""

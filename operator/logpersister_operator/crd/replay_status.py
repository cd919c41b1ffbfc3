"""``status`` of a LogReplay: how far it is, and what came of it."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from logpersister.forms.constraint import Model
from logpersister_operator.crd.status import MOST_CONDITIONS, Condition
from logpersister_operator.field_types import Count, MapBy

Phase = Literal["Pending", "Planning", "Running", "Suspended", "Stored", "Switching", "Switched", "Failed"]


class Progress(Model):
    """How much is stored again."""

    offsets: Count
    """Offsets that are stored again."""

    stored: Count
    """Those of them that are stored and committed."""

    bytes_per_second: Count = 0
    """Bytes of objects in a second, since the processes began."""

    offsets_per_second: Count = 0
    """Offsets in a second, since the processes began."""

    since: datetime | None = None
    """When the present processes began: after a pause, when it ended."""

    stored_before: Count = 0
    """Offsets that were stored before these began."""

    estimated_end: datetime | None = None
    """When all will be stored if it goes on like this; not set while nothing is stored."""


class ReplaySummary(Model):
    """The texts that `kubectl get` prints; programs read the fields beside it."""

    progress: str | None = None
    """Share of the offsets that are stored: `45%`."""

    left: str | None = None
    """Time until all will be stored: `2h10m`."""

    rate: str | None = None
    """Bytes of objects in a second: `12.3MiB/s`."""

    state: str | None = None
    """What is going on, in a few words."""


class ReplayStatus(Model):
    """What the operator observes of a replay."""

    observed_generation: Count | None = None
    """The metadata.generation that the operator has seen; with an older one, the rest is about an older spec."""

    phase: Phase | None = None
    """Where the replay is: Pending, Planning, Running, Suspended, Stored, Switching, Switched or Failed."""

    conditions: Annotated[tuple[Condition, ...], Field(max_length=MOST_CONDITIONS), MapBy("type")] = ()
    """Ready, Stalled, Reconciled, Planned, Stored, Switched, OldDeleted."""

    group_id: str | None = None
    """The consumer group in Kafka that keeps the progress."""

    progress: Progress | None = None
    """How much is stored again; not set before it is planned."""

    stored_at: datetime | None = None
    """When all was stored."""

    switched_at: datetime | None = None
    """When readers were switched."""

    old_deleted_at: datetime | None = None
    """When the old objects were deleted."""

    summary: ReplaySummary | None = None
    """The texts that `kubectl get` prints."""

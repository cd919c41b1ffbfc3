"""``status.rollout``: the record of a rollout, from which it goes on; and ``status.generations``: who runs what."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import Field, ValidationError

from logpersister.manifest.constraint import Model
from logpersister_operator.crd.field_types import Count, Revision
from logpersister_operator.rollout import evidence
from logpersister_operator.rollout import record as rollout
from logpersister_operator.rollout.invariants import RolloutError, check_record
from logpersister_operator.rollout.shadow_evidence import Shadow
from logpersister_operator.rollout.transitions import Phase

MOST_GENERATIONS: Final = 10
"""Generations in the status."""
MOST_BEGINNINGS: Final = 10
"""Partitions of each of them whose first offset is in the status."""
MOST_EXAMPLES: Final = 5
"""Differences of a shadow in the status."""
LONGEST_CAUSE: Final = 1024
Cause = Annotated[str, Field(max_length=LONGEST_CAUSE)]


class ReportedCounters(Model):
    """The last counters that a member reported."""

    member: str
    """Name of its pod."""

    started: datetime
    """When the process started."""

    records: Count
    """Records that it has stored since."""

    quarantined: Count
    """Those of them that went into quarantine."""


class Tally(Model):
    """Records that members of a revision have stored since the rollout began."""

    records: Count
    """Number of records."""

    quarantined: Count
    """Those of them that went into quarantine."""

    told: Annotated[tuple[ReportedCounters, ...], Field(max_length=evidence.MOST_COUNTED)] = ()
    """The last counters of each member; its next report is compared with them. At most 20 members are counted."""


class Trial(Model):
    """What had been counted when the new revision began to be watched."""

    since: datetime
    """When that was."""

    ranges: Count
    """Ranges that its members had committed."""

    upload_failures: Count
    """Uploads of its members that had failed."""

    lag: Count | None = None
    """Records that the group was behind; not set while that was not known."""


class Suspicion(Model):
    """Something that looks wrong."""

    since: datetime
    """The time since when."""

    cause: Cause
    """What it is."""


class Failure(Model):
    """A revision that failed."""

    revision: Revision
    """The revision that failed."""

    attempt: Count
    """The spec.rollout.attempt at which it failed."""

    cause: Cause
    """The cause of the failure."""

    time: datetime
    """The time of the failure."""


class Sides(Model):
    """A number of both."""

    stable: Count
    """What members of the old revision stored."""

    shadow: Count
    """What the shadow stored."""


class ShadowState(Model):
    """What the shadow of a new revision does, and what its members have compared."""

    group_id: str
    """The consumer group of the shadow."""

    prefix: str
    """Where in the bucket its objects are."""

    members: Count
    """Members that it shall have."""

    ready: Count
    """Those that are ready."""

    partitions: Count = 0
    """Partitions of which something is compared."""

    ranges: Count = 0
    """Ranges of the shadow that are compared."""

    records: Sides | None = None
    """Records in them."""

    objects: Sides | None = None
    """Objects that hold them."""

    bytes: Sides | None = None
    """Size of those."""

    checksums: Count = 0
    """Checksums of records that were compared."""

    differences: Count = 0
    """Differences that were found."""

    examples: Annotated[tuple[Cause, ...], Field(max_length=MOST_EXAMPLES)] = ()
    """The first of them."""

    error: Cause | None = None
    """Why nothing more can be compared."""


class Rollout(Model):
    """Where a rollout is. The operator goes on from here after it was restarted: do not change it."""

    phase: Literal[
        "Starting", "Steady", "Shadowing", "Canary", "Rolling", "Waiting", "Recreating", "Returning", "Halted"
    ]
    """What is going on (docs/upgrades.md)."""

    since: datetime
    """When this phase, or this step of it, began."""

    began: datetime | None = None
    """When the rollout began; not set when none is going on."""

    stable: Revision | None = None
    """The revision that has proven itself, to which a failure leads back."""

    candidate: Revision | None = None
    """The revision that is rolled out, or was rolled back."""

    step: Count = 0
    """0 for the canary, then the steps of the spec, then all members."""

    reached: Count = 0
    """The most members of the candidate that were ready at this step."""

    waiting: datetime | None = None
    """Since when members are not ready, without one more getting ready."""

    rested: datetime | None = None
    """When all members of the step were ready."""

    trial: Trial | None = None
    """What had been counted when the candidate began to be watched."""

    candidate_stored: Tally | None = None
    """What members of the candidate, or of its shadow, have stored in this rollout."""

    stable_stored: Tally | None = None
    """What those of the stable revision have stored in the same time."""

    flaps: Count = 0
    """How often the canary became unready while it was watched."""

    suspicion: Suspicion | None = None
    """What looks wrong with the candidate."""

    failures: Annotated[tuple[Failure, ...], Field(max_length=rollout.MOST_FAILURES)] = ()
    """The last revisions that failed, the newest first. One that failed is not tried again before
    spec.rollout.attempt changes."""

    frozen: bool = False
    """True while nothing moves, since the resource is paused or a Secret is missing."""

    shadow: ShadowState | None = None
    """What the shadow of the candidate does; only while there is one. It keeps its group and prefix; nothing else is
    decided from this."""


class Beginning(Model):
    """Where a partition went over to a generation."""

    topic: str
    """Name of the topic."""

    partition: Count
    """Number of the partition."""

    offset: Count
    """The first offset of the generation."""


class GenerationState(Model):
    """Who writes a generation, and what is in it."""

    generation: Count
    """The spec.generation."""

    members: Count
    """Members that there shall be, of all revisions that write it."""

    ready: Count
    """Those that are ready."""

    partitions: Count
    """Partitions whose last range was of it, as Kafka reports it."""

    began: Annotated[tuple[Beginning, ...], Field(max_length=MOST_BEGINNINGS)] = ()
    """Where the first of those partitions went over to it."""


def rollout_of(record: rollout.RolloutRecord, shadow: ShadowState | None = None) -> Rollout:
    """Return a record as it stands in the status, with what is seen of a shadow."""
    failures = [_plain(one, cause=_shortened(one.cause)) for one in record.failures]
    suspicion = record.suspicion
    return Rollout.model_validate(
        _plain(
            record,
            phase=record.phase.value,
            trial=None if record.trial is None else _plain(record.trial),
            candidate_stored=_tally_of(record.candidate_stored),
            stable_stored=_tally_of(record.stable_stored),
            suspicion=None if suspicion is None else _plain(suspicion, cause=_shortened(suspicion.cause)),
            failures=failures,
            shadow=shadow,
        )
    )


def shadow_of(group_id: str, prefix: str, members: int, seen: Shadow) -> ShadowState:
    """Return what is seen of a shadow as it stands in the status."""
    found = seen.comparison
    sides = {name: Sides(**_plain(getattr(found, name))) for name in ("records", "objects", "bytes")}
    return ShadowState(
        group_id=group_id,
        prefix=prefix,
        members=members,
        ready=seen.fleet.ready,
        partitions=found.partitions,
        ranges=found.ranges,
        **(sides if found.answers else {}),
        checksums=found.checksums,
        differences=found.differences,
        examples=tuple(_shortened(one) for one in found.examples[:MOST_EXAMPLES]),
        error=_shortened(found.error) or None,
    )


def record_of(status: Mapping[str, Any]) -> rollout.RolloutRecord | None:
    """Return the record that stands in a status; None when there is none, or none that makes sense."""
    if "rollout" not in status:
        return None
    try:
        found = Rollout.model_validate(status["rollout"], extra="ignore")  # fields of a newer version
    except ValidationError:  # of another version, or changed by hand
        return None
    remembered = _plain(
        found,
        phase=Phase(found.phase),
        trial=None if found.trial is None else rollout.Trial(**_plain(found.trial)),
        candidate_stored=_remembered(found.candidate_stored),
        stable_stored=_remembered(found.stable_stored),
        suspicion=None if found.suspicion is None else rollout.Suspicion(**_plain(found.suspicion)),
        failures=tuple(rollout.Failure(**_plain(one)) for one in found.failures),
    )
    del remembered["shadow"]
    record = rollout.RolloutRecord(**remembered)
    try:
        check_record(record)
    except RolloutError:
        return None
    return record


def _tally_of(tally: evidence.Tally) -> dict[str, Any] | None:
    return _plain(tally, told=[_plain(one) for one in tally.told]) if tally.told else None


def _remembered(tally: Tally | None) -> evidence.Tally:
    if tally is None:
        return evidence.Tally()
    return evidence.Tally(**_plain(tally, told=tuple(evidence.ReportedCounters(**_plain(one)) for one in tally.told)))


def _plain(one: Any, **instead: Any) -> dict[str, Any]:
    """Return the fields of a record or of a model, some of them as they are given."""
    names = type(one).model_fields if isinstance(one, Model) else type(one).__slots__
    return {name: getattr(one, name) for name in names} | instead


def _shortened(cause: str) -> str:
    return cause if len(cause) <= LONGEST_CAUSE else cause[: LONGEST_CAUSE - 1] + "…"

"""``status.rollout``: the record of a rollout and what is seen of its shadow; ``status.generations``: who runs what."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Final

from pydantic import Field, TypeAdapter, ValidationError

from logpersister.forms.constraint import Model
from logpersister_operator.crd.status_records import OfPartition
from logpersister_operator.field_types import Count
from logpersister_operator.rollout.invariants import RolloutError, check_record
from logpersister_operator.rollout.record import RolloutRecord
from logpersister_operator.rollout.shadow_evidence import Comparison, Shadow

MOST_GENERATIONS: Final = 10
"""Generations in the status."""
MOST_BEGINNINGS: Final = 10
"""Partitions of each of them whose first offset is in the status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowState(Comparison):
    """What the shadow of a new revision does, and what its members have compared."""

    group_id: str
    """The consumer group of the shadow."""
    prefix: str
    """Where in the bucket its objects are."""
    members: Count
    """Members that it shall have."""
    ready: Count
    """Members that are ready."""


@dataclass(frozen=True, slots=True)
class Rollout(RolloutRecord):
    """Where a rollout is. The operator goes on from here after it was restarted: do not change it."""

    shadow: ShadowState | None = None
    """What the shadow of the candidate does; only while there is one. It keeps its group and prefix; nothing else is
    decided from this."""


class Beginning(OfPartition):
    """Where a partition went over to a generation."""

    offset: Count
    """The first offset of the generation."""


class GenerationState(Model):
    """Members that write a generation, and partitions that are in it."""

    generation: Count
    """The spec.generation."""

    members: Count
    """Members that there shall be, of all revisions that write it."""

    ready: Count
    """Members that are ready."""

    partitions: Count
    """Partitions whose last range was of it, as Kafka reports it."""

    began: Annotated[tuple[Beginning, ...], Field(max_length=MOST_BEGINNINGS)] = ()
    """Where the first of those partitions went over to it."""


def rollout_of(record: RolloutRecord, shadow: ShadowState | None = None) -> Rollout:
    """Return a record as it stands in the status, with what is seen of a shadow."""
    return Rollout(**_fields(record), shadow=shadow)


def shadow_of(group_id: str, prefix: str, members: int, seen: Shadow) -> ShadowState:
    """Return what is seen of a shadow as it stands in the status."""
    found = _fields(seen.comparison)
    return ShadowState(**found, group_id=group_id, prefix=prefix, members=members, ready=seen.fleet.ready)


_RECORD: Final = TypeAdapter(RolloutRecord)


def record_of(status: Mapping[str, Any]) -> RolloutRecord | None:
    """Return the record that stands in a status; None when there is none, or none that makes sense."""
    if "rollout" not in status:
        return None
    try:
        record = _RECORD.validate_python(status["rollout"], extra="ignore")  # fields of a newer version
        check_record(record)
    except (ValidationError, RolloutError):  # of another version, or changed by hand
        return None
    return record


def _fields(one: Any) -> dict[str, Any]:
    return {field.name: getattr(one, field.name) for field in fields(one)}

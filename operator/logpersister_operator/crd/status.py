"""``status``: what the operator observes. Its size does not depend on the number of partitions.

Whoever reads a status finds numbers; `Summary` has them once more as the texts that ``kubectl get`` prints.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from logpersister.forms.constraint import Model
from logpersister_operator.crd.status_autoscale import Autoscale
from logpersister_operator.crd.status_members import MOST_RESTARTS, Members, Rebalance, Restart
from logpersister_operator.crd.status_records import DataLoss, Lag, Quarantine, Types, Uploads
from logpersister_operator.crd.status_rollout import MOST_GENERATIONS, GenerationState, Rollout
from logpersister_operator.field_types import Count, MapBy, Revision

MOST_CONDITIONS = 16
"""Conditions of a resource."""


class Condition(Model):
    """One aspect of the state, as in Kubernetes' own resources."""

    type: Annotated[str, Field(max_length=316, pattern=r"^[A-Za-z][A-Za-z0-9]*$")]
    """Which aspect, as docs/status.md lists them."""

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

    conditions: Annotated[tuple[Condition, ...], Field(max_length=MOST_CONDITIONS), MapBy("type")] = ()
    """Ready, Reconciling, Stalled, Reconciled, SpecValid, UploadsSucceeding, RecordsParsing, DutiesSucceeding,
    DataComplete, LagWithinTarget, GroupStable, GroupShared, MembersProgressing, Autoscaling, Paused,
    ReconciliationPaused."""

    generation: Count | None = None
    """The spec.generation that is being written."""

    revision: Revision | None = None
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

    generations: Annotated[tuple[GenerationState, ...], Field(max_length=MOST_GENERATIONS), MapBy("generation")] = ()
    """Generations that are written: two while one takes over from the other."""

    summary: Summary | None = None
    """The texts that `kubectl get` prints."""

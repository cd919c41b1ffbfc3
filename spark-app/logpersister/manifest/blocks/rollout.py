"""``spec.rollout``: how members of a new revision take over."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field

from logpersister.forms.constraint import Duration, Model, Whole, never
from logpersister.forms.problems import Finding
from logpersister.forms.quantity import Share
from logpersister.forms.rule import refuses
from logpersister.forms.shares import Percent, SomeOf
from logpersister.manifest.blocks.kafka import GROUP_ID
from logpersister.manifest.blocks.storage import PREFIX

PROMOTE = "logpersister.dev/promote"
"""Annotation of the resource that ends a pause without a duration."""

ABORT = "logpersister.dev/abort"
"""Annotation that withdraws a candidate: ``<revision>.<time>``, with the time at which its rollout began, or failed."""

RETRY = "logpersister.dev/retry"
"""Annotation that tries a failed revision again: ``<revision>.<time>``, with the time at which it failed."""

_LONGEST_TRY = len(".0123456789ab.2147483647")
"""What is added to the group and the prefix of a shadow: its revision and the number of the try."""

ShadowGroupId = Annotated[str, replace(GROUP_ID, longest=GROUP_ID.longest - _LONGEST_TRY)]
ShadowPrefix = Annotated[
    str,
    replace(
        PREFIX,
        longest=PREFIX.longest - _LONGEST_TRY,
        before=(never(r"^$", "is empty", "name a folder that only shadows use, for example shadow"),),
    ),
]


class AnalysisSpec(Model):
    """What the canary has to show before more members follow."""

    duration: Annotated[timedelta, Duration("0s", "1d")] = timedelta(minutes=5)
    """Minimum time for which the canary is watched after it has become ready."""

    min_ranges: Annotated[int, Whole(0, 1_000_000)] = 3
    """Ranges that the canary must commit; fewer if fewer are due."""

    max_upload_failures: Annotated[int, Whole(0, 1_000_000)] = 0
    """Ranges of the canary that may fail and be retried during the analysis."""

    max_lag_growth: Annotated[int, Percent("1000%")] = 20
    """How much the group's lag may grow during the analysis, relative to the lag at its start."""

    max_quarantine_ratio: Annotated[int, Percent("100%")] = 1
    """Percentage points by which the share of quarantined records may exceed that of the old revision."""


class CanarySpec(Model):
    """The first members of a new revision."""

    members: Annotated[int, Whole(1, 1000)] = 1
    """Number of members that run the new revision first; at most `spec.members`."""

    analysis: AnalysisSpec = AnalysisSpec()
    """What the canary must prove before more members follow."""


class ShadowSpec(Model):
    """Members of a new revision beside the old ones, in a group and under a prefix of their own."""

    group_id: ShadowGroupId
    """Consumer group of shadows. Each try has the group `<groupId>.<revision>.<number>`."""

    prefix: ShadowPrefix
    """Folder of the bucket for objects of shadows; each try has the folder `<prefix>/<revision>.<number>`. Nobody
    deletes them: give it a lifecycle rule. Neither it nor `spec.storage.prefix` may contain the other.
    """

    members: Annotated[int, Whole(1, 1000)] = 1
    """Members of the shadow, which share all partitions."""

    duration: Annotated[timedelta, Duration("0s", "1d")] = timedelta(minutes=10)
    """Minimum time for which the shadow is compared after it has become ready."""

    min_ranges: Annotated[int, Whole(0, 1_000_000)] = 3
    """Ranges of the shadow that must be compared; fewer if fewer are due."""

    def group_of(self, revision: str, number: int) -> str:
        """Return the consumer group of one try of a revision."""
        return f"{self.group_id}.{revision}.{number}"

    def prefix_of(self, revision: str, number: int) -> str:
        """Return the prefix of one try of a revision."""
        return f"{self.prefix}/{revision}.{number}"


class PauseSpec(Model):
    """A rest between two steps."""

    duration: Annotated[timedelta, Duration("1s", "30d")] | None = None
    """Duration of the pause. Without it the rollout waits for the annotation `logpersister.dev/promote`."""


class StepSpec(Model):
    """A share of the members that runs the new revision."""

    members: Annotated[Share, SomeOf(1000)]
    """Members that run the new revision after this step: a number, or a percentage of `spec.members`, rounded up."""

    pause: PauseSpec | None = None
    """Pause after this step. `{}` waits for the annotation `logpersister.dev/promote`, `{duration: 10m}` for a time.
    Default: none."""


class RolloutSpec(Model):
    """How members of a new revision take over from those of the old one."""

    strategy: Literal["Canary", "Recreate"] = "Canary"
    """`Canary`: a few members run the new revision first, then the others follow step by step. `Recreate`: the old
    members stop before new ones start, for clusters without room for both.
    """

    canary: CanarySpec = CanarySpec()
    """The first members of a new revision. Not with strategy `Recreate`."""

    shadow: ShadowSpec | None = None
    """If set, a new revision first runs beside the old one, with a group and prefix of its own, and the objects of both
    are compared. Not with strategy `Recreate`.
    """

    steps: Annotated[tuple[StepSpec, ...], Field(max_length=20)] = ()
    """Rising shares of the members after the canary, with optional pauses. Default: all follow at once. Not with
    strategy `Recreate`.
    """

    progress_deadline: Annotated[timedelta, Duration("1s", "7d")] = timedelta(minutes=10)
    """How long a rollout may make no progress before it fails; pauses do not count."""

    on_failure: Literal["Rollback", "Pause"] = "Rollback"
    """What to do when a rollout fails. `Rollback`: the old revision gets all its members back. `Pause`: everything
    stays as it is until the spec changes."""

    attempt: Annotated[int, Whole(0, 2**31 - 1)] = 0
    """Any number; change it to try a failed revision again."""

    @property
    def recreates(self) -> bool:
        return self.strategy == "Recreate"

    @property
    def rolls_back(self) -> bool:
        return self.on_failure == "Rollback"

    @property
    def last_step(self) -> int:
        """The number of the step at which all members run the new revision; the canary is number 0."""
        return len(self.steps) + 1

    def surge(self, wanted: int) -> int:
        """Return how many members there may be beside those that are wanted."""
        return max(1, min(self.canary.members, wanted))

    def members_after(self, step: int, wanted: int) -> int:
        """Return how many members run the new revision after a step, of so many that are wanted."""
        first = min(self.canary.members, wanted)
        if step == 0:
            return first
        return wanted if step >= self.last_step else max(first, self.steps[step - 1].members.of(wanted))

    def pause_after(self, step: int) -> PauseSpec | None:
        """Return the rest after a step, if there is one."""
        return self.steps[step - 1].pause if 0 < step < self.last_step else None

    @refuses
    def _the_deadline_leaves_time_for_the_analysis(self) -> Iterator[Finding]:
        if self.progress_deadline <= self.canary.analysis.duration:
            told, remedy = "is not longer than canary.analysis.duration", "raise it, or watch for a shorter time"
            yield Finding(told, remedy, ("progressDeadline",))

    @refuses
    def _a_recreation_has_one_step(self) -> Iterator[Finding]:
        set_here = {
            "canary": "canary" in self.model_fields_set,
            "shadow": self.shadow is not None,
            "steps": bool(self.steps),
        }
        for name, is_set in set_here.items():
            if self.recreates and is_set:
                told = "contradicts strategy Recreate, where old members stop before new ones start"
                yield Finding(told, "remove it, or set strategy to Canary", (name,))

    @refuses
    def _steps_rise(self) -> Iterator[Finding]:
        if len({step.members.is_percentage for step in self.steps}) > 1:
            told = "mixes numbers with percentages, whose order depends on spec.members"
            yield Finding(told, "write all of them as numbers or all as percentages", ("steps",))
            return
        for index, (before, after) in enumerate(pairwise(self.steps), 1):
            if after.members.number <= before.members.number:
                told = "does not have more members than the step before"
                yield Finding(told, "raise it, or remove the step", ("steps", index, "members"))

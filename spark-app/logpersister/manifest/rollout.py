"""``spec.rollout``: how members of a new revision take over."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field

from logpersister.manifest.constraint import Duration, Model, Whole, milliseconds, never
from logpersister.manifest.kafka import GROUP_ID
from logpersister.manifest.problems import Finding
from logpersister.manifest.quantity import Share
from logpersister.manifest.rule import rule
from logpersister.manifest.shares import Percent, SomeOf
from logpersister.manifest.storage import PREFIX

PROMOTE = "logpersister.dev/promote"
"""Annotation of the resource that ends a pause without a duration."""

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
    """How long the canary is watched, at least, from when it is ready."""

    min_ranges: Annotated[int, Whole(0, 1_000_000)] = 3
    """Ranges that the canary must have committed. It need not commit more than were due, so that quiet topics do not
    hold up a rollout."""

    max_upload_failures: Annotated[int, Whole(0, 1_000_000)] = 0
    """Ranges of the canary that may fail and be tried again while it is watched. Raise it where the storage is known
    to refuse a request now and then."""

    max_lag_growth: Annotated[int, Percent("1000%")] = 20
    """How much the group's lag may grow while the canary is watched, of what it was when the canary began."""

    max_quarantine_ratio: Annotated[int, Percent("100%")] = 1
    """Which share of the canary's records may go into quarantine (`spec.parser`), beyond the share of the old
    revision's in the same time. The same is asked of a shadow."""


class CanarySpec(Model):
    """The first members of a new revision."""

    members: Annotated[int, Whole(1, 1000)] = 1
    """How many members try the new revision first; never more than `spec.members`."""

    analysis: AnalysisSpec = AnalysisSpec()
    """What they have to show before more members follow."""


class ShadowSpec(Model):
    """Members of a new revision beside the old ones, in a group and under a prefix of their own."""

    group_id: ShadowGroupId
    """Consumer group of shadows; each try has one of its own, `<groupId>.<revision>.<number>`, where the number is the
    time of its begin in seconds since 1970."""

    prefix: ShadowPrefix
    """Folder of the bucket for what shadows write; each try has one of its own, `<prefix>/<revision>.<number>`.
    Nothing removes what is there: give the folder a lifecycle rule. It lies beside `spec.storage.prefix`; where that
    is empty, its first folder needs a character that no topic has: `kind=shadow`."""

    members: Annotated[int, Whole(1, 1000)] = 1
    """How many members the shadow has. They share all partitions, so one may need longer than the old members to
    come along."""

    duration: Annotated[timedelta, Duration("0s", "1d")] = timedelta(minutes=10)
    """How long the shadow is compared, at least, from when it is ready."""

    min_ranges: Annotated[int, Whole(0, 1_000_000)] = 3
    """Ranges of the shadow that must have been compared. There need not be more than were due, so that quiet topics do
    not hold up a rollout."""

    def group_of(self, revision: str, number: int) -> str:
        """Return the consumer group of one try of a revision."""
        return f"{self.group_id}.{revision}.{number}"

    def prefix_of(self, revision: str, number: int) -> str:
        """Return the prefix of one try of a revision."""
        return f"{self.prefix}/{revision}.{number}"


class PauseSpec(Model):
    """A rest between two steps."""

    duration: Annotated[timedelta, Duration("1s", "30d")] | None = None
    """How long. Without it the rollout waits until the resource gets the annotation `logpersister.dev/promote`."""


class StepSpec(Model):
    """A share of the members that runs the new revision."""

    members: Annotated[Share, SomeOf(1000)]
    """How many members run the new revision after this step: a number, or a percentage of `spec.members`, rounded
    up."""

    pause: PauseSpec | None = None
    """Rest after this step. `{}` waits for the annotation `logpersister.dev/promote`, `{duration: 10m}` for a time.
    Without it the next step follows when the members of this one are ready."""


def _number(step: str) -> str:
    """Return the CEL of the number in a step's share."""
    return f"int(string({step}.members).replace('%', ''))"


class RolloutSpec(Model):
    """How members of a new revision take over from those of the old one."""

    strategy: Literal["Canary", "Recreate"] = "Canary"
    """`Canary`: a few members try the new revision beside the old ones, then the others follow step by step, and the
    service never stops. `Recreate`: the old members stop before new ones start, for when there is no room for both."""

    canary: CanarySpec = CanarySpec()
    """The first members of a new revision. Not with strategy `Recreate`."""

    shadow: ShadowSpec | None = None
    """Set it to have a new revision run beside the old one first, in a group and under a prefix of its own, and to have
    compared what both store. The canary follows when they agree. Not with strategy `Recreate`."""

    steps: Annotated[tuple[StepSpec, ...], Field(max_length=20)] = ()
    """Shares of the members after the canary, rising, with pauses where you want to look for yourself. Without them all
    members follow at once when the canary has passed. Not with strategy `Recreate`."""

    progress_deadline: Annotated[timedelta, Duration("1s", "7d")] = timedelta(minutes=10)
    """How long a rollout may make no progress before it has failed; pauses do not count. Longer than the canary is
    watched."""

    on_failure: Literal["Rollback", "Pause"] = "Rollback"
    """What becomes of a rollout that failed. `Rollback`: the old revision gets all members back. `Pause`: everything
    stays as it is until the spec changes."""

    attempt: Annotated[int, Whole(0, 2**31 - 1)] = 0
    """A number without a meaning of its own: change it to have a revision that failed tried again."""

    @rule(
        f"{milliseconds('$progressDeadline')} > {milliseconds('$canary.analysis.duration')}",
        "is not longer than canary.analysis.duration",
        "raise it, or watch the canary for a shorter time",
        "progressDeadline",
    )
    def _the_deadline_leaves_time_for_the_analysis(self) -> bool:
        return self.progress_deadline > self.canary.analysis.duration

    @rule(
        "$strategy != 'Recreate' || !has(self.canary)",
        "contradicts strategy Recreate, which has no canary",
        "remove it, or set strategy to Canary",
        "canary",
    )
    def _a_canary_is_for_its_strategy(self) -> bool:
        return self.strategy != "Recreate" or "canary" not in self.model_fields_set

    @rule(
        "$strategy != 'Recreate' || !has(self.shadow)",
        "contradicts strategy Recreate, for which there is no room beside the old members",
        "remove it, or set strategy to Canary",
        "shadow",
    )
    def _a_shadow_is_for_its_strategy(self) -> bool:
        return self.strategy != "Recreate" or self.shadow is None

    @rule(
        "$strategy != 'Recreate' || !has(self.steps) || self.steps.size() == 0",
        "contradicts strategy Recreate, which has one step",
        "remove it, or set strategy to Canary",
        "steps",
    )
    def _steps_are_for_their_strategy(self) -> bool:
        return self.strategy != "Recreate" or not self.steps

    @rule(
        "!has(self.steps) || self.steps.all(one, type(one.members) == int)"
        " || self.steps.all(one, type(one.members) == string)",
        "mixes numbers with percentages, whose order depends on spec.members",
        "write all of them as numbers or all as percentages",
        "steps",
    )
    def _steps_can_be_compared(self) -> bool:
        return len({step.members.is_percentage for step in self.steps}) <= 1

    @rule(
        f"!has(self.steps) || (self.steps.map(one, {_number('one')}).isSorted()"
        f" && self.steps.all(one, self.steps.exists_one(other, {_number('other')} == {_number('one')})))",
        "does not rise from step to step",
        "give each step more members than the one before",
        "steps",
    )
    def _steps_rise(self) -> Sequence[Finding]:
        return [
            Finding("does not have more members than the step before", "raise it, or remove the step", at)
            for at, (before, after) in zip(self._step_fields(), pairwise(self.steps), strict=False)
            if after.members.number <= before.members.number
        ]

    def _step_fields(self) -> list[tuple[str, int, str]]:
        """Return where the shares of all steps but the first are."""
        return [("steps", index, "members") for index in range(1, len(self.steps))]

"""How a rollout is to be made: ``spec.rollout``, and what follows from it."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from logpersister.manifest.blocks.rollout import PauseSpec, RolloutSpec, ShadowSpec, StepSpec


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything that a user may say about a rollout."""

    recreate: bool = False
    canary: int = 1
    """Members that try a revision first; also how many more than wanted there may be at any time."""
    duration: timedelta = timedelta(minutes=5)
    min_ranges: int = 3
    max_upload_failures: int = 0
    max_lag_growth: int = 20
    """A share in percent."""
    max_quarantine_ratio: int = 1
    """Percent of the candidate's records, beyond the share of the stable revision's."""
    steps: tuple[StepSpec, ...] = ()
    deadline: timedelta = timedelta(minutes=10)
    rolls_back: bool = True
    attempt: int = 0
    shadow: ShadowSpec | None = None

    @classmethod
    def of(cls, spec: RolloutSpec) -> Self:
        """Return what the spec says."""
        analysis = spec.canary.analysis
        return cls(
            recreate=spec.strategy == "Recreate",
            canary=spec.canary.members,
            duration=analysis.duration,
            min_ranges=analysis.min_ranges,
            max_upload_failures=analysis.max_upload_failures,
            max_lag_growth=analysis.max_lag_growth,
            max_quarantine_ratio=analysis.max_quarantine_ratio,
            steps=spec.steps,
            deadline=spec.progress_deadline,
            rolls_back=spec.on_failure == "Rollback",
            attempt=spec.attempt,
            shadow=spec.shadow,
        )

    @property
    def last_step(self) -> int:
        """The number of the step at which all members run the new revision; the canary is number 0."""
        return len(self.steps) + 1

    def surge(self, wanted: int) -> int:
        """Return how many members there may be beside those that are wanted."""
        return max(1, min(self.canary, wanted))

    def members(self, step: int, wanted: int) -> int:
        """Return how many members run the new revision after a step, of so many that are wanted."""
        first = min(self.canary, wanted)
        if step == 0:
            return first
        if step >= self.last_step:
            return wanted
        return max(first, self.steps[step - 1].members.of(wanted))

    def pause(self, step: int) -> PauseSpec | None:
        """Return the rest after a step, if there is one."""
        return self.steps[step - 1].pause if 0 < step < self.last_step else None

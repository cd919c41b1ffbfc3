"""The one way in: what is remembered and what is seen become what is to be remembered and done."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from logpersister_operator.rollout import shadow_analysis
from logpersister_operator.rollout.advance import follow
from logpersister_operator.rollout.analysis import due
from logpersister_operator.rollout.inputs import Situation
from logpersister_operator.rollout.invariants import check
from logpersister_operator.rollout.news import News, news
from logpersister_operator.rollout.next_replicas import move
from logpersister_operator.rollout.progress import Ended, Progress, ended, progress
from logpersister_operator.rollout.record import Record
from logpersister_operator.rollout.words import words


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is to be done, in this order."""

    record: Record
    """To be written before anything is done."""
    members: Mapping[str, int]
    """How many members each revision shall have. One with none that has none left is no longer needed. Empty: nothing
    may be touched."""
    shadow: int = 0
    """How many members the shadow of the candidate shall have; with none it is no longer needed."""
    words: str = ""
    news: tuple[News, ...] = ()
    look: datetime | None = None
    """When time alone may change something."""
    progress: Progress | None = None
    ended: tuple[Ended, ...] = ()
    """Rollouts that are over."""


def step(record: Record | None, situation: Situation) -> Outcome:
    """Decide. Raises RolloutError instead of a decision that breaks a rule, which is a mistake in this package."""
    path = follow(record, situation)
    last = path[-1]
    held = situation.deleting or (bool(situation.blocked) and not situation.paused)
    members = {} if held else move(last, situation)
    shadow = 0 if held else shadow_analysis.members(last, situation)
    check(path, situation, members, shadow)
    return Outcome(
        last,
        members,
        shadow,
        words(last, situation),
        tuple(news(path, situation)),
        _look(last, situation),
        progress(last, situation),
        ended(path, situation),
    )


def _look(record: Record, situation: Situation) -> datetime | None:
    return None if record.frozen or situation.deleting else due(record, situation)

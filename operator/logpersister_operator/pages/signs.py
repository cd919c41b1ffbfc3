"""Whether somebody should look at a resource, by its conditions. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Literal

from logpersister.pages.views import Cell, Table, Tone, when
from logpersister_operator.crd.status import Condition


class Trouble(IntEnum):
    """How urgently somebody should look at a resource."""

    NONE = 0
    WARNING = 1
    BAD = 2

    @property
    def tone(self) -> Tone:
        tones: tuple[Tone, ...] = ("good", "warning", "bad")
        return tones[self]


@dataclass(frozen=True, slots=True)
class Sign:
    """A condition that asks for a look."""

    aspect: StrEnum
    status: str
    trouble: Trouble
    words: str
    detail: Literal["reason", "summary", "none"] = "reason"
    """What follows the words: the reason of the condition, the summary of the resource, or nothing."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a resource stands."""

    state: Cell
    """A few words."""
    trouble: Trouble = Trouble.NONE
    cause: str = ""
    """What is wrong and what to do, as the condition says it; empty when nothing is."""
    place: int = 0
    """Place of the sign among all of its kind; behind all of them: there is none."""


def standing(
    signs: Iterable[Sign], conditions: Iterable[Condition], summary: str | None, *, is_idle: bool = False
) -> Standing:
    """Return what the first sign says that is there; ``signs`` begin with the most urgent one.

    A resource that is idle, because somebody wants it so, is neither good nor bad.
    """
    found, place = {one.type: one for one in conditions}, 0
    for place, sign in enumerate(signs, 1):
        condition = found.get(sign.aspect)
        if condition is not None and condition.status == sign.status:
            detail = {"reason": condition.reason, "summary": summary or "", "none": ""}[sign.detail]
            words = f"{sign.words}: {detail}" if detail else sign.words
            return Standing(Cell(words, sign.trouble.tone), sign.trouble, condition.message, place)
    return Standing(
        Cell(summary or "not reconciled yet", "plain" if is_idle or not summary else "good"), place=place + 1
    )


def conditions_table(conditions: Iterable[Condition]) -> Table:
    """Return all conditions of a resource."""
    rows = [(one.type, one.status, one.reason, when(one.last_transition_time), one.message) for one in conditions]
    return Table("Conditions", ("condition", "status", "reason", "since", "message"), rows)

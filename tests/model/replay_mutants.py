"""Replays, switches and readers that are broken on purpose; random histories must catch each."""

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from logpersister.member.bounded import Replay
from logpersister.member.state_store import BucketStateStore
from logpersister.ranges import Offset, Span
from logpersister.replay import planning
from logpersister.replay.bounds import bounds as bounds_of_product
from logpersister.storage import current
from logpersister.storage.current import Current, get_current

Patches = Callable[[], list[Any]]


def _bounds_as_they_were_asked_for() -> list[Any]:
    def bounds(_stored: Any, committed: Offset, available: Offset, since: Any, until: Any) -> Span | None:
        begin, end = available if since is None else max(since, available), min(committed, until or committed)
        return (begin, end) if begin < end else None

    return [patch.object(planning, "bounds", bounds)]


def _bounds_without_those_of_replays() -> list[Any]:
    def bounds(stored: Any, *asked: Any) -> Span | None:
        return bounds_of_product(stored[:1], *asked)

    return [patch.object(planning, "bounds", bounds)]


def _end_behind_what_is_committed() -> list[Any]:
    def bounds(stored: Any, committed: Offset, *asked: Any) -> Span | None:
        return bounds_of_product(stored, committed + 2, *asked)

    return [patch.object(planning, "bounds", bounds)]


def _change_the_document_when_switched() -> list[Any]:
    def change(store: Any, group: str, topic: str, changed: Callable[[Current], Current]) -> Current:
        return changed(get_current(store, group, topic))

    return [patch.object(planning, "change_current", change)]


def _leave_other_segments() -> list[Any]:
    return [patch.object(current, "minus", lambda spans, _taken: spans)]


MUTANTS: dict[str, tuple[Patches, int]] = {
    "a replay begins and ends where it was asked to": (_bounds_as_they_were_asked_for, 0),
    "a replay begins and ends within ranges of another one": (_bounds_without_those_of_replays, 23),
    "a replay ends behind what is committed": (_end_behind_what_is_committed, 0),
    "ranges of a replay go over the ends of another one": (
        lambda: [patch.object(Replay, "cut_behind", lambda *_: None)],
        31,
    ),
    "the document does not know a replay before it counts": (_change_the_document_when_switched, 0),
    "a replay goes by what its group has stored": (
        lambda: [patch.object(BucketStateStore, "_belongs", lambda *_: True)],
        0,
    ),
    "a switch leaves the segments of others": (_leave_other_segments, 12),
}
"""Each with a seed from which on it is found soon."""

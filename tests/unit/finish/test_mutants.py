"""Finishing that is broken on purpose is caught by random histories: an oracle that never objects proves nothing."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from logpersister.finish import look, publishing, watermark
from logpersister.finish.passing import Passing
from logpersister.finish.publishing import Publisher
from logpersister.pipeline.arrivals import ArrivalNotes
from logpersister.storage.finished import FolderContent
from tests.unit.finish.test_histories import STEPS, History
from tests.unit.finish.world import FakeStore

pytestmark = pytest.mark.slow
HISTORIES = 400
"""At most. Most are caught within ten."""
Patch = pytest.MonkeyPatch


def one_partition_has_passed(patch: Patch) -> None:
    waits = Passing.waits

    def some_wait(passing: Passing, positions: Any, end: int) -> Mapping[int, str]:
        found = waits(passing, positions, end)
        return found if len(found) == len(passing.progress(positions)) else {}

    patch.setattr(Passing, "waits", some_wait)


def a_record_passes_that_is_not_stored(patch: Patch) -> None:
    passed = watermark._has_passed

    def passes(progress: Any, first: Any, *rest: Any, hidden: bool) -> bool:
        return (first is not None and not hidden) or passed(progress, first, *rest, hidden=hidden)

    patch.setattr(watermark, "_has_passed", passes)


def partitions_are_done_that_have_not_passed(patch: Patch) -> None:
    patch.setattr(Passing, "_unproven", lambda *_: {})


def arrivals_are_not_noted(patch: Patch) -> None:
    patch.setattr(ArrivalNotes, "__call__", lambda *_: None)


def arrivals_are_forgotten_before_they_are_committed(patch: Patch) -> None:
    patch.setattr(look, "_is_committed", lambda *_: True)


def what_is_listed_and_not_committed_is_forgotten(patch: Patch) -> None:
    patch.setattr(Publisher, "_note_pending", lambda *_: None)


def contents_are_replaced_by_whoever_comes(patch: Patch) -> None:
    def replace_json(store: FakeStore, key: str, document: Mapping[str, Any], tag: str | None) -> bool:
        store.put_json(key, document)
        return True

    patch.setattr(FakeStore, "replace_json", replace_json)


def numbers_do_not_rise(patch: Patch) -> None:
    following = publishing._next

    def same_number(*arguments: Any, **more: Any) -> FolderContent:
        return replace(following(*arguments, **more), number=1)

    patch.setattr(publishing, "_next", same_number)


MUTANTS: dict[Callable[[Patch], None], int] = {
    one_partition_has_passed: 0,
    a_record_passes_that_is_not_stored: 0,
    partitions_are_done_that_have_not_passed: 0,
    arrivals_are_not_noted: 0,
    arrivals_are_forgotten_before_they_are_committed: 115,
    what_is_listed_and_not_committed_is_forgotten: 290,
    contents_are_replaced_by_whoever_comes: 220,
    numbers_do_not_rise: 0,
}
"""With the first seed that is tried: some take hundreds of histories, and are left to `make soak`."""


def holds(seed: int) -> bool:
    history = History(seed)
    try:
        for _ in range(STEPS):
            history.step()
        history.end()
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize(
    "mutant",
    [pytest.param(mutant, marks=pytest.mark.soak if first else ()) for mutant, first in MUTANTS.items()],
    ids=lambda mutant: mutant.__name__,
)
def test_broken_finishing_is_caught(mutant: Callable[[Patch], None], monkeypatch: Patch) -> None:
    first = MUTANTS[mutant]
    with monkeypatch.context() as patch:
        mutant(patch)
        caught = next((seed for seed in range(first, first + HISTORIES) if not holds(seed)), None)
    assert caught is not None
    assert holds(caught), "without the mutant it is a good history"

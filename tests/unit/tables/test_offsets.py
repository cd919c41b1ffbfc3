"""What a table holds, as its snapshots say it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from logpersister.tables.errors import TableError
from logpersister.tables.offsets import Ancestor, Held, Numbering, TableView, held_by, held_text, last_text

OURS = Numbering(1, "id")
HELD: Held = {OURS: {0: 5, 11: 7}, Numbering(2, ""): {0: 1}}


def view(*ancestors: Ancestor, last: str | None = None, accepted: str | None = None) -> TableView:
    return TableView("lake.clicks", "uuid", 0, ancestors, last, accepted)


def ours(sequence: int, held: Held = HELD, *, parent: bool = True) -> Ancestor:
    return Ancestor(sequence * 100, sequence, parent, held_text(held))


def others(sequence: int, *, parent: bool = True) -> Ancestor:
    return Ancestor(sequence * 100, sequence, parent, None)


LAST = last_text(HELD, 300, 3)


def test_offsets_are_those_of_the_nearest_snapshot_of_ours() -> None:
    older: Held = {OURS: {0: 1}}
    assert held_by(view()) == {}
    assert held_by(view(ours(3), ours(2, older), last=LAST)) == HELD
    assert held_by(view(others(5), others(4), ours(3), last=LAST)) == HELD
    assert held_by(view(ours(3))) == HELD, "somebody has removed the property"
    assert held_by(view(others(1))) == {}


@pytest.mark.parametrize(
    "ancestors",
    [
        [],
        [others(2)],
        [ours(2, {OURS: {0: 1}})],
        [others(5), ours(2, {OURS: {0: 1}})],
        [others(5), others(2, parent=False)],
        [others(5, parent=False)],
    ],
    ids=["emptied", "before ours", "to one of ours", "and appended by others", "whole", "replaced"],
)
def test_a_table_that_was_set_back_is_asked_about(ancestors: Sequence[Ancestor]) -> None:
    with pytest.raises(TableError, match=r"lake.clicks was rolled back.*logpersister.accepted to") as error:
        held_by(view(*ancestors, last=LAST))
    assert (error.value.reason, error.value.retriable) == ("rolled-back", False)
    for one in ancestors:
        assert held_by(view(*ancestors, last=LAST, accepted=str(one.snapshot_id))) == HELD
    with pytest.raises(TableError):
        held_by(view(*ancestors, last=LAST, accepted="1"))


def test_a_rollback_is_accepted_once() -> None:
    accepted = others(2)
    behind = ours(4, {OURS: {0: 9}})
    assert held_by(view(behind, accepted, last=last_text({OURS: {0: 9}}, 400, 4), accepted="200")) == {OURS: {0: 9}}
    with pytest.raises(TableError, match="was rolled back"):
        held_by(view(behind, accepted, last=last_text({OURS: {0: 12}}, 500, 5), accepted="200"))


@pytest.mark.parametrize("text", ["", "[]", "{}x", '{"x/y": {"0": 1}}', '{"1/y": 5}', '{"1/y": {"0": "x"}}'])
def test_what_nobody_of_us_writes_is_refused(text: str) -> None:
    with pytest.raises(TableError, match="is not what a member writes") as error:
        held_by(view(replace(ours(3), offsets=text)))
    assert error.value.reason == "unreadable"
    with pytest.raises(TableError, match=r"logpersister\.last"):
        held_by(view(ours(3), last=text))

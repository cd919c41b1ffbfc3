"""A partition that moves though it is held for its schema is a broken promise."""

from tests.chaos.check import Progress
from tests.chaos.incompatible import Stands, compared


def stands(**committed: int) -> Stands:
    return {"rows": {(topic, 0): Progress(at, (), 99) for topic, at in committed.items()}}


def test_what_is_held_has_not_moved_and_the_others_have() -> None:
    before = stands(sales=5, events=7)
    assert compared(before, stands(sales=5, events=9)) == (2, [])
    assert compared(before, stands(sales=6, events=7)) == (0, ["rows: sales-0"])

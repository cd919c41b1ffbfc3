"""What a run does is dealt by its seed, and its judges share nothing with the product."""

import ast
from itertools import islice
from pathlib import Path

import pytest

from tests.chaos.deck import cards, deal
from tests.chaos.disturbances import Kill
from tests.chaos.settings import Settings, crews

HERE = Path(__file__).parent


def dealt(seed: int) -> list[str]:
    return [f"{pause:.3f} {disturbance}" for pause, disturbance in islice(deal(Settings(seed)), 60)]


def test_a_seed_deals_the_same_again() -> None:
    assert dealt(7) == dealt(7)
    assert dealt(7) != dealt(8)


@pytest.mark.parametrize("groups", [("text", "files"), ("rows",), ("table",), ()])
@pytest.mark.parametrize("brokers", [1, 3])
def test_every_kind_is_dealt_before_any_is_dealt_again_and_again(brokers: int, groups: tuple[str, ...]) -> None:
    settings = Settings(7, brokers=brokers, crews=crews(*groups))
    number = sum(copies for _, copies in cards(settings))
    first, second = (
        [disturbance for _, disturbance in islice(deal(settings), begin, begin + number)] for begin in (0, number)
    )
    assert sorted(one.name for one in first) == sorted(one.name for one in second)
    assert {one.how for one in first if isinstance(one, Kill)} == {"driver", "tree", "jvm"}


def test_the_product_is_seen_from_outside() -> None:
    """An examination that shared code with what it examines would share its mistakes."""
    for file in HERE.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith("logpersister") for name in names), file

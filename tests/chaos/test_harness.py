"""What a run does is dealt by its seed, its judges share nothing with the product, and what they are given is whole."""

import ast
import gzip
from io import BytesIO
from itertools import islice
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.chaos.check import Progress, Row, Seen, digest
from tests.chaos.deck import cards, deal
from tests.chaos.disturbances import Kill
from tests.chaos.incompatible import Stands, compared
from tests.chaos.ledger import Ledger
from tests.chaos.settings import Settings, crews
from tests.chaos.witnesses import UnreadableError, escaped_gzip_lines, stored

HERE = Path(__file__).parent


def test_a_seed_deals_the_same_again() -> None:
    first, again, other = (list(map(str, islice(deal(Settings(seed)), 60))) for seed in (7, 7, 8))
    assert first == again != other


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


def test_what_is_held_has_not_moved_and_the_others_have() -> None:
    def stands(**committed: int) -> Stands:
        return {"rows": {(topic, 0): Progress(at, (), 99) for topic, at in committed.items()}}

    before = stands(sales=5, events=7)
    assert compared(before, stands(sales=5, events=9)) == (2, [])
    assert compared(before, stands(sales=6, events=7)) == (0, ["rows: sales-0"])


def test_objects_are_read_by_their_names_or_told() -> None:
    name = "text/a%2Fb/dt=2026-11-21/1_7_00000000000000000042.txt.gz"

    def look(key: str, text: bytes, cut: int | None = None) -> list[Row]:
        keys = (key, "text/_logpersister/text/revisions/1.json")
        pages = [{"Contents": [{"Key": one} for one in keys]}, {}]
        client = Mock()
        client.get_paginator("").paginate.return_value = pages
        client.get_object.return_value = {"Body": BytesIO(gzip.compress(text, mtime=0)[:cut])}
        (one,) = stored(client, "chaos", "text", escaped_gzip_lines)
        assert (one.of, one.path, one.generation, one.start) == (("a/b", 7), "dt=2026-11-21", 1, 42)
        return list(one.rows)

    lines = b"one\n\n" + rb"line\nbreak and \\n" + b"\n"
    assert look(name, lines) == [Row(digest(value)) for value in (b"one", b"", b"line\nbreak and \\n")]
    no_escape = rb"no escape of ours: \t" + b"\n"
    for key, text, cut in (("text/clicks/part-0", b"", None), (name, b"half a line", None), (name, no_escape, None)):
        with pytest.raises(UnreadableError, match=key.rsplit("/", 1)[1]):
            look(key, text, cut)
    with pytest.raises(UnreadableError):
        look(name, b"whole\n", -4)


def test_producers_and_consumer_disagree() -> None:
    ledger, of = Ledger(), ("clicks", 0)
    ledger.acknowledged([(of, 0, b"x"), (of, 1, None)])
    ledger.aborted([(of, 2, b"never")])
    assert ledger.aborted_values() == {digest(b"never")}
    for seen, contradictions in (
        ([b"x", None], 0),
        ([b"x"], 1),
        ([b"y", None], 1),
        ([b"x", None, b"never"], 1),
    ):
        read = [Seen(at, 0, None, None if value is None else digest(value)) for at, value in enumerate(seen)]
        assert len(list(ledger.contradictions({of: read}))) == contradictions

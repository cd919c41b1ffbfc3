"""What the judge is given: names and content of objects, and what producers know."""

import gzip
from collections.abc import Iterator
from io import BytesIO
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.chaos.check import Row, Seen, digest
from tests.chaos.ledger import Ledger
from tests.chaos.witnesses import Read, UnreadableError, escaped_gzip_lines, stored

OF = ("clicks", 0)


class Bucket:
    """As much of boto3's client as is asked."""

    def __init__(self, content: dict[str, bytes]) -> None:
        self._content = content

    def get_paginator(self, _: str) -> Any:
        def paginate(Bucket: str, Prefix: str) -> Iterator[Any]:  # noqa: N803 - boto3's names
            for key in self._content:
                yield {"Contents": [{"Key": key}]} if key.startswith(Prefix) else {}

        return SimpleNamespace(paginate=paginate)

    def get_object(self, Bucket: str, Key: str) -> Any:  # noqa: N803
        return {"Body": BytesIO(self._content[Key])}


def look(content: dict[str, bytes], read: Read = escaped_gzip_lines) -> list[Any]:
    return list(stored(cast("Any", Bucket(content)), "chaos", "text", read))


def test_names_and_lines() -> None:
    lines = gzip.compress(b"one\n\n" + rb"line\nbreak and \\n" + b"\n", mtime=0)
    content = {
        "text/a%2Fb/dt=2026-11-21/1_7_00000000000000000042.txt.gz": lines,
        "text/_logpersister/text/revisions/1.json": b"{}",
        "other/clicks/1_0_00000000000000000000.txt.gz": b"",
    }

    (one,) = look(content)

    assert (one.of, one.path, one.generation, one.start) == (("a/b", 7), "dt=2026-11-21", 1, 42)
    assert one.rows == [Row(digest(value)) for value in (b"one", b"", b"line\nbreak and \\n")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("text/clicks/part-0", gzip.compress(b"", mtime=0)),
        ("text/clicks/1_0_00000000000000000000.txt.gz", gzip.compress(b"half a line", mtime=0)),
        ("text/clicks/1_0_00000000000000000000.txt.gz", gzip.compress(b"whole\n", mtime=0)[:-4]),
        ("text/clicks/1_0_00000000000000000000.txt.gz", gzip.compress(rb"no escape of ours: \t" + b"\n", mtime=0)),
    ],
)
def test_what_cannot_be_read_is_told(name: str, content: bytes) -> None:
    with pytest.raises(UnreadableError, match=name.rsplit("/", 1)[1]):
        look({name: content})


@pytest.mark.parametrize(
    ("seen", "contradictions"),
    [
        ([(0, b"x"), (1, None)], 0),
        ([(0, b"x")], 1),
        ([(0, b"y"), (1, None)], 1),
        ([(0, b"x"), (1, None), (2, b"never")], 1),
    ],
    ids=["agree", "lost", "changed", "aborted"],
)
def test_producers_and_consumer_disagree(seen: list[tuple[int, bytes | None]], contradictions: int) -> None:
    ledger = Ledger()
    ledger.acknowledged([(OF, 0, b"x"), (OF, 1, None)])
    ledger.aborted([(OF, 2, b"never")])
    read = [Seen(offset, 0, None, None if value is None else digest(value)) for offset, value in seen]
    assert len(list(ledger.contradictions({OF: read}))) == contradictions
    assert ledger.aborted_values() == {digest(b"never")}

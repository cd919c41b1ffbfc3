"""A topic without types is a topic of one type: its records go the way that those of one of several types go."""

from typing import Any

import pytest

from logpersister.compiled.topic import CompiledTopic
from logpersister.formats.base import ObjectIdentity
from logpersister.pipeline.splitting import by_path
from logpersister.ranges import Range, TopicPartition
from logpersister.records.escaping import LATE, QUARANTINE, own_path
from tests.unit.formats.samples import encode, with_headers
from tests.unit.manifest.documents import spec_with
from tests.unit.records.batches import batch_of, placed

DAY = 86_400_000
RANGE = Range(TopicPartition("clicks", 0), 0, 100)
VALUES = [b'{"id": 1}', b"{", None, b'{"id": 4, "of": "b"}', b'{"of": "c"}', b'{"id": 6, "of": "a"}', b"7"]
FIELDS = [{"name": "id", "type": "int64", "required": True}, {"name": "of", "type": "string"}]
RECORDS = with_headers(
    batch_of([DAY * (row % 3) for row in range(len(VALUES))], values=VALUES, keys=[b"a"] * len(VALUES)),
    [[(b"v", b"%d" % (row % 2))] for row in range(len(VALUES))],
)
DAYS = [{"date": {"granularity": "day"}}]
OF_HEADERS, OF_FIELDS = {"header": "v", "in": ["0"]}, {"field": "of", "in": ["a", "b"], "orAbsent": True}


def below(path: str) -> str:
    """Return a path in the folder of type ``a``."""
    if path == QUARANTINE:
        return path
    found = f"type=a/{own_path(path)}".removesuffix("/")
    return f"{LATE}/{found}" if path.startswith(LATE) else found


ROWS: dict[str, Any] = {"json": {"fields": FIELDS}}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[Any]]] = {
    "text": ({"bytes": {}}, {"text": {}}, []),
    "text-by-header": ({"bytes": {}}, {"text": {}}, [OF_HEADERS]),
    "json-lines": ({"json": {}}, {"jsonl": {}}, [OF_HEADERS]),
    "parquet": (ROWS, {"parquet": {}}, []),
    "parquet-by-header": (ROWS, {"parquet": {}}, [OF_HEADERS]),
    "folders-by-field": (ROWS, {"parquet": {}, "partitionBy": [{"field": "of", "prefix": "by="}, *DAYS]}, [OF_FIELDS]),
}


@pytest.mark.parametrize("horizon", [None, 2 * DAY], ids=["none-late", "some-late"])
@pytest.mark.parametrize("late", ["folder", "quarantine"])
@pytest.mark.parametrize("case", CASES)
def test_one_type_and_one_of_several(case: str, late: str, horizon: int | None) -> None:
    value, output, keep = CASES[case]
    same = {"output": {"partitionBy": DAYS, **output}, "value": value, "finish": {"late": late}}
    entries = [{"names": ["a"], "keep": keep}]
    alone = CompiledTopic(spec_with(**same, keep=keep), lambda _: None)
    typed = CompiledTopic(spec_with(**same, types={"key": True, "entries": entries}), lambda _: None)
    ours, theirs = alone.layout_at(horizon), typed.layout_at(horizon)
    assert {offset: (below(path), *more) for offset, (path, *more) in placed(RECORDS, ours).items()} == placed(
        RECORDS, theirs
    )
    found, wanted = dict(by_path(RECORDS, ours)), dict(by_path(RECORDS, theirs))
    assert {below(path) for path in found} == wanted.keys()
    for path in found.keys() - {QUARANTINE}:
        contents = [
            encode(topic.formats, [rows[at]], ObjectIdentity(RANGE, at))
            for topic, rows, at in ((alone, found, path), (typed, wanted, below(path)))
        ]
        assert contents[0] == contents[1], path
        assert alone.formats.at(path).extension == typed.formats.at(below(path)).extension

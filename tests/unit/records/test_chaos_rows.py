"""What `make chaos` knows of rows is what parsers, layouts and formats make of them: noticed before a long run."""

import random
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from logpersister.formats.registry import format_of
from logpersister.manifest import parse
from logpersister.pipeline.persist import RangeWriter
from logpersister.pipeline.room import Room
from logpersister.records.schema import RECORDS_WITH_HEADERS
from logpersister.records.typed import layout_for
from tests.chaos import events, readings
from tests.chaos.check import Row, Seen
from tests.chaos.choices import FORMATS, PARSERS, Choices
from tests.chaos.contents import QUARANTINE, folder
from tests.chaos.outputs import Addresses, Edits, outputs
from tests.unit.pipeline.fakes import FakeBucket, work

ADDRESSES = Addresses("127.0.0.1:9092", "http://127.0.0.1:9000", "http://127.0.0.1:8081", "http://127.0.0.1:8181")
NOW = 1_795_262_400_250
ENVIRONMENTS: Sequence[list[tuple[str, bytes]]] = ([], [("env", b"prod")], [("env", b"test")])
Rows = Mapping[str, Sequence[Row]]
"""By folder."""


def record(offset: int, value: bytes | None, headers: list[tuple[str, bytes]]) -> Any:
    return SimpleNamespace(offset=offset, timestamp=NOW, key=b"\xff\0", value=value, headers=headers)


def stored(group: str, choices: Choices, topic: str, records: Sequence[Any]) -> Rows:
    """Return what the judge reads of what the product has stored."""
    output = outputs(choices)[group]
    manifest = parse(output.manifest(ADDRESSES, session_seconds=20, edits=Edits(corrected=True)))
    spec, bucket = manifest.for_topic(topic).spec, FakeBucket()
    layout, room = layout_for(spec, lambda _: None), Room(10**9, 10**9)
    writer = RangeWriter(work(0, len(records)), layout, format_of(spec), bucket.open_upload, room)
    columns = [
        {
            **{name: getattr(one, name) for name in ("offset", "timestamp", "key", "value")},
            "headers": [{"key": name, "value": value} for name, value in one.headers],
        }
        for one in records
    ]
    writer.write(pa.RecordBatch.from_pylist(columns, RECORDS_WITH_HEADERS))
    assert not writer.end_pass()
    found = {key.rpartition("/")[0]: bytes(content) for key, content in bucket.objects.items()}
    return {path: output.read(topic, path, content).rows for path, content in found.items()}


def expected(group: str, choices: Choices, judge: Callable[..., Seen], records: Sequence[Any]) -> Rows:
    layout = outputs(choices)[group].layout
    found: dict[str, list[Row]] = {}
    for seen in (judge(one, keeps=choices.keeps) for one in records):
        path, row = layout.path(seen), layout.row(seen)
        if path is not None:
            found.setdefault(path, []).extend([row] if row is not None else [])
    return found


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("parser", PARSERS)
def test_readings(parser: Any, format_: Any, keeps: bool) -> None:
    choices = Choices(parser=parser, format=format_, keeps=keeps)
    chance, written = random.Random(parser), readings.Readings(choices)
    records = [record(n, written.value(chance), chance.choice(ENVIRONMENTS)) for n in range(150)]
    wanted = expected("rows", choices, written.seen, records)
    assert stored("rows", choices, readings.TOPIC, records) == wanted
    shops = ("shop-2", "Köln/1 a", "a;b, 'c'", "")
    assert wanted.keys() == {QUARANTINE, *(folder(readings.PREFIX, shop) for shop in shops)}
    assert len({row.value for row in wanted[QUARANTINE]}) >= 3, "some kinds of bad values"


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("choices", [Choices(), Choices(table="types")], ids=["in folders of shops", "by minute"])
def test_events(choices: Choices, keeps: bool) -> None:
    group = "table" if choices.table == "types" else "rows"
    choices = Choices(table=choices.table, keeps=keeps)
    chance = random.Random(2)
    values = events.Values(chance)
    records = []
    for offset in range(500):
        headers, value = values.record()
        records.append(record(offset, value, [*headers, *chance.choice(ENVIRONMENTS)]))
    wanted = expected(group, choices, events.seen, records)
    assert stored(group, choices, events.TOPIC, records) == wanted
    types = {"type=clicks", "type=refund", "type=audit.login", "type=audit.änder%2Fung"}
    assert {path.partition("/")[0] for path in wanted} == {QUARANTINE, *types}

"""Records of many types in one range: each in the folder, by the parser and in the format of its type."""

import io
import json
import struct
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.compiled.formats import formats_of
from logpersister.manifest.spec import Spec
from logpersister.pipeline import waiting_types
from logpersister.pipeline.persist import RangeWriter
from logpersister.pipeline.room import Room
from logpersister.pipeline.splitting import MOST_BYTES
from logpersister.records.schema import RECORDS_WITH_HEADERS
from logpersister.records.topic_layout import layout_for
from logpersister.report.facts import TypeCounts
from tests.examples import examples
from tests.unit.manifest.documents import spec_with
from tests.unit.pipeline.fakes import FakeBucket, work
from tests.unit.records.batches import placed

DAY = 86_400_000
SCHEMA = {"fields": [{"name": "id", "type": "int64", "required": True}, {"name": "kind", "type": "string"}]}
CLICK = {
    "value": {"json": SCHEMA},
    "output": {"parquet": {"kafkaColumns": ["offset"]}, "partitionBy": [{"date": {"granularity": "day"}}]},
}
TEXT = {"text": {"compression": "none"}}
ENTRIES = [
    {"names": ["click", "view"], **CLICK},
    {"names": ["1001", "1002"], "folder": "container", **CLICK},
    {"pattern": "^audit[.]", "output": {"jsonl": {"compression": "none"}}},
    {"names": ["noise"], "action": "drop"},
    {"names": ["odd"], "action": "quarantine"},
]
FRAME = {"type": {"at": 0}, "timestamp": {"at": 4, "bytes": 8}, "header": {"lengthAt": 12}, "body": {"lengthAt": 16}}
LONG = "ü" * 60
NAMES = ["click", "view", "1001", "1002", "audit.a", "audit.b", "noise", "odd", "container", "stranger", "", None, LONG]

WAYS: Sequence[dict[str, Any]] = ({"header": "event-type"}, {"key": True}, {"field": "kind"})


def spec_of(way: dict[str, Any], entries: Sequence[Any] = ENTRIES, **others: Any) -> Spec:
    return spec_with(output=TEXT, types={**way, "entries": entries, **others})


def batch_of(records: Sequence[tuple[int, str | None, bytes | None]], way: dict[str, Any]) -> pa.RecordBatch:
    """Make records of days, types and values; the offset of each is its number."""
    rows = []
    for offset, (day, name, value) in enumerate(records):
        encoded = None if name is None else name.encode()
        headers: list[dict[str, bytes | None]] = [{"key": b"other", "value": b"click"}]
        if "header" in way:
            headers += [{"key": b"event-type", "value": b"replaced"}] if offset % 2 else []
            headers += [{"key": b"event-type", "value": encoded}]
        key = encoded if "key" in way else b"key"
        rows.append({"offset": offset, "timestamp": day * DAY, "key": key, "value": value, "headers": headers})
    return pa.RecordBatch.from_pylist(rows, schema=RECORDS_WITH_HEADERS)


def value_of(number: int, name: str | None, kind: int) -> bytes | None:
    """Return a row, a row without its required field, or no JSON."""
    document = {"kind": name} | ({"id": number} if kind != 1 else {})
    return None if kind == 3 else json.dumps(document).encode() if kind < 2 else b'{"kind": '


def written(
    spec: Spec, batches: Sequence[pa.RecordBatch], room: Room, hold_above: int | None = None
) -> tuple[FakeBucket, RangeWriter]:
    bucket = FakeBucket()
    layout, file_format = layout_for(spec, lambda _: None), formats_of(spec)
    writer = RangeWriter(work(0, 10_000), layout, file_format, bucket.open_upload, room, hold_above)
    while True:
        for batch in batches:
            writer.write(batch)
        if not writer.end_pass():
            return bucket, writer


def cut(batch: pa.RecordBatch, lengths: Sequence[int]) -> list[pa.RecordBatch]:
    found, begin = [], 0
    for length in (*lengths, batch.num_rows):
        found.append(batch.slice(begin, length))
        begin = min(begin + length, batch.num_rows)
    return found


RECORDS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(NAMES), st.integers(0, 3)), min_size=1, max_size=60)


@examples(60)
@given(
    st.sampled_from(WAYS),
    RECORDS,
    st.lists(st.integers(0, 20), max_size=5),
    st.one_of(st.integers(400, 20_000), st.just(10**9)),
    st.sampled_from([1, 30_000, 100_000, MOST_BYTES]),
    st.sampled_from([None, 100]),
)
def test_objects_depend_on_the_records_only_and_each_record_is_in_its_folder(
    way: dict[str, Any],
    drawn: list[tuple[int, str | None, int]],
    lengths: list[int],
    total: int,
    most_waiting: int,
    hold_above: int | None,
) -> None:
    spec = spec_of(way)
    records = [(day, name, value_of(number, name, kind)) for number, (day, name, kind) in enumerate(drawn)]
    batch = batch_of(records, way)
    whole, _ = written(spec, [batch], Room(10**9, 10**9))
    with patch.object(waiting_types, "MOST_BYTES", most_waiting):
        bounded, writer = written(spec, cut(batch, lengths), Room(total, total // 3), hold_above=hold_above)
    assert bounded.objects == whole.objects
    assert bounded.facts == whole.facts
    expected: defaultdict[str, list[int]] = defaultdict(list)
    for offset, (day, name, value) in enumerate(records):
        kind = drawn[offset][2]
        is_told = "field" not in way or kind < 2
        path = path_of(name if is_told else None, day, kind, value)
        if path is not None:
            expected[f"{path}/0"].append(offset)
    stored = {key: int(facts["records"]) for key, facts in whole.facts.items()}
    assert stored == {key: len(offsets) for key, offsets in expected.items()}
    assert {key: (facts["first"], facts["last"]) for key, facts in whole.facts.items()} == {
        key: (str(offsets[0]), str(offsets[-1])) for key, offsets in expected.items()
    }
    assert writer.counts.dropped == len(records) - sum(stored.values())
    assert writer.counts.types == counts_of(drawn, records, way)


@pytest.mark.parametrize("total", [2_000, 20_000], ids=["little room", "more room"])
def test_refused_records_that_waited_stand_before_those_that_did_not(total: int) -> None:
    records = [(0, "click", b"{"), (0, "stranger", b"{}"), (0, "click", b'{"id": 1}')] * 3
    batch = batch_of(records, {"key": True})
    bucket, writer = written(spec_of({"key": True}), [batch], Room(total, total // 3))
    refused = pq.read_table(io.BytesIO(bucket.objects["_quarantine/0"])).column("kafka_offset")
    assert refused.to_pylist() == [0, 1, 3, 4, 6, 7]
    quarantined = writer.quarantined()
    assert quarantined is not None
    assert (quarantined.records, quarantined.first) == (6, 0)


def counts_of(
    drawn: Sequence[tuple[int, str | None, int]], records: Sequence[tuple[int, str | None, bytes | None]], way: Any
) -> dict[str, TypeCounts]:
    """Count once more, record by record."""
    found: dict[str, TypeCounts] = {}
    for (day, name, value), (_, _, kind) in zip(records, drawn, strict=True):
        type_ = name if "field" not in way or kind < 2 else None
        path = path_of(type_, day, kind, value)
        key = (type_ or "").encode() if "key" in way else b"key"
        if "key" in way and name is not None:
            key = name.encode()
        size = len(value or b"") + (0 if "key" in way and name is None else len(key))
        label = "/^audit[.]/" if (type_ or "").startswith("audit.") else type_
        label = label if label in ("click", "view", "1001", "1002", "/^audit[.]/", "noise", "odd") else "other"
        counts = TypeCounts(1, size) if path is not None else TypeCounts(dropped=1)
        if path == "_quarantine":
            counts = replace(counts, quarantined=1)
        elif path is not None:
            counts = replace(counts, newest=day * DAY)
        found[label or ""] = found.get(label or "", TypeCounts()).plus(counts)
    return found


def path_of(name: str | None, day: int, kind: int, value: bytes | None) -> str | None:
    """Return where a record belongs; None: nowhere."""
    if name in ("click", "view", "1001", "1002"):
        folder = name if name in ("click", "view") else "container"
        is_good = kind in (0, 3) and value != b'{"kind": '
        return f"type={folder}/dt=1970-01-0{day + 1}" if is_good else "_quarantine"
    if name is not None and name.startswith("audit."):
        return f"type={name}"
    return None if name == "noise" else "_quarantine"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b'{"kind": ' + b"1" * 5_000 + b"}", ("_quarantine", "no_type")),
        (b'{"other": {"\\ud800": "\\ud800"}, "kind": "audit.a"}', ("type=audit.a", None)),
        (b'{"kind": "audit.\\ud800"}', ("_quarantine", "no_type")),
        (b'{"other": ' + b"[" * 5_000 + b"]" * 5_000 + b', "kind": "audit.a"}', ("type=audit.a", None)),
    ],
    ids=["digits", "half of others", "half a type", "deep"],
)
def test_types_in_odd_documents(value: bytes, expected: tuple[str, str | None]) -> None:
    spec = spec_of({"field": "kind"})
    batch = batch_of([(0, None, value)], {"field": "kind"})
    assert paths(batch, layout_for(spec, lambda _: None)) == {0: expected}


def paths(batch: pa.RecordBatch, layout: Any) -> dict[int, tuple[str, str | None]]:
    """Return the path of each record, and why it is refused."""
    return {offset: (path, reason) for offset, (path, reason, *_) in placed(batch, layout).items()}


def frame(type_: int, milliseconds: int, header: bytes, body: bytes) -> bytes:
    return struct.pack(">iqii", type_, milliseconds, len(header), len(body)) + header + body


def test_the_body_of_a_frame_becomes_columns_and_its_time_names_the_folder() -> None:
    spec = spec_of({"frame": FRAME}, ENTRIES[1:3], others={"action": "store"})
    body = json.dumps({"id": 7, "kind": "x"}).encode()
    values: list[Any] = [
        frame(1001, 2 * DAY, b"header", body),
        frame(1001, 3 * DAY, b"", body),
        frame(-5, 0, b"h", b"any"),
        frame(1001, DAY, b"header", b"no JSON"),
        frame(1001, DAY, b"header", body)[:-1],
        frame(1001, DAY, b"header", body) + b"more",
        struct.pack(">iqii", 1001, 0, -1, 1),
        b"short",
        None,
    ]
    batch = batch_of([(9, None, value) for value in values], {"frame": FRAME})
    bucket, writer = written(spec, [batch], Room(10**9, 10**9))
    rows = pq.read_table(io.BytesIO(bucket.objects["type=container/dt=1970-01-03/0"])).to_pylist()
    assert rows == [{"id": 7, "kind": "x", "kafka_offset": 0}]
    assert {name: (one.records, one.quarantined, one.newest) for name, one in writer.counts.types.items()} == {
        "1001": (3, 1, 3 * DAY),
        "other": (6, 5, 0),
    }
    assert "type=container/dt=1970-01-04/0" in bucket.objects
    assert bucket.objects["type=-5/0"] == values[2] + b"\n", "without a schema the whole frame is stored"
    refused = pq.read_table(io.BytesIO(bucket.objects["_quarantine/0"])).to_pylist()
    assert [(row["kafka_offset"], row["reason"]) for row in refused] == [
        (3, "not_json"),
        *((offset, "no_type") for offset in range(4, 9)),
    ]
    assert refused[0]["value"] == values[3]


def test_names_of_folders_are_escaped_and_tell_the_format() -> None:
    entries = [{"pattern": "^a", **CLICK}, {"names": ["b/c=ü"], "output": TEXT}, {"names": ["."], "output": TEXT}]
    spec = spec_of({"key": True}, entries)
    records = [(0, name, b'{"id": 1}') for name in ("a b", "b/c=ü", ".", "a~")]
    bucket, _ = written(spec, [batch_of(records, {"key": True})], Room(10**9, 10**9))
    assert sorted(bucket.objects) == [
        "type=%2E/0",
        "type=a%20b/dt=1970-01-01/0",
        "type=a%7E/dt=1970-01-01/0",
        "type=b%2Fc%3Dü/0",
    ]
    file_format = formats_of(spec)
    extensions = {key: file_format.at(key.rpartition("/")[0]).extension for key in bucket.objects}
    assert set(extensions.values()) == {".txt", ".parquet"}
    assert extensions["type=%2E/0"] == ".txt"
    older, newer = (file_format.at(f"type=b%2Fc%3D{letter}") for letter in ("%C3%BC", "ü"))
    assert older == newer


def test_a_type_that_nobody_names_never_gets_the_folder_of_an_entry() -> None:
    spec = spec_of({"key": True}, others={"action": "store"})
    records = [(0, "container", b"{}"), (0, "stranger", b"{}"), (0, "1001", b'{"id": 1}')]
    batch = batch_of(records, {"key": True})
    found = paths(batch, layout_for(spec, lambda _: None))
    assert found == {
        0: ("_quarantine", "unknown_type"),
        1: ("type=stranger", None),
        2: ("type=container/dt=1970-01-01", None),
    }

"""JSON events as typed rows, in all formats that have columns; what is none is in quarantine, with reason and field."""

import hmac
import io
import json
from base64 import b64encode
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from logpersister.cli import main
from logpersister.cli.exits import Exit
from tests.integration.harness.faults import stalled_puts
from tests.integration.harness.scene import CreateTopic, Scene
from tests.integration.harness.verification import Verify, kinds, said_json
from tests.readers.others import duckdb_rows, plain
from tests.stack.fault_proxy import FaultProxy
from tests.stack.topics import Record, produce

QUARANTINE = "_quarantine"
DAY = date(2026, 11, 21)
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "int64", "required": True},
    {"name": "at", "type": "timestamp[us]"},
    {"name": "seen", "type": "timestamp[ms]", "format": "epoch[s]"},
    {"name": "amount", "type": "decimal(10,2)"},
    {"name": "geo", "type": "struct<country: string not null, lat: float64>"},
    {"name": "tags", "type": "list<string not null>"},
    {"name": "attrs", "type": "map<string, int32>"},
    {"name": "day", "type": "date"},
    {"name": "raw", "type": "binary[base64]"},
    {"name": "extra", "type": "json"},
    {"name": "ok", "type": "bool"},
    {"name": "small", "type": "int8"},
]
SORTED_BY = [{"field": "geo.country", "nulls": "first"}, {"field": "ok", "order": "descending"}]
IDS = {
    path: 10 + number
    for number, path in enumerate(
        (
            *("id", "at", "seen", "amount", "geo", "geo.country", "geo.lat", "tags", "tags.element"),
            *("attrs", "attrs.key", "attrs.value", "day", "raw", "extra", "ok", "small"),
            *("kafka_partition", "kafka_offset", "kafka_timestamp"),
        )
    )
}
BAD: list[tuple[bytes, str, str | None]] = [
    (b'{"id": 1, ', "not_json", None),
    (b'{"at": "2026-11-21T05:00:00Z"}', "missing", "id"),
    (b'{"id": "1"}', "wrong_type", "id"),
    (b'{"id": 1, "small": 200}', "overflow", "small"),
    (b'{"id": 1, "geo": {"lat": 5}}', "missing", "geo.country"),
    (b'{"id": 1, "tags": ["a", null]}', "missing", "tags[]"),
    (b'{"id": 1, "id": 2}', "duplicate", "id"),
    (b'{"id": 1, "at": "yesterday"}', "bad_text", "at"),
    (b"[1]", "not_an_object", None),
    (b'{"id": 1, "extra": "\xff"}', "not_utf8", None),
]
"""Values, and by hand: why each is no row, and in which field."""
BY_DAY = [{"date": {"granularity": "day"}}]
EVERY = 40
"""One record of so many is no row, and another one a tombstone."""


def event(number: int) -> dict[str, Any]:
    """Return what a row should be."""
    at = NOON + timedelta(microseconds=number)
    return {
        "id": 2**53 + number,
        "at": at,
        "seen": at.replace(microsecond=0),
        "amount": Decimal(number) / 100,
        "geo": {"country": "DE", "lat": number / 7} if number % 3 else None,
        "tags": ["a\nb", "\u00e4"][: number % 3],
        "attrs": {"x": number, "y": None},
        "day": DAY,
        "raw": number.to_bytes(4, "big"),
        "extra": '{"b":1.50}',
        "ok": number % 2 == 0,
        "small": number % 128,
    }


def value_of(number: int) -> bytes:
    """Return the JSON of an event as a producer writes it, with one field that the schema does not have."""
    row = event(number)
    document = row | {
        "at": row["at"].isoformat(),
        "seen": int(row["seen"].timestamp()),
        "amount": str(row["amount"]),
        "day": "2026-11-21",
        "raw": b64encode(row["raw"]).decode(),
        "extra": "EXTRA",
        "unknown": [{"more": None}],
    }
    return json.dumps(document).replace('"EXTRA"', '{ "b": 1.50 }').encode()


def record(number: int, partition: int) -> Record:
    value = value_of(number)
    if number % EVERY == 7:
        value = BAD[number // EVERY % len(BAD)][0]
    tombstone = number % EVERY == 9
    time = int(NOON.timestamp() * 1000) + number
    return Record(None if tombstone else value, b"key-%d" % number, partition=partition, timestamp=time)


def write(scene: Scene, topic: str, begin: int, end: int) -> None:
    records = (record(number, partition) for number in range(begin, end) for partition in (0, 1))
    produce(scene.kafka.bootstrap, topic, records)


def is_row(number: int) -> bool:
    return number % EVERY not in (7, 9)


def downloaded(scene: Scene, topic: str, folder: Path) -> Path:
    """Copy the objects of a topic, with their paths below it."""
    for key in scene.bucket.names(topic):
        file = folder / key.partition(f"{topic}/")[2]
        file.parent.mkdir(parents=True, exist_ok=True)
        scene.bucket.client.download_file(scene.bucket.name, key, str(file))
    return folder


def manifest_of(scene: Scene, topic: str, settings: dict[str, Any] | None = None, **spec: Any) -> Path:
    """Return a manifest of rows in Parquet, with more settings of the format."""
    parquet: dict[str, Any] = {"kafkaColumns": ["partition", "offset", "timestamp"], "rowGroupBytes": "64Ki"}
    parquet |= settings or {}
    parquet |= {"pageBytes": "16Ki", "pageIndex": True, "withoutDictionary": ["raw", "attrs"]}
    parquet |= {"bloomFilters": [{"field": "id"}, {"field": "geo.country"}]}
    rows = {"output": {"parquet": parquet, "partitionBy": BY_DAY}, "value": {"json": {"fields": FIELDS}}}
    return scene.manifest(kafka={"topics": [topic]}, **(rows | spec))


def test_rows_of_members_of_which_one_is_killed(
    scene: Scene, topic: CreateTopic, s3_proxy: FaultProxy, verify: Verify, tmp_path: Path
) -> None:
    """In the end somebody damages files: a bit is flipped, or a value is another one in a file that is whole."""
    name, first, last = topic(2), 800, 1_000
    write(scene, name, 0, first)
    settings = {"sortBy": SORTED_BY, "fieldIds": [{"field": path, "id": number} for path, number in IDS.items()]}
    manifest = manifest_of(scene, name, settings, storage={"endpoint": s3_proxy.endpoint})
    fault = stalled_puts(f"/{QUARANTINE}/")
    s3_proxy.inject(fault)
    member = scene.member(manifest, "one")
    member.wait("both quarantines are on their way", lambda: fault.met >= 2)
    member.wait("all other objects exist", lambda: len(scene.bucket.names(name)) == 2)
    client, bucket = scene.bucket.client, scene.bucket.name
    before = {key: client.head_object(Bucket=bucket, Key=key)["ETag"] for key in scene.bucket.names(name)}
    member.kill()
    member.wait_gone()
    s3_proxy.clear()
    write(scene, name, first, last)
    after = scene.member(manifest, "two")
    scene.group.wait_current(name, explain=after.tail)

    now = {key: client.head_object(Bucket=bucket, Key=key)["ETag"] for key in scene.bucket.names(name)}
    assert before.items() <= now.items()
    verify(manifest, "--deep", finds={}, compared=[2 * last])
    bad = Counter(BAD[number // EVERY % len(BAD)][1:] for number in range(last) if number % EVERY == 7)
    told = said_json("quarantine", "ls", "-f", str(manifest))
    assert {(one["reason"], one["field"]): one["records"] for one in told["reasons"]} == {
        reason: 2 * count for reason, count in bad.items()
    }
    files = downloaded(scene, name, tmp_path / "files")
    folders = f"from read_parquet('{files}/dt=*/*.parquet', hive_partitioning = true)"
    assert_rows(duckdb_rows(folders), last)
    assert len(duckdb_rows(f"{folders} where id = {event(1)['id']}")) == 2  # by filters and page index
    assert_quarantine(files / QUARANTINE, last)
    assert_sorted(files)

    for partition, spoil in enumerate((_with_a_flipped_bit, _with_another_value)):
        (key,) = (one for one in before if f"/1_{partition}_" in one)
        stored = client.get_object(Bucket=bucket, Key=key)
        client.put_object(Bucket=bucket, Key=key, Body=spoil(stored["Body"].read()), Metadata=stored["Metadata"])
    assert verify(manifest)["ok"]
    broken = verify(manifest, "--deep", code=Exit.BROKEN)
    assert kinds(broken) == {("wrong-content", 0): 1, ("wrong-content", 1): 1}
    messages = {one["partition"]: one["message"] for one in broken["findings"]}
    assert "it is no whole Parquet file" in messages[0]
    assert "of its sorted row group 0 it holds" in messages[1]


def assert_rows(found: list[dict[str, Any]], last: int) -> None:
    """Check what is read: columns and values, and where each record was."""
    assert [*found[0]] == [
        *(field["name"] for field in FIELDS), "kafka_partition", "kafka_offset", "kafka_timestamp", "dt"
    ]  # fmt: skip
    rows = {(one["kafka_partition"], one["kafka_offset"]): one for one in found}
    assert len(rows) == len(found)
    assert rows.keys() == {(partition, number) for number in range(last) if is_row(number) for partition in (0, 1)}
    for (_, number), row in rows.items():
        assert {name: row[name] for name in event(number)} == plain(event(number))
        assert row["dt"] == plain(DAY)


def assert_sorted(folder: Path) -> None:
    """Check the order of rows in each row group, what the footer says of it, and ids of fields."""
    files = [pq.ParquetFile(path) for path in folder.glob("dt=*/*.parquet")]
    assert max(file.num_row_groups for file in files) > 2
    for file in files:
        leaves = [file.metadata.schema.column(place).path for place in range(file.metadata.num_columns)]
        country, ok = (leaves.index(name) for name in ("geo.country", "ok"))
        rows = 0
        for group in range(file.num_row_groups):
            assert [*file.metadata.row_group(group).sorting_columns] == [
                pq.SortingColumn(country, descending=False, nulls_first=True),
                pq.SortingColumn(ok, descending=True, nulls_first=False),
            ]
            found = file.read_row_group(group, columns=["geo", "ok", "kafka_offset"]).to_pylist()
            order = [(one["geo"] is not None, not one["ok"], one["kafka_offset"]) for one in found]
            assert order == sorted(order)
            offsets = sorted(place for _, _, place in order)
            assert rows <= offsets[0], "a row group follows the one before"
            rows = offsets[-1] + 1
        schema = file.schema_arrow
        tops = {one.name: int((one.metadata or {})[b"PARQUET:field_id"]) for one in schema}
        assert tops == {name: IDS[name] for name in schema.names}
        country_field = schema.field("geo").type.field("country")
        assert country_field.metadata == {b"PARQUET:field_id": b"%d" % IDS["geo.country"]}
    assert "PARQUET:field_id" not in str(pq.read_schema(next((folder / QUARANTINE).glob("*.parquet"))).metadata)


def assert_quarantine(folder: Path, last: int) -> None:
    """Check what was refused, by DuckDB and by pyarrow."""
    bad = [number for number in range(last) if number % EVERY == 7]
    expected = {(partition, number, *BAD[number // EVERY % len(BAD)]) for number in bad for partition in (0, 1)}
    rows = duckdb_rows(f"from read_parquet('{folder}/*.parquet')")
    names = ("kafka_partition", "kafka_offset", "value", "reason", "field")
    found = [tuple(one[name] for name in names) for one in rows]
    assert len(found) == len(expected)
    assert set(found) == expected
    assert {one["kafka_key"] for one in rows} == {b"key-%d" % number for number in bad}
    schema = pq.read_schema(next(folder.glob("*.parquet")))
    assert schema.names == [
        "value", "reason", "field", "kafka_topic", "kafka_partition", "kafka_offset", "kafka_timestamp", "kafka_key"
    ]  # fmt: skip


def test_nothing_that_is_hidden_is_in_the_bucket(
    scene: Scene, topic: CreateTopic, verify: Verify, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A text and a number are hashed, a folder too, a text masked; what is refused keeps its place and reason only."""
    name, last = topic(2), 200
    people = [
        b'{"id": %d, "email": "mail-%d", "phone": "555-0%d"}' % (number, number % 3, number) for number in range(last)
    ]
    people[7] = b'{"id": "mail-7", "email": "mail-7"}'
    produce(scene.kafka.bootstrap, name, (Record(one, b"mail", partition=at % 2) for at, one in enumerate(people)))
    fields = [{"name": "id", "type": "int64"}, {"name": "email", "type": "string"}, {"name": "phone", "type": "string"}]
    hidden = {
        "hash": {"fields": ["email", "id"], "secretName": "people"},
        "mask": [{"fields": ["phone"], "keepLast": 2}],
    }
    manifest = scene.manifest(
        kafka={"topics": [name]},
        output={"parquet": {}, "partitionBy": [{"field": "email", "prefix": "of="}]},
        value={"json": {"fields": fields}, **hidden},
        quarantine={"keepValue": False},
    )
    key, variable = "any text of more than sixteen characters", "LOGPERSISTER_SECRET_PEOPLE_KEY"
    assert main(["verify", "-f", str(manifest), "--deep"]) != Exit.OK, "without the key"
    monkeypatch.setenv(variable, key)
    scene.run_until_current(manifest)

    folders = {hmac.new(key.encode(), b"mail-%d" % number, "sha256").hexdigest() for number in range(3)}
    assert {one.split("/")[-2] for one in scene.bucket.names(name)} == {f"of={one}" for one in folders} | {QUARANTINE}
    files = downloaded(scene, name, tmp_path / "files")
    rows = [row for file in files.glob("of=*/*.parquet") for row in pq.read_table(file, partitioning=None).to_pylist()]
    assert {row["email"] for row in rows} == folders
    ids = {hmac.new(key.encode(), b"%d" % number, "sha256").hexdigest() for number in range(last)}
    assert len({row["id"] for row in rows} & ids) == len(rows) == last - 1
    assert sorted(row["phone"] for row in rows)[:2] == ["***00", "***00"]
    ((refused,),) = [pq.read_table(file).to_pylist() for file in files.glob(f"{QUARANTINE}/*.parquet")]
    told = {one: refused[one] for one in ("value", "reason", "field", "kafka_offset", "kafka_key")}
    assert told == {"value": b"", "reason": "wrong_type", "field": "id", "kafka_offset": 3, "kafka_key": None}
    ((reason,),) = [said_json("quarantine", "ls", "-f", str(manifest))["reasons"]]
    assert (reason["reason"], reason["records"], reason["offset"]) == ("values_left_out", 1, 3)
    verify(manifest, "--deep", finds={}, compared=[last])
    assert main(["quarantine", "replay", "-f", str(manifest)]) == Exit.FAILED, "there is nothing to replay"
    monkeypatch.setenv(variable, key + "!")
    assert not verify(manifest, "--deep", code=Exit.BROKEN)["ok"], "another key gives other hashes"


def _with_a_flipped_bit(content: bytes) -> bytes:
    return content[:200] + bytes([content[200] ^ 1]) + content[201:]


def _with_another_value(content: bytes) -> bytes:
    """Return a file with another number at offset 100, and row groups as they were."""
    file, sink = pq.ParquetFile(io.BytesIO(content)), io.BytesIO()
    order = file.metadata.row_group(0).sorting_columns
    with pq.ParquetWriter(sink, file.schema_arrow, sorting_columns=order) as writer:
        for number in range(file.num_row_groups):
            table = file.read_row_group(number)
            offsets = table.column("kafka_offset").to_pylist()
            if 100 in offsets:
                small: list[Any] = table.column("small").to_pylist()
                small[offsets.index(100)] += 1
                place = table.schema.get_field_index("small")
                table = table.set_column(place, table.schema.field(place), pa.array(small, pa.int8()))
            writer.write_table(table)
    return sink.getvalue()

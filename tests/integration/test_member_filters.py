"""Records that a filter leaves out: through kill -9, a changed filter, quarantine, and when Kafka has deleted them.

The manifest is that of examples/filters.yaml; what must be stored is said here once more, in plain Python.
"""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow.parquet as pq

from tests.integration.harness.examples import example
from tests.integration.harness.faults import stalled_puts
from tests.integration.harness.scene import CreateTopic, Scene
from tests.integration.harness.verification import Verify, kinds, said
from tests.stack.fault_proxy import FaultProxy
from tests.stack.topics import Record, delete_records, produce

Place = tuple[int, int]
"""Partition and offset."""


def orders(
    count: int, *, countries: Sequence[str] = ("DE", "US", "FR", "GB"), all_are_orders: bool = False
) -> Iterator[Record]:
    """Yield orders of which each condition leaves out some, and records that are no orders."""
    for number in range(count):
        order: dict[str, Any] = {"id": number, "country": countries[number % len(countries)], "total": "9.50"}
        order["consent"] = {"given": number % 5 != 1}
        if number % 7 == 3:
            order["consent"] = None
        if number % 11 == 4:
            order["total"] = 0
        if number % 3:
            order["customer"] = {"segment": "internal" if number % 13 == 5 else "retail"}
        value: bytes | None = json.dumps(order).encode()
        if number % 17 == 9 and not all_are_orders:
            value = None if number % 2 else b'{"id": "no number"}'
        env = [("env", b"test")] if number % 19 == 2 else [("env", b"test"), ("env", b"prod")]
        yield Record(value, b"secret", headers=[] if number % 23 == 7 else env, partition=number // 4 % 2)


def belongs(record: Record, countries: Sequence[str]) -> str:
    """Return where a record belongs: in a folder, in quarantine, or nowhere."""
    if not record.headers or record.headers[-1][1] != b"prod":
        return ""
    try:
        order = json.loads(record.value or b"{}")
    except ValueError:
        return "_quarantine"
    if record.value is not None and not isinstance(order.get("id"), int):
        return "_quarantine"
    customer, consent = order.get("customer") or {}, order.get("consent") or {}
    is_kept = (
        order.get("country") in countries
        and consent.get("given") is True
        and Decimal(str(order.get("total", 0))) >= Decimal("0.01")
        and customer.get("segment") != "internal"
    )
    return f"by_country={order['country']}" if is_kept else ""


class Orders:
    """What was written, and by which countries it is to be stored."""

    def __init__(self, scene: Scene, topic: str) -> None:
        self._scene, self._topic = scene, topic
        self.expected: dict[str, set[Place]] = {}
        self.left_out = self.written = 0

    def write(self, count: int, stored: Sequence[str] = ("DE", "FR"), of: str | None = None) -> None:
        """Write orders of four countries with records that are none, or orders of one."""
        records = list(orders(count) if of is None else orders(count, countries=[of], all_are_orders=True))
        places = produce(self._scene.kafka.bootstrap, self._topic, records)
        for record, place in zip(records, places, strict=True):
            folder = belongs(record, stored)
            self.left_out += not folder
            if folder:
                self.expected.setdefault(folder, set()).add(place)
        self.written += count

    def assert_stored(self) -> None:
        """Check that each record that belongs somewhere is there, once, and no other is."""
        found: dict[str, list[Place]] = {}
        for key, table in stored_tables(self._scene, self._topic):
            folder = key.split("/")[-2]
            columns: list[list[Any]] = [table[f"kafka_{name}"].to_pylist() for name in ("partition", "offset")]
            found.setdefault(folder, []).extend(zip(*columns, strict=True))
            if folder == "_quarantine":
                assert set(table["value"].to_pylist()) == {b""}, "what may not be stored is not there either"
            else:
                assert table.column_names == ["id", "country", "total", "customer", "kafka_partition", "kafka_offset"]
        assert {folder: sorted(places) for folder, places in found.items()} == {
            folder: sorted(places) for folder, places in self.expected.items()
        }


def stored_tables(scene: Scene, topic: str) -> Iterator[tuple[str, Any]]:
    for key in scene.bucket.names(topic):
        yield key, pq.read_table(io.BytesIO(scene.bucket.content(key)))


def counted(status: Mapping[str, Any]) -> int:
    dropped: int = status["uploads"]["dropped"]
    return dropped


def test_orders_that_may_be_stored(scene: Scene, topic: CreateTopic, s3_proxy: FaultProxy, verify: Verify) -> None:
    """A member is killed in the middle of a range; the next one has another filter, and keeps what was promised."""
    name = topic(2)
    shape = example("filters")
    where: dict[str, Any] = {"kafka": {"topics": [name]}, "storage": {"endpoint": s3_proxy.endpoint}}
    manifest = scene.manifest(**where, **shape)
    written = Orders(scene, name)
    written.write(600)
    told = said("try", "-f", str(manifest), "--last", "600")
    assert f"left out by conditions: {written.left_out} of 600 records" in told
    assert "country in DE, FR" in told

    fault = stalled_puts("/by_country=FR/")
    s3_proxy.inject(fault)
    member = scene.member(manifest, "one")
    member.wait("an object of a range is on its way", lambda: fault.met)
    promised = scene.group.pending(name)
    member.kill()
    member.wait_gone()
    assert promised
    assert scene.group.pending(name) == promised

    # A wider filter: what was promised is written by that of then, what comes by the new one.
    s3_proxy.clear()
    wider = scene.manifest(
        **where,
        **shape | {"keep": [*shape["keep"][:1], {"field": "country", "in": ["DE", "FR", "US"]}, *shape["keep"][2:]]},
    )
    other = scene.member(wider, "two")
    scene.group.wait_current(name, explain=other.tail)
    written.assert_stored()
    before = written.left_out
    written.write(400, stored=("DE", "FR", "US"))
    scene.group.wait_current(name, explain=other.tail)
    other.wait("all are counted", lambda: counted(other.status()) == written.left_out)
    assert other.metrics()[f'logpersister_dropped_records_total{{topic="{name}"}}'] == written.left_out > before
    written.assert_stored()

    # Ranges of which nothing is stored, though the wider filter would store some of the second.
    other.terminate()
    third = scene.member(manifest, "three")
    notes = 0
    for country in ("GB", "US", "DE"):
        written.write(60, of=country)
        scene.group.wait_current(name, explain=third.tail)
        if country != "DE":
            assert len(_notes(scene, name)) > notes
            notes = len(_notes(scene, name))
    third.terminate()
    written.assert_stored()
    for given in (manifest, wider):
        assert set(kinds(verify(given))) == {("left-out", 0), ("left-out", 1)}
        document = verify(given, "--deep")
        assert set(kinds(document)) == {("left-out", 0), ("left-out", 1)}
        assert document["topics"][0]["compared"] == sum(map(len, written.expected.values()))
    delete_records(scene.kafka.bootstrap, name, dict(sorted(written.expected["by_country=DE"])))  # up to the last ones
    assert set(kinds(verify(wider))) == {("left-out", 0), ("left-out", 1)}, "also when Kafka cannot tell any more"


def _notes(scene: Scene, topic: str) -> list[str]:
    prefix = f"raw/_logpersister/{scene.group.name}/left-out/{topic}/"
    listed = scene.bucket.client.list_objects_v2(Bucket=scene.bucket.name, Prefix=prefix)
    return [one["Key"] for one in listed.get("Contents", [])]

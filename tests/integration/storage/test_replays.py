"""Replays of quarantine on a real bucket: objects in parts, and two replays at once under different manifests."""

import io
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq

from logpersister.manifest import LogPersister
from logpersister.member.state_store import BucketStateStore
from logpersister.pipeline.persist import RangeWriter
from logpersister.pipeline.room import Room
from logpersister.pipeline.work import RangeWork
from logpersister.plan.recovery import StoredRange, StoredTail
from logpersister.replay.execution import Judgement, Replayer, Result
from logpersister.storage.replays import get_replay, list_replays
from logpersister.storage.revisions import put_revision
from logpersister.storage.store import ObjectStore
from tests.integration.storage.writing import PART, MakeStore, keys
from tests.unit.formats.samples import Record, batch
from tests.unit.replay.bucket import CLICKS, GROUP, RANGE, output_of
from tests.unit.replay.samples import DAY, NUMBERS, TEXTS, TEXTS_OR_NONE

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

COUNT = RANGE.end - RANGE.start


def records() -> list[Record]:
    """Records that do not compress, a third of which each manifest but the first accepts."""
    random = np.random.default_rng(1)

    def value(offset: int) -> bytes:
        filling = random.bytes(60_000).hex()
        return (
            b'{"id": "%s"}' % filling.encode(),
            b'{"n": "%s"}' % filling.encode(),
            b'{"id": "%s"' % filling.encode(),
        )[offset % 3]

    return [Record(offset, DAY * (offset // 50), b"k%d" % offset, value(offset)) for offset in range(*_span())]


def _span() -> tuple[int, int]:
    return RANGE.start, RANGE.end


def store_range(store: ObjectStore, resource: LogPersister, rows: list[Record]) -> str:
    """Store a range as a member does; return the name of its quarantine, which is all of it."""
    output = output_of(resource)
    metadata = {
        "group": GROUP,
        "generation": "1",
        "revision": output.revision.hash,
        "topic": "clicks",
        "topic-id": "id",
        "partition": "0",
        "start": str(RANGE.start),
        "end": str(RANGE.end),
        "parser": "json",
    }

    def opened(_: RangeWork, path: str) -> Any:
        key = f"raw/clicks/{path}/1_0_{RANGE.start:020d}.parquet"
        return store.writer(key, metadata, content_type="application/vnd.apache.parquet")

    room = Room.of(resource.spec.storage.part_size, output.topic.formats.held_back)
    work = RangeWork(RANGE, "id", 1, 0, RANGE.start)
    writer = RangeWriter(work, output.topic.layout, output.topic.formats, opened, room)
    writer.write(batch(rows))
    assert not writer.end_pass()
    (written,) = writer.objects()
    assert written.bytes > PART
    return written.key


def replay(store: ObjectStore, now: LogPersister) -> list[Result]:
    outputs = {one.revision.hash: one for one in map(output_of, (TEXTS, TEXTS_OR_NONE))}
    replayer = Replayer(
        store,
        GROUP,
        lambda _: output_of(now),
        outputs.__getitem__,
        lambda revision, document: put_revision(store, GROUP, revision, document),
    )
    found = [(listed.key, name) for name, listed in store.inventory("clicks") if name.path == "_quarantine"]
    return [replayer.replay(key, name) for key, name in found]


def test_two_replays_at_once_store_each_record_once(make_store: MakeStore, s3: "S3Client", bucket: str) -> None:
    rows = records()
    store = make_store()
    source = store_range(store, NUMBERS, rows)
    stores = [make_store(), make_store()]
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(replay, stores, (TEXTS, TEXTS_OR_NONE)))
    replay(store, TEXTS_OR_NONE)

    note = get_replay(store, GROUP, source)
    assert note is not None
    assert (note.source.records, note.settled) == (COUNT, True)
    assert len(list(list_replays(store, GROUP, "clicks"))) in (1, 2)
    found: dict[int, tuple[str, str | None]] = {}
    for name, listed in store.inventory("clicks"):
        facts, content = store.facts(listed.key), s3.get_object(Bucket=bucket, Key=listed.key)["Body"].read()
        file = pq.read_table(io.BytesIO(content))
        assert facts is not None
        assert facts.records == file.num_rows
        assert name.replay is not None
        if name.path == "_quarantine":
            assert file["kafka_key"].to_pylist() == [
                f"k{offset}".encode() for offset in file["kafka_offset"].to_pylist()
            ]
            assert set(file["kafka_offset"].to_pylist()) == {one.offset for one in rows if one.offset % 3 == 2}
        else:
            folder = [one for one in rows if one.offset % 3 != 2 and name.path == f"dt=1970-01-0{1 + one.offset // 50}"]
            here = [one for one in folder if facts.first <= one.offset <= facts.last]
            for one, value in zip(_of(here, facts.records), file["id"].to_pylist(), strict=True):
                assert one.offset not in found
                found[one.offset] = name.path, value
    assert found.keys() == {one.offset for one in rows if one.offset % 3 != 2}
    assert source not in keys(s3, bucket)
    state = BucketStateStore(store, GROUP, 1, "0", lambda _: store, in_folders=lambda _: True)
    stored = StoredRange(RANGE.start, RANGE.end, GROUP, output_of(NUMBERS).revision.hash, "id", whole=False)
    assert state.stored_tails([CLICKS], 1)[CLICKS] == StoredTail(1, (stored,)), "its boundaries are still seen"
    assert replay(store, TEXTS_OR_NONE) == [Result(Judgement(COUNT // 3, 0))]


def _of(rows: list[Record], count: int) -> list[Record]:
    """Return those that one object has: all, or those of one of two replays, which differ in the kind of the value."""
    if len(rows) == count:
        return rows
    kinds = {kind: [one for one in rows if one.offset % 3 == kind] for kind in (0, 1)}
    return next(some for some in kinds.values() if len(some) == count)

"""`logpersister retrieve` on a real S3 server: what is in the window, byte for byte, and each file only once."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from logpersister.cli import main
from logpersister.cli.exits import Exit
from logpersister.storage.current import change_current
from logpersister.storage.names import object_key
from logpersister.storage.store import ObjectStore
from tests.integration.storage.writing import PART, content
from tests.stack import MinioServer
from tests.stack.fault_proxy import Answer, FaultProxy
from tests.unit.manifest.documents import changed
from tests.unit.reader.record_batches import Batch

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

GROUP = "clicks-backup"
HOURS = [{"date": {"granularity": "day"}}, {"date": {"granularity": "hour"}}]
WINDOW = ("--from", "2026-11-21T01:30:00Z", "--to", "2026-11-21T02:30:00Z")
Retrieve = Callable[..., Any]


def put(
    store: ObjectStore,
    path: str,
    start: int,
    data: bytes,
    *,
    topic: str = "clicks",
    generation: int = 1,
    group: str = GROUP,
    extension: str = ".txt",
) -> None:
    metadata = {"group": group, "generation": str(generation), "revision": "0123456789ab", "topic": topic}
    metadata |= {"topic-id": "id", "partition": "0", "start": str(start), "end": str(start + 10)}
    key = object_key("raw", topic, path, generation, 0, start, extension)
    writer = store.writer(key, metadata, content_type="text/plain")
    writer.write(data)
    facts = {"first": str(start), "last": str(start + 9), "records": "10", "tombstones": "0"}
    writer.finish({**facts, "checksum": "crc32:0-0-0-0"})


@pytest.fixture
def retrieve(
    minio: MinioServer, bucket: str, s3_secret: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Retrieve:
    """Runs the command with more settings of ``spec``; returns its document, or what it complained of."""

    def run(*options: str, code: Exit = Exit.OK, endpoint: str = minio.endpoint, **spec: Any) -> Any:
        storage = {"bucket": bucket, "prefix": "raw", "endpoint": endpoint, "secretName": s3_secret}
        settings = {"storage": storage, "kafka.groupId": GROUP, "output": {"text": {}, "partitionBy": HOURS}, **spec}
        file = tmp_path / "clicks.yaml"
        file.write_text(yaml.safe_dump(changed({f"spec.{name}": value for name, value in settings.items()})))
        capsys.readouterr()
        ended = main(["retrieve", "-f", str(file), "--target", str(tmp_path / "out"), "--json", *options])
        out, error = capsys.readouterr()
        assert ended == code, error
        return json.loads(out) if code == Exit.OK else error

    return run


@pytest.fixture
def out(tmp_path: Path) -> Callable[[], dict[str, bytes]]:
    """Returns the files that there are, with what is in them."""
    target = tmp_path / "out"
    return lambda: {str(one.relative_to(target)): one.read_bytes() for one in target.rglob("*") if one.is_file()}


def name(hour: int, start: int, topic: str = "clicks") -> str:
    return object_key("", topic, f"dt=2026-11-21/hr={hour:02d}", 1, 0, start, ".txt")


@pytest.mark.parametrize("checksums", ["when_supported", "when_required"])
def test_a_window_is_retrieved_whole_and_once(
    make_store: Callable[..., ObjectStore],
    retrieve: Retrieve,
    out: Callable[[], dict[str, bytes]],
    s3: "S3Client",
    bucket: str,
    checksums: str,
) -> None:
    """Small objects, one in parts and an empty one; by CRC-32, and by entity tags where there is none."""
    store = make_store(checksums=checksums)
    sizes = {0: 10, 1: 70_000, 2: 2 * PART + 17, 3: 10}
    for hour, size in sizes.items():
        put(store, f"dt=2026-11-21/hr={hour:02d}", 10 * hour, content(size, hour))
    put(store, "dt=2026-11-21/hr=02", 100, b"")
    put(store, "dt=2026-11-21/hr=02", 110, b"another", group="another")
    put(store, "_quarantine", 120, b"refused")

    dry = retrieve(*WINDOW, "--dry-run")
    assert (dry["totals"]["objects"], dry["totals"]["fetched"]) == (4, 0)
    found = retrieve(*WINDOW)
    (topic,) = found["topics"]
    assert (topic["from"], topic["to"]) == ("2026-11-21T01:00:00Z", "2026-11-21T03:00:00Z")
    expected = {name(1, 10): content(70_000, 1), name(2, 20): content(2 * PART + 17, 2), name(2, 100): b""}
    assert out() == expected
    totals = found["totals"]
    assert (totals["fetched"], totals["had"], totals["foreignObjects"], totals["sizeOnly"]) == (3, 0, 1, 0)

    target = Path(found["target"])
    (target / name(2, 20)).write_bytes(content(2 * PART + 17, 3))
    again = retrieve(*WINDOW, "--parallel", "1")["totals"]
    assert (again["fetched"], again["had"]) == (1, 2)
    assert out() == expected

    damaged = object_key("raw", "clicks", "dt=2026-11-21/hr=02", 1, 0, 100, ".txt")
    answer = s3.head_object(Bucket=bucket, Key=damaged, ChecksumMode="ENABLED")
    assert ("ChecksumCRC32" in answer) == (checksums == "when_supported")


def test_a_broken_connection_is_gone_on_with_and_an_archived_object_stops_no_other(
    store: ObjectStore, retrieve: Retrieve, out: Callable[[], dict[str, bytes]], s3_proxy: FaultProxy
) -> None:
    for hour in range(3):
        put(store, f"dt=2026-11-21/hr={hour:02d}", 10 * hour, content(100, hour))
    s3_proxy.inject(
        Answer(
            matches=lambda line: line.startswith("GET ") and "/hr%3D01/" in line, status=403, code="InvalidObjectState"
        )
    )
    error = retrieve(code=Exit.FAILED, endpoint=s3_proxy.endpoint)
    assert "a lifecycle rule has moved it to an archive: restore it" in error
    assert set(out()) == {name(0, 0), name(2, 20)}
    assert retrieve()["totals"]["had"] == 2
    assert len(out()) == 3


def test_what_counts_after_a_replay_and_collapsed_folders(
    store: ObjectStore, retrieve: Retrieve, out: Callable[[], dict[str, bytes]]
) -> None:
    for topic in ("clicks", "orders"):
        for generation in (1, 2):
            put(store, "dt=2026-11-21/hr=01", 0, b"%d" % generation, topic=topic, generation=generation)
    change_current(store, GROUP, "clicks", lambda now: now.begun("id", 2, {0: (0, 10)}))
    change_current(store, GROUP, "clicks", lambda now: now.switched(2, {0: (0, 10)}))
    change_current(store, GROUP, "orders", lambda now: now.begun("id", 2, {0: (0, 10)}))
    retrieve("--collapse-topics", "--collapse-time", **{"kafka.topics": ["clicks", "orders"]})
    assert out() == {
        "clicks_dt=2026-11-21_hr=01_2_0_00000000000000000000.txt": b"2",
        "orders_dt=2026-11-21_hr=01_1_0_00000000000000000000.txt": b"1",
    }


def test_a_backup_has_no_folders_and_is_chosen_by_the_times_of_its_records(
    store: ObjectStore, retrieve: Retrieve, out: Callable[[], dict[str, bytes]]
) -> None:
    """Whole objects: also the one that begins before the window and may reach into it."""
    first = 1_795_221_600_000  # 2026-11-21T00:40:00Z
    for number in range(7):
        batch = Batch(base_offset=10 * number, base_timestamp=first + number * 1_200_000)
        put(store, "", 10 * number, batch.encode(), extension=".kafka")
    retrieve(*WINDOW, output={"kafka": {}})
    assert sorted(out()) == [object_key("", "clicks", "", 1, 0, start, ".kafka") for start in (20, 30, 40, 50)]


def test_what_cannot_be_meant(retrieve: Retrieve, tmp_path: Path) -> None:
    assert "has no folders by time" in retrieve(*WINDOW, code=Exit.INVALID, output={"text": {}})
    assert "is not before --to" in retrieve(
        "--from", "2026-11-21T01:00:00Z", "--to", "2026-11-21T01:00:00Z", code=Exit.INVALID
    )
    assert "no topic that spec.kafka selects" in retrieve("--topics", "other", code=Exit.INVALID)
    (tmp_path / "out").write_text("a file")
    assert "--target" in retrieve(code=Exit.FAILED)

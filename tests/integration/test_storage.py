"""The store against a real S3 server, and against one that fails in ways a real one does only on bad days."""

import base64
import os
import pickle
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from logpersister.manifest.secrets import Secrets
from logpersister.manifest.storage import StorageSpec
from logpersister.ranges import Range, TopicPartition
from logpersister.storage.connection import Timeouts
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.losses import Loss, list_losses, record_loss
from logpersister.storage.names import object_key
from logpersister.storage.revisions import get_revision, put_revision
from logpersister.storage.store import ObjectStore, ObjectWriter, open_store
from tests.stack import MinioServer
from tests.stack.fault_proxy import Answer, Fault, FaultProxy, LoseResponse, Reset, Stall

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

MIB = 1 << 20
PART = 5 * MIB
GROUP = "clicks/Tägliche Sicherung"
PATIENT = Timeouts(connect=2, read=5, attempts=4)
FACTS = {"first": "0", "last": "9", "records": "10", "tombstones": "1", "checksum": "crc32:0-0-0-0"}

MakeStore = Callable[..., ObjectStore]


class Retries(Counter[str]):
    def __call__(self, kind: str) -> None:
        self[kind] += 1


@pytest.fixture
def retries() -> Retries:
    return Retries()


@pytest.fixture
def make_store(minio: MinioServer, bucket: str, s3_secret: str, retries: Retries) -> Iterator[MakeStore]:
    stores: list[ObjectStore] = []

    def make(*, timeouts: Timeouts = PATIENT, **changes: Any) -> ObjectStore:
        settings = {
            "bucket": bucket,
            "prefix": "raw",
            "endpoint": minio.endpoint,
            "secret_name": s3_secret,
            "part_size": "5Mi",
            **changes,
        }
        store = open_store(StorageSpec(**settings), Secrets(), on_retry=retries, timeouts=timeouts)
        stores.append(store)
        return store

    yield make
    for store in stores:
        store.close()


@pytest.fixture
def store(make_store: MakeStore) -> ObjectStore:
    return make_store()


@pytest.fixture
def proxy(minio: MinioServer) -> Iterator[FaultProxy]:
    with FaultProxy(minio.port, http=True) as proxy:
        yield proxy


def key_of(start: int, topic: str = "clicks", path: str = "") -> str:
    return object_key("raw", topic, path, 1, 0, start, ".txt")


def metadata_of(start: int, **changes: str) -> dict[str, str]:
    return {
        "group": GROUP,
        "generation": "1",
        "revision": "0123456789ab",
        "topic": "clicks",
        "topic-id": "qD4sIuXQTmGcBSm4PNK0bw",
        "partition": "0",
        "start": str(start),
        "end": str(start + 100),
        **changes,
    }


def facts_of(start: int) -> dict[str, str]:
    return {**FACTS, "first": str(start), "last": str(start + 9)}


def begin(store: ObjectStore, start: int, **arguments: Any) -> ObjectWriter:
    return store.writer(key_of(start), metadata_of(start), content_type="text/plain", **arguments)


def content(size: int, seed: int = 0) -> bytes:
    """Bytes in which no two parts are the same."""
    return b"".join((index + seed).to_bytes(8, "big") for index in range(size // 8 + 1))[:size]


def write_in_pieces(writer: ObjectWriter, data: bytes, piece: int = 300_000) -> None:
    for begin_ in range(0, len(data), piece):
        writer.write(data[begin_ : begin_ + piece])


def read(s3: "S3Client", bucket: str, key: str) -> bytes:
    return s3.get_object(Bucket=bucket, Key=key)["Body"].read()


def uploads(s3: "S3Client", bucket: str, key: str) -> list[str]:
    return [upload["UploadId"] for upload in s3.list_multipart_uploads(Bucket=bucket, Prefix=key).get("Uploads", [])]


def keys(s3: "S3Client", bucket: str) -> list[str]:
    return [item["Key"] for item in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition was not met in time"
        time.sleep(0.02)


# --- objects


@pytest.mark.parametrize("size", [0, 1, 70_000, PART - 1])
def test_an_object_below_the_part_size_is_one_put_with_everything_in_its_metadata(
    store: ObjectStore, s3: "S3Client", bucket: str, size: int
) -> None:
    writer = begin(store, 0, content_encoding="gzip")
    write_in_pieces(writer, content(size))
    stored = writer.finish(FACTS)
    assert (stored.key, stored.bytes, stored.existing) == (key_of(0), size, False)
    answer = s3.get_object(Bucket=bucket, Key=key_of(0))
    assert answer["Body"].read() == content(size)
    assert (answer["ContentType"], answer["ContentEncoding"]) == ("text/plain", "gzip")
    assert "-" not in answer["ETag"]
    assert keys(s3, bucket) == [key_of(0)]
    facts = store.facts(key_of(0))
    assert facts is not None
    assert (facts.group, facts.records, facts.tombstones) == (GROUP, 10, 1)
    assert facts.range == Range(TopicPartition("clicks", 0), 0, 100)


@pytest.mark.parametrize("size", [PART, PART + 1, 3 * PART + 17])
def test_a_large_object_comes_in_parts_and_has_a_facts_document(
    store: ObjectStore, s3: "S3Client", bucket: str, size: int
) -> None:
    writer = begin(store, 0)
    write_in_pieces(writer, content(size))
    assert writer.finish(FACTS).bytes == size
    assert read(s3, bucket, key_of(0)) == content(size)
    assert s3.head_object(Bucket=bucket, Key=key_of(0))["ETag"].strip('"').endswith(f"-{-(-size // PART)}")
    facts = store.facts(key_of(0))
    assert facts is not None
    assert (facts.group, facts.records, facts.checksum) == (GROUP, 10, "crc32:0-0-0-0")
    (document,) = [key for key in keys(s3, bucket) if key != key_of(0)]
    assert document.startswith("raw/_logpersister/clicks%2FT%C3%A4gliche%20Sicherung/facts/clicks/1_0_")


def test_the_same_bytes_in_other_pieces_give_the_same_entity_tag(
    store: ObjectStore, s3: "S3Client", bucket: str
) -> None:
    data, tags = content(2 * PART + 1000), set()
    for piece in (1000, 70_000, 3_000_000, len(data)):
        writer = begin(store, 0)
        write_in_pieces(writer, data, piece)
        writer.finish(FACTS)
        tags.add(s3.head_object(Bucket=bucket, Key=key_of(0))["ETag"])
    assert len(tags) == 1


def test_the_server_compares_a_checksum_of_every_body(
    store: ObjectStore, s3: "S3Client", bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("logpersister.storage.parts.PartBody.crc32", lambda _: 12345)
    writer = begin(store, 0)
    writer.write(b"corrupted on the way")
    with pytest.raises(StorageError, match=r"checksum|digest|XAmzContentChecksumMismatch") as caught:
        writer.finish(FACTS)
    assert caught.value.kind == "rejected"
    assert keys(s3, bucket) == []


@pytest.mark.parametrize("size", [1000, 2 * PART])
def test_without_checksums_the_payload_is_signed_instead(
    make_store: MakeStore, s3: "S3Client", bucket: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed: list[str] = []
    store = make_store(checksums="when_required")
    client = store._connection.client
    client.meta.events.register(
        "before-send.s3", lambda request, **_: signed.append(request.headers["X-Amz-Content-SHA256"].decode())
    )
    writer = begin(store, 0)
    write_in_pieces(writer, content(size))
    writer.finish(FACTS)
    assert read(s3, bucket, key_of(0)) == content(size)
    assert signed
    assert "UNSIGNED-PAYLOAD" not in signed


def test_finishing_in_the_background_keeps_many_small_objects_on_their_way(
    store: ObjectStore, s3: "S3Client", bucket: str
) -> None:
    futures = []
    for start in range(0, 5000, 100):
        writer = begin(store, start)
        writer.write(b"x" * start)
        futures.append(writer.finish_async(facts_of(start)))
    assert [future.result(timeout=60).bytes for future in futures] == list(range(0, 5000, 100))
    assert len(keys(s3, bucket)) == 50


def test_memory_is_bounded_by_parts_not_by_objects(store: ObjectStore) -> None:
    data = os.urandom(MIB)
    writer = begin(store, 0)
    store.put_json("raw/warm.json", {})  # the client itself takes some megabytes
    tracemalloc.start()
    try:
        for _ in range(100):
            writer.write(bytes(bytearray(data)))  # a new megabyte each time, as an encoder makes it
        writer.finish(FACTS)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # One part gathered, two on their way; a fourth for what is cut and joined at the edges.
    assert peak < 4 * PART


def test_nothing_of_an_aborted_object_stays(store: ObjectStore, s3: "S3Client", bucket: str) -> None:
    writer = begin(store, 0)
    write_in_pieces(writer, content(3 * PART))
    assert uploads(s3, bucket, key_of(0))
    writer.abort()
    writer.abort()
    wait_until(lambda: not uploads(s3, bucket, key_of(0)))
    assert keys(s3, bucket) == []
    with pytest.raises(ValueError, match="already been finished or aborted"):
        writer.write(b"late")


@pytest.mark.parametrize("size", [10, 2 * PART])
def test_if_absent_leaves_an_object_that_is_there_as_it_is(
    store: ObjectStore, s3: "S3Client", bucket: str, size: int
) -> None:
    first = begin(store, 0)
    write_in_pieces(first, content(3 * PART))
    assert not first.finish(FACTS).existing
    partly = store.writer(key_of(0), metadata_of(0) | {"read-from": "5"}, content_type="text/plain", if_absent=True)
    write_in_pieces(partly, content(size, seed=7))
    assert partly.finish({**FACTS, "records": "5", "first": "5"}).existing
    assert read(s3, bucket, key_of(0)) == content(3 * PART)
    facts = store.facts(key_of(0))
    assert facts is not None
    assert (facts.records, facts.first) == (10, 0), "the facts are those of the object that stands there"
    assert uploads(s3, bucket, key_of(0)) == []


@pytest.mark.parametrize("size", [10, 2 * PART])
def test_if_absent_writes_what_is_not_there(store: ObjectStore, s3: "S3Client", bucket: str, size: int) -> None:
    writer = begin(store, 0, if_absent=True)
    write_in_pieces(writer, content(size))
    assert not writer.finish(FACTS).existing
    assert read(s3, bucket, key_of(0)) == content(size)


# --- what is known about objects


def test_documents_come_back_and_the_same_document_is_the_same_bytes(
    store: ObjectStore, s3: "S3Client", bucket: str
) -> None:
    assert store.get_json("raw/x.json") is None
    store.put_json("raw/x.json", {"b": 1, "a": "ü"})
    once = read(s3, bucket, "raw/x.json")
    store.put_json("raw/x.json", {"a": "ü", "b": 1})
    assert read(s3, bucket, "raw/x.json") == once
    assert store.get_json("raw/x.json") == {"a": "ü", "b": 1}
    s3.put_object(Bucket=bucket, Key="raw/y.json", Body=b"[1]")
    with pytest.raises(StorageError, match="expected a JSON object"):
        store.get_json("raw/y.json")


def test_listings_go_over_pages_and_the_inventory_leaves_out_what_is_not_ours(
    store: ObjectStore, s3: "S3Client", bucket: str
) -> None:
    _list_in_pages_of(10, store)
    for start in range(25):
        s3.put_object(Bucket=bucket, Key=key_of(start), Body=b"")
    s3.put_object(Bucket=bucket, Key="raw/clicks/README.txt", Body=b"")
    s3.put_object(Bucket=bucket, Key="raw/clicks2/1_0_00000000000000000000.txt", Body=b"")
    listed = [listed.key for listed in store.list_objects("raw/clicks/")]
    assert len(listed) == 26
    assert listed == sorted(listed)
    assert [name.start for name, _ in store.inventory("clicks")] == list(range(25))
    assert len(list(store.list_objects("raw/clicks/1_0_", start_after=key_of(19)))) == 5
    assert len(list(store.list_objects())) == 27


def _list_in_pages_of(keys_: int, store: ObjectStore) -> None:
    def limit(params: dict[str, Any], **_: object) -> None:
        params["MaxKeys"] = keys_

    store._connection.client.meta.events.register("before-parameter-build.s3.ListObjectsV2", limit)


def test_a_foreign_object_and_a_lost_facts_document_are_told_apart(
    store: ObjectStore, s3: "S3Client", bucket: str
) -> None:
    assert store.facts(key_of(0)) is None
    assert store.metadata(key_of(0)) is None
    s3.put_object(Bucket=bucket, Key=key_of(0), Body=b"", Metadata={"group": "x"})
    with pytest.raises(ForeignObjectError, match="was not written by logpersister"):
        store.facts(key_of(0))
    writer = begin(store, 100)
    write_in_pieces(writer, content(PART))
    writer.finish(facts_of(100))
    (document,) = [key for key in keys(s3, bucket) if "/facts/" in key]
    s3.delete_object(Bucket=bucket, Key=document)
    with pytest.raises(ForeignObjectError, match="facts document is missing"):
        store.facts(key_of(100))


def test_groups_that_share_a_prefix_are_found(store: ObjectStore) -> None:
    assert list(store.groups()) == []
    put_revision(store, "a/b", "0123456789ab", {})
    put_revision(store, "zwölf", "0123456789ab", {})
    assert list(store.groups()) == ["a/b", "zwölf"]


def test_a_revision_is_stored_once_and_never_changed(store: ObjectStore) -> None:
    assert get_revision(store, GROUP, "0123456789ab") is None
    put_revision(store, GROUP, "0123456789ab", {"spec": {"generation": 1}})
    put_revision(store, GROUP, "0123456789ab", {"spec": {"generation": 1}})
    assert get_revision(store, GROUP, "0123456789ab") == {"spec": {"generation": 1}}
    with pytest.raises(StorageError, match="another document stands under the hash"):
        put_revision(store, GROUP, "0123456789ab", {"spec": {"generation": 2}})


def test_losses_are_recorded_once_each(store: ObjectStore) -> None:
    lost = Loss(Range(TopicPartition("clicks", 3), 10, 20), "qD4s_Q-w", "lost", 1, "0123456789ab")
    skipped = Loss(Range(TopicPartition("clicks", 3), 30, 40), None, "skipped", 1, "0123456789ab")
    for loss in (lost, skipped, lost):
        record_loss(store, GROUP, loss)
    assert list(list_losses(store, GROUP)) == [lost, skipped]
    assert list(list_losses(store, "another")) == []


# --- faults


def test_throttling_is_retried_and_counted(make_store: MakeStore, proxy: FaultProxy, retries: Retries) -> None:
    store = make_store(endpoint=proxy.endpoint)
    proxy.inject(Answer(times=2, matches=lambda line: line.startswith("PUT")))
    writer = begin(store, 0)
    write_in_pieces(writer, content(2 * PART))
    assert writer.finish(FACTS).bytes == 2 * PART
    assert retries == {"throttled": 2}


def test_a_storage_that_keeps_throttling_is_an_error_that_says_so(make_store: MakeStore, proxy: FaultProxy) -> None:
    store = make_store(endpoint=proxy.endpoint, timeouts=Timeouts(2, 5, attempts=2))
    proxy.inject(Answer(times=None))
    writer = begin(store, 0)
    writer.write(b"x")
    with pytest.raises(StorageError, match="SlowDown") as caught:
        writer.finish(FACTS)
    assert (caught.value.kind, caught.value.retriable, caught.value.code) == ("throttled", True, "SlowDown")
    assert proxy.endpoint in str(caught.value)
    assert key_of(0) in str(caught.value)


@pytest.mark.parametrize("after", [0, 1000, 3 * MIB])
def test_a_part_whose_connection_breaks_is_sent_again_whole(
    make_store: MakeStore, proxy: FaultProxy, s3: "S3Client", bucket: str, retries: Retries, after: int
) -> None:
    store = make_store(endpoint=proxy.endpoint)
    proxy.inject(Reset(after=after, times=2, matches=lambda line: "partNumber=2" in line))
    writer = begin(store, 0)
    write_in_pieces(writer, content(3 * PART))
    writer.finish(FACTS)
    assert read(s3, bucket, key_of(0)) == content(3 * PART)
    assert sum(retries.values()) == 2


def test_a_stalled_part_times_out_and_is_sent_again(
    make_store: MakeStore, proxy: FaultProxy, s3: "S3Client", bucket: str, retries: Retries
) -> None:
    store = make_store(endpoint=proxy.endpoint, timeouts=Timeouts(2, 1, attempts=4))
    proxy.inject(Stall(after=MIB, matches=lambda line: "partNumber=1" in line))
    writer = begin(store, 0)
    write_in_pieces(writer, content(2 * PART))
    writer.finish(FACTS)
    assert read(s3, bucket, key_of(0)) == content(2 * PART)
    assert sum(retries.values()) == 1


@pytest.mark.parametrize("size", [1000, 3 * PART])
@pytest.mark.parametrize("if_absent", [False, True])
def test_a_lost_answer_to_the_last_request_is_no_failure(
    make_store: MakeStore, proxy: FaultProxy, s3: "S3Client", bucket: str, size: int, if_absent: bool
) -> None:
    store = make_store(endpoint=proxy.endpoint)
    lost = LoseResponse(
        matches=lambda line: line.startswith("PUT") if size < PART else line.startswith("POST") and "uploadId" in line
    )
    proxy.inject(lost)
    writer = begin(store, 0, if_absent=if_absent)
    write_in_pieces(writer, content(size))
    assert writer.finish(FACTS).bytes == size
    assert lost.met == 1
    assert read(s3, bucket, key_of(0)) == content(size)
    assert uploads(s3, bucket, key_of(0)) == []


def test_an_upload_that_was_ended_by_somebody_else_is_an_error_to_try_again(
    store: ObjectStore, s3: "S3Client", bucket: str
) -> None:
    writer = begin(store, 0)
    write_in_pieces(writer, content(2 * PART))
    for upload in uploads(s3, bucket, key_of(0)):
        s3.abort_multipart_upload(Bucket=bucket, Key=key_of(0), UploadId=upload)
    with pytest.raises(StorageError) as caught:
        writer.finish(FACTS)
    assert caught.value.code == "NoSuchUpload"
    assert caught.value.retriable
    assert key_of(0) not in keys(s3, bucket)


def test_a_failing_part_ends_the_upload(make_store: MakeStore, proxy: FaultProxy, s3: "S3Client", bucket: str) -> None:
    store = make_store(endpoint=proxy.endpoint, timeouts=Timeouts(2, 5, attempts=1))
    proxy.inject(Answer(status=500, code="InternalError", matches=lambda line: "partNumber=2" in line))

    def write() -> None:
        writer = begin(store, 0)
        try:
            write_in_pieces(writer, content(8 * PART))
            writer.finish(FACTS)
        except StorageError:
            writer.abort()
            raise

    with pytest.raises(StorageError, match="InternalError") as caught:
        write()
    assert caught.value.kind == "other"
    wait_until(lambda: not uploads(s3, bucket, key_of(0)))
    assert key_of(0) not in keys(s3, bucket)


def test_a_storage_that_comes_back_is_used_again(make_store: MakeStore, proxy: FaultProxy) -> None:
    store = make_store(endpoint=proxy.endpoint, timeouts=Timeouts(2, 5, attempts=1))
    store.put_json("raw/x.json", {})
    proxy.stop()
    with pytest.raises(StorageError, match="connection refused") as caught:
        store.put_json("raw/x.json", {})
    assert caught.value.kind == "unreachable"
    proxy.start()
    store.put_json("raw/x.json", {})


# --- the short way of small objects


@pytest.fixture
def lean_store(make_store: MakeStore, proxy: FaultProxy) -> ObjectStore:
    """A store behind the proxy that has put a first object."""
    store = make_store(endpoint=proxy.endpoint)
    assert not is_lean(store)
    store.put_json("raw/first.json", {})
    assert is_lean(store)
    return store


def is_lean(store: ObjectStore) -> bool:
    return store._connection.lean is not None


@pytest.mark.parametrize("if_absent", [False, True])
@pytest.mark.parametrize(
    "fault",
    [Answer(), Answer(status=500, code="InternalError"), LoseResponse(), Reset(after=100)],
    ids=lambda fault: type(fault).__name__,
)
def test_whatever_happens_on_the_short_way_is_put_right_on_the_long_one(
    lean_store: ObjectStore,
    proxy: FaultProxy,
    s3: "S3Client",
    bucket: str,
    retries: Retries,
    fault: Fault,
    if_absent: bool,
) -> None:
    fault.met = 0
    proxy.inject(fault)
    writer = begin(lean_store, 0, if_absent=if_absent)
    writer.write(content(5000))
    assert writer.finish(FACTS).bytes == 5000
    assert fault.met == 1
    assert sum(retries.values()) == 1
    assert read(s3, bucket, key_of(0)) == content(5000)
    facts = lean_store.facts(key_of(0))
    assert facts is not None
    assert facts.group == GROUP


def test_the_short_way_makes_the_same_objects(make_store: MakeStore, s3: "S3Client", bucket: str) -> None:
    for checksums in ("when_supported", "when_required"):
        store, answers = make_store(checksums=checksums, storage_class="REDUCED_REDUNDANCY"), []
        for _ in range(2):  # the first one goes the long way
            writer = begin(store, 0, content_encoding="gzip")
            writer.write(content(5000))
            writer.finish(FACTS)
            answer = s3.head_object(Bucket=bucket, Key=key_of(0), ChecksumMode="ENABLED")
            kept = ("ETag", "Metadata", "ContentType", "ContentEncoding", "StorageClass", "ChecksumCRC32")
            answers.append({name: answer.get(name) for name in kept})
        assert answers[0] == answers[1]
        assert (answers[0]["ChecksumCRC32"] is not None) == (checksums == "when_supported")


def test_an_object_that_is_there_is_left_alone_on_the_short_way_too(
    lean_store: ObjectStore, s3: "S3Client", bucket: str
) -> None:
    s3.put_object(Bucket=bucket, Key=key_of(0), Body=b"theirs")
    writer = begin(lean_store, 0, if_absent=True)
    writer.write(b"ours")
    assert writer.finish(FACTS).existing
    assert read(s3, bucket, key_of(0)) == b"theirs"
    assert is_lean(lean_store)


# --- unfinished uploads


def test_a_sweep_after_success_ends_other_uploads_of_exactly_this_key(
    store: ObjectStore, s3: "S3Client", bucket: str
) -> None:
    zombie = begin(store, 0)
    write_in_pieces(zombie, content(2 * PART))
    other = s3.create_multipart_upload(Bucket=bucket, Key=key_of(0) + ".gz")["UploadId"]
    owner = begin(store, 0, sweep=True)
    write_in_pieces(owner, content(2 * PART))
    assert not owner.finish(FACTS).existing
    assert uploads(s3, bucket, key_of(0)) == []
    assert uploads(s3, bucket, key_of(0) + ".gz") == [other]
    # The zombie wakes up: what it wanted to write is there, so it has nothing to complain about.
    assert zombie.finish(FACTS).existing
    assert read(s3, bucket, key_of(0)) == content(2 * PART)


# --- access


def test_check_finds_a_usable_bucket_and_leaves_nothing(store: ObjectStore, s3: "S3Client", bucket: str) -> None:
    store.check(GROUP, deadline=15)
    assert keys(s3, bucket) == []


@pytest.mark.parametrize(
    ("changes", "kind", "text"),
    [
        ({"bucket": "no-such-bucket-here"}, "missing-bucket", "there is no such bucket.*create it"),
        ({"endpoint": "http://127.0.0.1:9"}, "unreachable", "127.0.0.1:9.*connection refused.*spec.storage.endpoint"),
        ({"endpoint": "http://no-such-host.invalid:9000"}, "unreachable", "no-such-host.invalid"),
        ({"secret_name": "wrong"}, "unauthorized", "spec.storage.secretName"),
        ({"secret_name": "nowhere"}, "unauthorized", "the Secret nowhere"),
    ],
)
def test_check_says_what_is_wrong_and_what_to_do(
    make_store: MakeStore, secrets_dir: Path, changes: Mapping[str, str], kind: str, text: str
) -> None:
    secret = secrets_dir / "wrong"
    secret.mkdir()
    (secret / "AWS_ACCESS_KEY_ID").write_text("logpersister")
    (secret / "AWS_SECRET_ACCESS_KEY").write_text("my-very-secret-key")
    before = time.monotonic()
    with pytest.raises(Exception, match=text) as caught:
        make_store(**changes).check(GROUP, deadline=2)
    assert time.monotonic() - before < 6
    assert getattr(caught.value, "kind", "unauthorized") == kind
    assert "my-very-secret-key" not in str(caught.value)


def test_check_ends_at_its_deadline_when_nobody_answers(make_store: MakeStore, proxy: FaultProxy) -> None:
    proxy.inject(Stall(times=None))
    before = time.monotonic()
    with pytest.raises(StorageError, match="did not answer in time") as caught:
        make_store(endpoint=proxy.endpoint).check(GROUP, deadline=1.5)
    assert time.monotonic() - before < 4
    assert caught.value.kind == "timeout"
    assert proxy.endpoint in str(caught.value)


def test_check_waits_for_a_storage_that_starts_at_the_same_time(make_store: MakeStore, proxy: FaultProxy) -> None:
    proxy.inject(Answer(times=2, code="XMinioServerNotInitialized"))
    make_store(endpoint=proxy.endpoint).check(GROUP, deadline=15)


def test_rotated_credentials_are_read_again(make_store: MakeStore, minio: MinioServer, secrets_dir: Path) -> None:
    secret = secrets_dir / "rotated"
    secret.mkdir()
    (secret / "AWS_ACCESS_KEY_ID").write_text("old")
    (secret / "AWS_SECRET_ACCESS_KEY").write_text("old-secret-key")
    store = make_store(secret_name="rotated")
    with pytest.raises(StorageError) as caught:
        store.put_json("raw/x.json", {})
    assert caught.value.kind == "unauthorized"
    minio.write_secret(secrets_dir, "rotated2")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        (secret / name).write_text((secrets_dir / "rotated2" / name).read_text())
    with pytest.raises(StorageError):
        store.put_json("raw/x.json", {})
    store.put_json("raw/x.json", {})


def test_a_store_works_in_a_forked_process_and_after_closing(store: ObjectStore) -> None:
    store.put_json("raw/x.json", {"by": "parent"})
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        try:
            writer = begin(store, 0)
            writer.write(b"by child")
            writer.finish(FACTS)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.metadata(key_of(0)) is not None
    store.close()
    assert store.get_json("raw/x.json") == {"by": "parent"}


def test_a_store_is_never_pickled(store: ObjectStore) -> None:
    with pytest.raises(TypeError, match="must not be pickled"):
        pickle.dumps(store)


def test_storage_class_and_encryption_are_asked_for(make_store: MakeStore) -> None:
    store = make_store(
        storage_class="REDUCED_REDUNDANCY", encryption={"type": "KMS", "key_id": "arn:aws:kms:eu-central-1:1:key/2"}
    )
    asked: list[Mapping[str, str]] = []

    def answer(request: Any, **_: object) -> None:
        asked.append({name.lower(): _text(value) for name, value in request.headers.items()})
        raise ConnectionAbortedError

    store._connection.client.meta.events.register("before-send.s3", answer)
    for size in (1, PART):
        writer = begin(store, 0)
        with pytest.raises(StorageError):
            write_in_pieces(writer, content(size))
            writer.finish(FACTS)
    assert {headers["x-amz-storage-class"] for headers in asked} == {"REDUCED_REDUNDANCY"}
    assert {headers["x-amz-server-side-encryption"] for headers in asked} == {"aws:kms"}
    assert {headers["x-amz-server-side-encryption-aws-kms-key-id"] for headers in asked} == {
        "arn:aws:kms:eu-central-1:1:key/2"
    }


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def test_the_checksum_of_a_part_is_that_of_the_server(store: ObjectStore, s3: "S3Client", bucket: str) -> None:
    writer = begin(store, 0)
    writer.write(b"123456789")
    writer.finish(FACTS)
    answer = s3.head_object(Bucket=bucket, Key=key_of(0), ChecksumMode="ENABLED")
    assert base64.b64decode(answer["ChecksumCRC32"]).hex() == "cbf43926"

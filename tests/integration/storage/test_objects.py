"""Objects of records on a real S3 server: put whole or in parts, kept, replaced, given up."""

import base64
import os
import tracemalloc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from logpersister.ranges import Range, TopicPartition
from logpersister.storage.errors import StorageError
from logpersister.storage.store import ObjectStore
from tests.integration.harness.waiting import eventually
from tests.integration.storage.writing import (
    FACTS,
    GROUP,
    MIB,
    PART,
    MakeStore,
    begin,
    content,
    facts_of,
    key_of,
    keys,
    metadata_of,
    read,
    uploads,
    write_in_pieces,
)

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@pytest.mark.parametrize("size", [0, 1, 70_000, PART - 1])
def test_an_object_below_the_part_size_is_one_put_with_everything_in_its_metadata(
    store: ObjectStore, s3: "S3Client", bucket: str, size: int
) -> None:
    writer = begin(store, 0)
    write_in_pieces(writer, content(size))
    stored = writer.finish(FACTS)
    assert (stored.key, stored.bytes, stored.existing) == (key_of(0), size, False)
    answer = s3.get_object(Bucket=bucket, Key=key_of(0))
    assert answer["Body"].read() == content(size)
    assert answer["ContentType"] == "text/plain"
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


def test_the_checksum_of_a_part_is_that_of_the_server(store: ObjectStore, s3: "S3Client", bucket: str) -> None:
    writer = begin(store, 0)
    writer.write(b"123456789")
    writer.finish(FACTS)
    answer = s3.head_object(Bucket=bucket, Key=key_of(0), ChecksumMode="ENABLED")
    assert base64.b64decode(answer["ChecksumCRC32"]).hex() == "cbf43926"


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
    eventually("the upload is ended", lambda: not uploads(s3, bucket, key_of(0)))
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
    with pytest.raises(StorageError):
        store.put_json("raw/_logpersister/note.json", {})
    assert "x-amz-storage-class" not in asked.pop(), "members read it again"
    assert {headers["x-amz-server-side-encryption"] for headers in asked} == {"aws:kms"}
    assert {headers["x-amz-server-side-encryption-aws-kms-key-id"] for headers in asked} == {
        "arn:aws:kms:eu-central-1:1:key/2"
    }


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


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

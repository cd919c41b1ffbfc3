"""A storage that fails in ways a real one does only on bad days."""

from typing import TYPE_CHECKING

import pytest

from logpersister.storage.connection import Timeouts
from logpersister.storage.errors import StorageError
from logpersister.storage.store import ObjectStore
from tests.integration.harness.waiting import eventually
from tests.integration.storage.writing import (
    FACTS,
    MIB,
    PART,
    MakeStore,
    Retries,
    begin,
    content,
    key_of,
    keys,
    read,
    uploads,
    write_in_pieces,
)
from tests.stack.fault_proxy import Answer, FaultProxy, LoseResponse, Reset, Stall

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def test_throttling_is_retried_and_counted(make_store: MakeStore, s3_proxy: FaultProxy, retries: Retries) -> None:
    store = make_store(endpoint=s3_proxy.endpoint)
    s3_proxy.inject(Answer(times=2, matches=lambda line: line.startswith("PUT")))
    writer = begin(store, 0)
    write_in_pieces(writer, content(2 * PART))
    assert writer.finish(FACTS).bytes == 2 * PART
    assert retries == {"throttled": 2}


def test_a_storage_that_keeps_throttling_is_an_error_that_says_so(make_store: MakeStore, s3_proxy: FaultProxy) -> None:
    store = make_store(endpoint=s3_proxy.endpoint, timeouts=Timeouts(2, 5, attempts=2))
    s3_proxy.inject(Answer(times=None))
    writer = begin(store, 0)
    writer.write(b"x")
    with pytest.raises(StorageError, match="SlowDown") as caught:
        writer.finish(FACTS)
    assert (caught.value.kind, caught.value.retriable, caught.value.code) == ("throttled", True, "SlowDown")
    assert s3_proxy.endpoint in str(caught.value)
    assert key_of(0) in str(caught.value)


@pytest.mark.parametrize("after", [0, 1000, 3 * MIB])
def test_a_part_whose_connection_breaks_is_sent_again_whole(
    make_store: MakeStore, s3_proxy: FaultProxy, s3: "S3Client", bucket: str, retries: Retries, after: int
) -> None:
    store = make_store(endpoint=s3_proxy.endpoint)
    s3_proxy.inject(Reset(after=after, times=2, matches=lambda line: "partNumber=2" in line))
    writer = begin(store, 0)
    write_in_pieces(writer, content(3 * PART))
    writer.finish(FACTS)
    assert read(s3, bucket, key_of(0)) == content(3 * PART)
    assert sum(retries.values()) == 2


def test_a_stalled_part_times_out_and_is_sent_again(
    make_store: MakeStore, s3_proxy: FaultProxy, s3: "S3Client", bucket: str, retries: Retries
) -> None:
    store = make_store(endpoint=s3_proxy.endpoint, timeouts=Timeouts(2, 1, attempts=4))
    s3_proxy.inject(Stall(after=MIB, matches=lambda line: "partNumber=1" in line))
    writer = begin(store, 0)
    write_in_pieces(writer, content(2 * PART))
    writer.finish(FACTS)
    assert read(s3, bucket, key_of(0)) == content(2 * PART)
    assert sum(retries.values()) == 1


@pytest.mark.parametrize("size", [1000, 3 * PART])
@pytest.mark.parametrize("if_absent", [False, True])
def test_a_lost_answer_to_the_last_request_is_no_failure(
    make_store: MakeStore, s3_proxy: FaultProxy, s3: "S3Client", bucket: str, size: int, if_absent: bool
) -> None:
    store = make_store(endpoint=s3_proxy.endpoint)
    lost = LoseResponse(
        matches=lambda line: line.startswith("PUT") if size < PART else line.startswith("POST") and "uploadId" in line
    )
    s3_proxy.inject(lost)
    writer = begin(store, 0, if_absent=if_absent)
    write_in_pieces(writer, content(size))
    assert writer.finish(FACTS).bytes == size
    assert lost.met == 1
    assert read(s3, bucket, key_of(0)) == content(size)
    assert uploads(s3, bucket, key_of(0)) == []


def test_a_lost_answer_to_the_first_request_leaves_no_upload_behind(
    make_store: MakeStore, s3_proxy: FaultProxy, s3: "S3Client", bucket: str
) -> None:
    """The storage has begun an upload whose id nobody knows."""
    store = make_store(endpoint=s3_proxy.endpoint)
    lost = LoseResponse(matches=lambda line: line.startswith("POST") and "uploadId" not in line)
    s3_proxy.inject(lost)
    writer = begin(store, 0)
    write_in_pieces(writer, content(2 * PART))
    assert lost.met == 1
    assert len(uploads(s3, bucket, key_of(0))) == 2
    writer.finish(FACTS)
    assert read(s3, bucket, key_of(0)) == content(2 * PART)
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


def test_a_failing_part_ends_the_upload(
    make_store: MakeStore, s3_proxy: FaultProxy, s3: "S3Client", bucket: str
) -> None:
    store = make_store(endpoint=s3_proxy.endpoint, timeouts=Timeouts(2, 5, attempts=1))
    s3_proxy.inject(Answer(status=500, code="InternalError", matches=lambda line: "partNumber=2" in line))

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
    eventually("the upload is ended", lambda: not uploads(s3, bucket, key_of(0)))
    assert key_of(0) not in keys(s3, bucket)


def test_a_storage_that_comes_back_is_used_again(make_store: MakeStore, s3_proxy: FaultProxy) -> None:
    store = make_store(endpoint=s3_proxy.endpoint, timeouts=Timeouts(2, 5, attempts=1))
    store.put_json("raw/x.json", {})
    s3_proxy.stop()
    with pytest.raises(StorageError, match="connection refused") as caught:
        store.put_json("raw/x.json", {})
    assert caught.value.kind == "unreachable"
    s3_proxy.start()
    store.put_json("raw/x.json", {})

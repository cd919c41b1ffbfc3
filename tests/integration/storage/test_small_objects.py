"""The short way of small objects, and the long one behind it."""

from typing import TYPE_CHECKING

import pytest

from logpersister.storage.store import ObjectStore
from tests.integration.storage.writing import (
    FACTS,
    GROUP,
    MakeStore,
    Retries,
    begin,
    content,
    key_of,
    read,
)
from tests.stack.fault_proxy import Answer, Fault, FaultProxy, LoseResponse, Reset

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@pytest.fixture
def lean_store(make_store: MakeStore, s3_proxy: FaultProxy) -> ObjectStore:
    """A store behind the proxy that has put a first object."""
    store = make_store(endpoint=s3_proxy.endpoint)
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
    s3_proxy: FaultProxy,
    s3: "S3Client",
    bucket: str,
    retries: Retries,
    fault: Fault,
    if_absent: bool,
) -> None:
    fault.met = 0
    s3_proxy.inject(fault)
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
            writer = begin(store, 0)
            writer.write(content(5000))
            writer.finish(FACTS)
            answer = s3.head_object(Bucket=bucket, Key=key_of(0), ChecksumMode="ENABLED")
            kept = ("ETag", "Metadata", "ContentType", "StorageClass", "ChecksumCRC32")
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


def test_the_first_names_of_a_listing_are_the_same_on_both_ways(
    make_store: MakeStore, lean_store: ObjectStore, s3_proxy: FaultProxy, retries: Retries
) -> None:
    names = [f"raw/clicks/at={text}/{number}" for text in ("a b+c", "d%2Fe", "ä&<") for number in range(2)]
    for name in names:
        lean_store.put_json(name, {})
    for start_after in ("", names[0], "raw/clicks/at=a b+c/0~", names[-1]):
        long, short = make_store(), lean_store
        found = long.first_keys("raw/clicks/", start_after=start_after, most=4)
        assert found == short.first_keys("raw/clicks/", start_after=start_after, most=4)
        assert found == [name for name in sorted(names, key=str.encode) if name > start_after][:4]
    assert is_lean(lean_store)
    s3_proxy.inject(Answer(status=500, code="InternalError"))
    assert len(lean_store.first_keys("raw/clicks/", start_after="", most=10)) == len(names)
    assert sum(retries.values()) == 1

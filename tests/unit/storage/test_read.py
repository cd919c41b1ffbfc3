"""Reading an object back, also over connections that break."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.storage.errors import StorageError
from logpersister.storage.store import READ_BYTES, READ_RETRIES, ObjectStore

CONTENT = bytes(range(256)) * 4096 * 5


class Body:
    def __init__(self, content: bytes, breaks_after: int | None) -> None:
        self._content, self._breaks_after = content, breaks_after
        self.closed = False

    def iter_chunks(self, size: int) -> Iterator[bytes]:
        for number, at in enumerate(range(0, len(self._content), size)):
            if number == self._breaks_after:
                raise ReadTimeoutError(endpoint_url="http://s3")
            yield self._content[at : at + size]

    def close(self) -> None:
        self.closed = True


class Client:
    """An S3 server whose connections break after so many pieces; None: not."""

    def __init__(self, *breaks_after: int | None) -> None:
        self._breaks_after = iter(breaks_after)
        self.asked: list[tuple[str | None, str | None]] = []
        self.bodies: list[Body] = []

    def get_object(self, *, Bucket: str, Key: str, Range: str = "bytes=0-", IfMatch: str | None = None) -> Any:  # noqa: N803
        if Key == "none":
            answer: Any = {"Error": {"Code": "NoSuchKey"}, "ResponseMetadata": {"HTTPStatusCode": 404}}
            raise ClientError(answer, "GetObject")
        self.asked.append((Range, IfMatch))
        begin = int(Range.removeprefix("bytes=").removesuffix("-"))
        self.bodies.append(Body(CONTENT[begin:], next(self._breaks_after)))
        return {"ETag": "version", "Body": self.bodies[-1]}

    def close(self) -> None: ...


def opened(client: Client) -> ObjectStore:
    store = ObjectStore(StorageSpec.model_validate({"bucket": "logs"}), None)
    store._connection._client = client  # type: ignore[assignment]
    return store


def test_it_goes_on_where_connections_broke() -> None:
    client = Client(2, 0, 1, None)
    assert b"".join(opened(client).read("a")) == CONTENT
    assert client.asked == [
        ("bytes=0-", None),
        (f"bytes={2 * READ_BYTES}-", "version"),
        (f"bytes={2 * READ_BYTES}-", "version"),
        (f"bytes={3 * READ_BYTES}-", "version"),
    ]


def test_it_ends_when_there_is_no_progress() -> None:
    client = Client(1, *[0] * (READ_RETRIES + 1))
    with pytest.raises(StorageError) as failed:
        b"".join(opened(client).read("a"))
    assert failed.value.kind == "timeout"
    assert len(client.asked) == READ_RETRIES + 1


def test_an_object_that_is_not_read_to_its_end() -> None:
    client = Client(None)
    reading = opened(client).read("a")
    next(reading)
    reading.close()
    assert client.bodies[0].closed
